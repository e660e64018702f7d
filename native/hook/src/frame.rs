//! The bytes of a spool file: the header that it begins with, and the header of each frame. `docs/spool.md` has the table.
//!
//! Below stands nothing; `seal` fills the frames and `spool` writes them.

/// What a spool file begins with: five letters of the name, two of the kind, and the version of the format.
pub const MAGIC: [u8; 8] = *b"MNSPOOL\x01";
/// What a frame begins with, so that a reader finds the next one behind a tear.
pub const MARK: [u8; 8] = [0xf3, 0x4d, 0x9c, 0x1e, 0xa7, 0x52, 0xe0, 0x6b];
/// Length of the header of a file.
pub const FILE_HEADER_BYTES: usize = 48;
/// Length of the header of a frame.
pub const HEADER_BYTES: usize = 80;
/// Length of the cipher's tag, which ends a ciphertext.
pub const TAG_BYTES: usize = 16;
/// The longest frame, header and tag included.
pub const FRAME_BYTES: usize = 1 << 20;
/// So long are the frames that are written here: the memory for one is soon touched, and stays in the processor's cache.
pub const WRITTEN_BYTES: usize = 1 << 17;
/// So much of a record goes into one of those.
pub const CONTENT_BYTES: usize = WRITTEN_BYTES - HEADER_BYTES - TAG_BYTES;

const VERSION: u8 = 1;
const LAST: u8 = 1;
const CHACHA20_POLY1305: u16 = 1;

/// The header of a file.
pub fn file_header(file_id: &[u8; 16], key_id: &[u8; 8], created_us: u64) -> [u8; FILE_HEADER_BYTES] {
    summed(&[&MAGIC, file_id, key_id, &created_us.to_le_bytes(), &[0; 4]])
}

/// What all frames of a record have in common.
#[derive(Debug, Clone, Copy)]
pub struct Common {
    /// Which key opens them.
    pub key_id: [u8; 8],
    /// The record's own id, drawn.
    pub record_id: [u8; 16],
    /// The public half of the key that was drawn for this record.
    pub ephemeral: [u8; 32],
}

/// The header of a frame; all of it is authenticated with the frame.
///
/// `ciphertext_bytes` includes the tag.
pub fn header(common: &Common, index: u32, ciphertext_bytes: u32, last: bool) -> [u8; HEADER_BYTES] {
    summed(&[
        &MARK,
        &[VERSION, if last { LAST } else { 0 }],
        &CHACHA20_POLY1305.to_le_bytes(),
        &index.to_le_bytes(),
        &ciphertext_bytes.to_le_bytes(),
        &common.key_id,
        &common.record_id,
        &common.ephemeral,
    ])
}

/// The parts one after another, and the CRC-32 of them all; together they have to be `N` bytes.
fn summed<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut sum = crc32fast::Hasher::new();
    let mut at = 0;
    for part in parts {
        bytes[at..at + part.len()].copy_from_slice(part);
        sum.update(part);
        at += part.len();
    }
    debug_assert_eq!(at + 4, N, "the parts fill the header");
    bytes[at..].copy_from_slice(&sum.finalize().to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_header_has_each_field_at_its_place() {
        let header = file_header(&[7; 16], &[8; 8], 0x0102_0304_0506_0708);
        assert_eq!(&header[..8], b"MNSPOOL\x01");
        assert_eq!(header[8..24], [7; 16]);
        assert_eq!(header[24..32], [8; 8]);
        assert_eq!(header[32..44], [8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0]);
        assert_eq!(header[44..], crc32fast::hash(&header[..44]).to_le_bytes());
    }

    #[test]
    fn a_frame_header_has_each_field_at_its_place() {
        let common = Common { key_id: [1; 8], record_id: [2; 16], ephemeral: [3; 32] };
        let bytes = header(&common, 0x0a0b_0c0d, 0x000f_ffb0, true);
        assert_eq!(bytes[..8], MARK);
        assert_eq!(bytes[8..20], [1, 1, 1, 0, 0x0d, 0x0c, 0x0b, 0x0a, 0xb0, 0xff, 0x0f, 0]);
        assert_eq!(bytes[20..28], [1; 8]);
        assert_eq!(bytes[28..44], [2; 16]);
        assert_eq!(bytes[44..76], [3; 32]);
        assert_eq!(bytes[76..], crc32fast::hash(&bytes[..76]).to_le_bytes());
        assert_eq!(header(&common, 0, 16, false)[9], 0);
    }
}
