//! What several tests need: a folder that goes with the test, a mind that they can write to, and the key to read it.

#![allow(dead_code)] // each test uses some of it

use std::env;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce, Tag};
use hkdf::Hkdf;
use mnemic_hook::mind::hex;
use mnemic_hook::seal::random;
use sha2::Sha256;
use x25519_dalek::{x25519, X25519_BASEPOINT_BYTES};

/// The private key of every mind here.
pub const PRIVATE: [u8; 32] = [0x42; 32];
/// The key of names of every mind here.
pub const NAMES: [u8; 32] = [0x17; 32];

/// The public key that belongs to it.
pub fn public() -> [u8; 32] {
    x25519(PRIVATE, X25519_BASEPOINT_BYTES)
}

/// A folder of the test's own.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("mnemic-hook-{}", hex(&random::<8>()?)));
        fs::create_dir(&path)?;
        Ok(Self(fs::canonicalize(path)?))
    }

    /// Write a file in it, with the folders that lead there.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, content)?;
        Ok(path)
    }

    /// Make it the home of a mind called `default`; returns the folder of its spool.
    pub fn mind(&self) -> io::Result<PathBuf> {
        let config = format!("{{\"version\":1,\"public\":\"{}\",\"names\":\"{}\"}}", hex(&public()), hex(&NAMES));
        self.write("minds/default/spool.json", config)?;
        self.write("minds/default/spool/losses", [0; 64])?;
        Ok(self.0.join("minds/default/spool"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The spool files of a folder, by name.
pub fn spool_files(spool: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<_> =
        fs::read_dir(spool)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "spool"));
    paths.sort();
    Ok(paths)
}

/// One opened record: what the hook saw, as JSON, and the payload.
pub type Opened = (Vec<u8>, Vec<u8>);

/// Every record of a file in which nothing is torn.
pub fn opened(file: &[u8]) -> io::Result<Vec<Opened>> {
    let (header, mut rest) = file.split_at_checked(48).ok_or(ErrorKind::UnexpectedEof)?;
    assert_eq!(&header[..8], b"MNSPOOL\x01");
    let (mut records, mut open, mut expected) = (Vec::new(), Vec::new(), 0);
    while !rest.is_empty() {
        let (header, after) = rest.split_at_checked(80).ok_or(ErrorKind::UnexpectedEof)?;
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|place| header[at + place]));
        assert_eq!(number(12), expected, "frames come in their order");
        assert_eq!(number(76), crc32fast::hash(&header[..76]));
        let (sealed, after) = after.split_at_checked(number(16) as usize).ok_or(ErrorKind::UnexpectedEof)?;
        assert!(header.len() + sealed.len() <= 1 << 20);
        open.extend(open_frame(header, sealed)?);
        expected += 1;
        rest = after;
        if header[9] == 1 {
            records.push(parted(&open)?);
            (open, expected) = (Vec::new(), 0);
        }
    }
    assert!(open.is_empty(), "the last record is whole");
    Ok(records)
}

fn open_frame(header: &[u8], sealed: &[u8]) -> io::Result<Vec<u8>> {
    let ephemeral: [u8; 32] = std::array::from_fn(|place| header[44 + place]);
    let salt = [ephemeral, public()].concat();
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(Some(&salt), &x25519(PRIVATE, ephemeral))
        .expand(b"mnemic/1/spool", &mut key)
        .map_err(|error| io::Error::other(error.to_string()))?;
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&header[12..16]);
    let (content, tag) = sealed.split_last_chunk::<16>().ok_or(ErrorKind::UnexpectedEof)?;
    let mut content = content.to_vec();
    ChaCha20Poly1305::new(&Key::from(key))
        .decrypt_inout_detached(&Nonce::from(nonce), header, content.as_mut_slice().into(), &Tag::from(*tag))
        .map_err(|error| io::Error::other(error.to_string()))?;
    Ok(content)
}

fn parted(record: &[u8]) -> io::Result<Opened> {
    let (length, rest) = record.split_first_chunk::<4>().ok_or(ErrorKind::UnexpectedEof)?;
    let (meta, payload) =
        rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(ErrorKind::UnexpectedEof)?;
    Ok((meta.to_vec(), payload.to_vec()))
}
