//! Appending a record to a session's file, so that a reader finds every whole frame whatever is killed, full or at once.
//!
//! A file has its header from the moment it has its name. Who writes holds its lock from a record's first frame to its
//! last; a frame is one `write`. Below stand `seal` and `frame`; the reader, in Python, removes files that are read out.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::frame::file_header;
use crate::mind::hex;
use crate::seal::{random, Frames};

/// So long a file's lock is waited for, before the record goes into one beside it.
pub const PATIENCE: Duration = Duration::from_millis(250);
const LOCK_PAUSE: Duration = Duration::from_millis(2);
/// What fails is tried again after each of these, 300 ms in all: a disk may be full for a moment only.
const PAUSES_MS: [u64; 4] = [20, 40, 80, 160];
const BESIDE: u32 = 64;
const REMOVED: u32 = 16;

/// Append a record to the file that a stem names in a spool's folder.
///
/// When this returns without an error the record is in the file: it survives any kill, not a power cut.
///
/// # Errors
/// It could not be written whole; what is there of it is a tear that the reader skips.
pub fn append(folder: &Path, stem: &str, frames: &mut Frames<'_>, created_us: u64) -> io::Result<()> {
    let key_id = *frames.key_id();
    let mut file = patiently(|| hold(folder, stem, &key_id, created_us))?;
    while let Some(frame) = frames.next_frame()? {
        patiently(|| write_once(&mut file, frame))?;
    }
    Ok(())
}

/// Try again what fails and may pass, after growing pauses, and return its last error if it goes on failing.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let stays = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem, ErrorKind::NotADirectory];
    for pause_ms in PAUSES_MS {
        match attempt() {
            Err(error) if !stays.contains(&error.kind()) => sleep(Duration::from_millis(pause_ms)),
            ended => return ended,
        }
    }
    attempt()
}

/// One `write`, and anything but all of it is an error: the frame is then written again, whole.
fn write_once(file: &mut File, frame: &[u8]) -> io::Result<()> {
    if file.write(frame)? == frame.len() {
        Ok(())
    } else {
        Err(ErrorKind::WriteZero.into())
    }
}

/// The session's file, or one beside it, open and locked.
fn hold(folder: &Path, stem: &str, key_id: &[u8; 8], created_us: u64) -> io::Result<File> {
    if let Some(file) = lock(folder, &format!("{stem}.spool"), key_id, created_us, PATIENCE)? {
        return Ok(file);
    }
    for number in 1..=BESIDE {
        if let Some(file) = lock(folder, &format!("{stem}.{number}.spool"), key_id, created_us, Duration::ZERO)? {
            return Ok(file);
        }
    }
    Err(ErrorKind::WouldBlock.into())
}

/// A file, made where there is none, open and locked; `None` where another user owns it or the lock is held for too long.
fn lock(folder: &Path, name: &str, key_id: &[u8; 8], created_us: u64, patience: Duration) -> io::Result<Option<File>> {
    let path = folder.join(name);
    let since = Instant::now();
    for _ in 0..REMOVED {
        let file = match open(folder, &path, key_id, created_us) {
            // Another user's file: the record goes into one beside it.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && path.exists() => return Ok(None),
            opened => opened?,
        };
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if since.elapsed() < patience => sleep(LOCK_PAUSE),
                Err(TryLockError::WouldBlock) => return Ok(None),
                // A file system without locks: its frames are whole all the same, and records have ids.
                Err(TryLockError::Error(_)) => return Ok(Some(file)),
            }
        }
        if is_at(&file, &path)? {
            return Ok(Some(file));
        } // else the reader has removed it before it was locked
    }
    Err(ErrorKind::NotFound.into())
}

/// Whether a path still names the file that was opened by it.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn open(folder: &Path, path: &Path, key_id: &[u8; 8], created_us: u64) -> io::Result<File> {
    let existing = || File::options().append(true).open(path);
    match existing() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    create(folder, path, key_id, created_us)?;
    existing()
}

/// Give a file its name when its header is in it; whoever was faster keeps the name.
fn create(folder: &Path, path: &Path, key_id: &[u8; 8], created_us: u64) -> io::Result<()> {
    let file_id = random::<16>()?;
    let draft = folder.join(format!(".new-{}", hex(&file_id)));
    let options = || File::options().write(true).create_new(true).mode(0o600).open(&draft);
    let made = match options() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            DirBuilder::new().mode(0o700).create(folder)?;
            options()
        }
        made => made,
    };
    let linked = made
        .and_then(|mut file| file.write_all(&file_header(&file_id, key_id, created_us)))
        .and_then(|()| fs::hard_link(&draft, path));
    // A draft that cannot be removed costs nothing: the reader takes away what is left of those.
    fs::remove_file(&draft).ok();
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}
