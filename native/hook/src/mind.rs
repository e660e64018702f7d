//! What a hook may know of a mind: the public key that it seals for, and the key that names of files are hashed with.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::json;

const VERSION: &[u8] = b"1";
const NAME_BYTES: usize = 16;

/// The folder of a mind in a home, or `None` for a name that is no folder's.
pub fn folder_of(home: &Path, mind: &str) -> Option<PathBuf> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let named = mind.starts_with(|first: char| first.is_ascii_alphanumeric()) && mind.chars().all(plain);
    named.then(|| home.join("minds").join(mind))
}

/// Whether a mind belongs to another user: root's hooks in somebody's home would leave files there that its owner cannot read.
pub fn is_foreign(mind: &Path) -> bool {
    // SAFETY: a plain system call that cannot fail.
    let own = unsafe { libc::geteuid() };
    fs::metadata(mind).is_ok_and(|seen| seen.uid() != own)
}

/// The contents of a mind's `spool.json`.
#[derive(Debug, PartialEq, Eq)]
pub struct Address {
    /// The public key of the spool.
    pub public: [u8; 32],
    /// The key that names of files are hashed with.
    pub names: [u8; 32],
}

impl Address {
    /// Read it.
    ///
    /// # Errors
    /// There is none, or it is none of this version.
    pub fn read(mind: &Path) -> io::Result<Self> {
        Self::parse(&fs::read(mind.join("spool.json"))?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "spool.json is not of this version"))
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let (mut version, mut public, mut names) = (None, None, None);
        for (key, value) in json::members(text) {
            match key.as_slice() {
                b"version" => version = Some(value),
                b"public" => public = json::string(value).and_then(|digits| key_of(&digits)),
                b"names" => names = json::string(value).and_then(|digits| key_of(&digits)),
                _ => {}
            }
        }
        (version == Some(VERSION)).then_some(Self { public: public?, names: names? })
    }

    /// The name of a session's file without its ending: nobody learns from it which session that is.
    ///
    /// # Errors
    /// None that can happen: the hash takes a key of any length.
    pub fn file_stem(&self, assistant: &[u8], session: &[u8]) -> io::Result<String> {
        let mut hash =
            Hmac::<Sha256>::new_from_slice(&self.names).map_err(|error| io::Error::other(error.to_string()))?;
        for part in [assistant, &[0], session] {
            hash.update(part);
        }
        Ok(hex(&hash.finalize().into_bytes()[..NAME_BYTES]))
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key_of(digits: &[u8]) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if digits.len() != 2 * key.len() {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let number = |digit: u8| char::from(digit).to_digit(16);
        *byte = u8::try_from(number(pair[0])? << 4 | number(pair[1])?).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mind_is_a_folder_of_its_home_and_nothing_else() {
        let home = Path::new("/h");
        assert_eq!(folder_of(home, "work-2.b_c"), Some("/h/minds/work-2.b_c".into()));
        for name in ["", ".", "..", "../x", "a/b", "-a", "a b", "é", "a\n"] {
            assert_eq!(folder_of(home, name), None, "{name}");
        }
    }

    #[test]
    fn an_address_is_read_and_one_of_another_version_is_not() {
        let [public, names] = [[0xa1; 32], [0x0b; 32]];
        let text = format!("{{\"version\": 1, \"public\": \"{}\",\n \"names\": \"{}\"}}", hex(&public), hex(&names));
        assert_eq!(Address::parse(text.as_bytes()), Some(Address { public, names }));
        assert_eq!(Address::parse(text.replace(": 1", ": 2").as_bytes()), None);
        assert_eq!(Address::parse(text.replace("a1", "g1").as_bytes()), None);
        assert_eq!(Address::parse(text.replace("a1a1", "").as_bytes()), None);
        assert_eq!(Address::parse(b""), None);
    }

    #[test]
    fn a_file_is_named_for_assistant_and_session_and_for_nobody_without_the_key() {
        let address = |names| Address { public: [1; 32], names };
        let stem = |names, assistant: &[u8], session: &[u8]| address(names).file_stem(assistant, session).ok();
        let one = stem([0; 32], b"codex", b"s");
        assert_eq!(one.as_deref().map(str::len), Some(32));
        assert_eq!(one, stem([0; 32], b"codex", b"s"));
        assert_ne!(one, stem([0; 32], b"codex", b""));
        assert_ne!(one, stem([0; 32], b"gemini-cli", b"s"));
        assert_ne!(one, stem([2; 32], b"codex", b"s"));
    }
}
