//! Sealing a record for whoever holds the private key: frames that this process could not open again once it is over.
//!
//! X25519 with a key drawn for each record, HKDF-SHA256, ChaCha20-Poly1305. A frame's number is its nonce; no key seals a
//! second record. Below stands `frame`; `spool` above writes what comes out.

use std::io;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};
use x25519_dalek::{x25519, X25519_BASEPOINT_BYTES};

use crate::frame::{header, Common, CONTENT_BYTES, HEADER_BYTES, TAG_BYTES, WRITTEN_BYTES};

const INFO: &[u8] = b"mnemic/1/spool";

/// What names a public key in headers: the first eight bytes of its SHA-256.
pub fn key_id(public: &[u8; 32]) -> [u8; 8] {
    let digest = Sha256::digest(public);
    std::array::from_fn(|place| digest[place])
}

/// What is drawn for one record.
#[derive(Clone, Copy)]
pub struct Drawn {
    /// The record's id.
    pub record_id: [u8; 16],
    /// The private half of its key; nobody keeps it.
    pub secret: [u8; 32],
}

impl Drawn {
    /// Draw them from the operating system.
    ///
    /// # Errors
    /// It gives no random bytes.
    pub fn new() -> io::Result<Self> {
        Ok(Self { record_id: random()?, secret: random()? })
    }
}

/// So many random bytes.
///
/// # Errors
/// The operating system gives none.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// The frames of one record, sealed one by one into the same memory.
pub struct Frames<'a> {
    common: Common,
    cipher: ChaCha20Poly1305,
    head: &'a [u8],
    payload: &'a [u8],
    index: Option<u32>,
    buffer: Vec<u8>,
}

impl<'a> Frames<'a> {
    /// The frames of the record that is `head` and `payload`, one after the other.
    ///
    /// # Errors
    /// The public key is one with which every secret would be the same.
    pub fn new(public: &[u8; 32], drawn: &Drawn, head: &'a [u8], payload: &'a [u8]) -> io::Result<Self> {
        let ephemeral = x25519(drawn.secret, X25519_BASEPOINT_BYTES);
        let shared = x25519(drawn.secret, *public);
        if shared == [0; 32] {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the public key is none"));
        }
        let salt = [ephemeral, *public].concat();
        let mut key = [0; 32];
        Hkdf::<Sha256>::new(Some(&salt), &shared)
            .expand(INFO, &mut key)
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self {
            common: Common { key_id: key_id(public), record_id: drawn.record_id, ephemeral },
            cipher: ChaCha20Poly1305::new(&Key::from(key)),
            head,
            payload,
            index: Some(0),
            buffer: Vec::with_capacity(WRITTEN_BYTES.min(HEADER_BYTES + head.len() + payload.len() + TAG_BYTES)),
        })
    }

    /// Which key opens them.
    pub fn key_id(&self) -> &[u8; 8] {
        &self.common.key_id
    }

    /// The next frame, whole; `None` after the last one. A record without a byte has one frame all the same.
    ///
    /// # Errors
    /// The record is too long for the format: over 500 terabytes.
    pub fn next_frame(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(index) = self.index else {
            return Ok(None);
        };
        let too_long = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let head = take(&mut self.head, CONTENT_BYTES);
        let payload = take(&mut self.payload, CONTENT_BYTES - head.len());
        let last = self.head.is_empty() && self.payload.is_empty();
        let length = u32::try_from(head.len() + payload.len() + TAG_BYTES).map_err(too_long)?;
        let header = header(&self.common, index, length, last);
        self.buffer.clear();
        for part in [&header, head, payload] {
            self.buffer.extend_from_slice(part);
        }
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&index.to_le_bytes());
        let tag = self
            .cipher
            .encrypt_inout_detached(&Nonce::from(nonce), &header, (&mut self.buffer[HEADER_BYTES..]).into())
            .map_err(|error| io::Error::other(error.to_string()))?;
        self.buffer.extend_from_slice(&tag);
        self.index = if last { None } else { index.checked_add(1) };
        if !last && self.index.is_none() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(Some(&self.buffer))
    }
}

/// The first bytes of a text, at most so many, which are taken from it.
fn take<'a>(text: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, left) = text.split_at(most.min(text.len()));
    *text = left;
    taken
}
