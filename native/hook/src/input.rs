//! What a host writes to a hook: read to its end, or until nothing has come of it for too long.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// So long a host may pause. It may forget to close the pipe altogether, and must not wait for a hook that waits for it.
pub const PATIENCE: Duration = Duration::from_secs(4);
/// What a pipe holds.
pub const PIPE_BYTES: usize = 64 << 10;

/// Hand over what comes on the standard input, piece by piece.
///
/// # Errors
/// It breaks off; what came until then was handed over.
pub fn read_stdin(take: impl FnMut(&[u8])) -> io::Result<()> {
    read(&File::from(io::stdin().as_fd().try_clone_to_owned()?), PATIENCE, take)
}

/// Hand over what comes, piece by piece, until its end or until nothing has come for so long, which is no error.
///
/// A file that does not block is waited for like any other: a host that sets its end of a pipe so may set both.
///
/// # Errors
/// It breaks off; what came until then was handed over.
pub fn read(mut file: &File, patience: Duration, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut piece = vec![0; PIPE_BYTES];
    while comes(file, patience)? {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => take(&piece[..length]),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether something comes in time: bytes, the end or an error, which reading then tells apart.
fn comes(file: &File, patience: Duration) -> io::Result<bool> {
    let mut waited = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let limit_ms = libc::c_int::try_from(patience.as_millis()).unwrap_or(libc::c_int::MAX);
    loop {
        // SAFETY: the one structure that is pointed to lives as long as the call, and so does the open file.
        match unsafe { libc::poll(&raw mut waited, 1, limit_ms) } {
            0 => return Ok(false),
            1.. => return Ok(true),
            _ => match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{pipe, Write};
    use std::os::fd::OwnedFd;
    use std::thread;

    const SHORT: Duration = Duration::from_millis(50);

    fn all(file: &File, patience: Duration) -> io::Result<Vec<u8>> {
        let mut got = Vec::new();
        read(file, patience, |piece| got.extend_from_slice(piece)).map(|()| got)
    }

    #[test]
    fn all_is_read_to_the_end_however_long_it_is() -> io::Result<()> {
        let (reader, mut writer) = pipe()?;
        let payload: Vec<u8> = (0..300_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let sent = payload.clone();
        let host = thread::spawn(move || writer.write_all(&sent));
        assert_eq!(all(&File::from(OwnedFd::from(reader)), PATIENCE)?, payload);
        assert!(host.join().is_ok_and(|sent| sent.is_ok()));
        Ok(())
    }

    #[test]
    fn what_has_no_end_is_what_came_of_it_in_time() -> io::Result<()> {
        let (reader, mut writer) = pipe()?;
        writer.write_all(b"an event")?;
        let reader = File::from(OwnedFd::from(reader));
        assert_eq!(all(&reader, SHORT)?, b"an event");
        assert_eq!(all(&reader, SHORT)?, b"");
        Ok(())
    }

    #[test]
    fn what_breaks_off_is_an_error() -> io::Result<()> {
        let folder = File::open("/")?;
        assert!(all(&folder, SHORT).is_err());
        Ok(())
    }
}
