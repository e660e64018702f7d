//! The count of what could not be kept: 64 bytes that are there from the beginning, so that a full disk still takes them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Length of the file.
pub const LOSSES_BYTES: usize = 64;
const COUNTED_BYTES: usize = 24;
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// Count one record that is lost, of so many bytes, in the `losses` of a spool's folder.
///
/// The lock is not waited for longer than 100 ms: two losses at once may then be counted as one, but none as none.
///
/// # Errors
/// It cannot be counted; there is nobody left to tell.
pub fn count(spool: &Path, at_us: u64, payload_bytes: usize) -> io::Result<()> {
    let path = spool.join("losses");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    lock(&file);
    let mut bytes = [0; LOSSES_BYTES];
    let known = read(&file, &mut bytes)?;
    let field = |at: usize| u64::from_le_bytes(std::array::from_fn(|place| bytes[at + place]));
    let counted = [field(0).saturating_add(1), at_us, field(16).saturating_add(payload_bytes as u64)];
    for (place, number) in bytes.chunks_exact_mut(8).zip(counted) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    file.write_all_at(if known < LOSSES_BYTES { &bytes } else { &bytes[..COUNTED_BYTES] }, 0)
}

/// Wait for the lock, which goes with the file; go on without it where it cannot be had.
fn lock(file: &File) {
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => sleep(PAUSE),
            Ok(()) | Err(TryLockError::Error(_)) => return,
        }
    }
}

fn read(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut known = 0;
    while known < bytes.len() {
        match file.read_at(&mut bytes[known..], known as u64)? {
            0 => break,
            more => known += more,
        }
    }
    Ok(known)
}
