//! The programs that a hook may start, as `HOME/bin/hook.json` names them: the home's process, and the slow answer.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::json;

/// So long the slow answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// A process that does not come up is not started more often than this.
pub const AGAIN: Duration = Duration::from_secs(60);
const HIGHEST_DESCRIPTOR: libc::c_int = 256;

/// What may be started: each a program and its first arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// The home's process.
    pub serve: Vec<OsString>,
    /// What answers where none runs.
    pub answer: Vec<OsString>,
}

impl Programs {
    /// Those of a home; none where its installer named none.
    pub fn of(home: &Path) -> Self {
        Self::parse(&fs::read(home.join("bin/hook.json")).unwrap_or_default())
    }

    fn parse(text: &[u8]) -> Self {
        let mut programs = Self::default();
        for (key, value) in json::members(text) {
            match key.as_slice() {
                b"serve" => programs.serve = words(value),
                b"answer" => programs.answer = words(value),
                _ => {}
            }
        }
        programs
    }
}

fn words(list: &[u8]) -> Vec<OsString> {
    json::elements(list).filter_map(json::string).map(OsString::from_vec).collect()
}

/// Start a home's process in the background, unless that was done within a minute; returns whether it was started.
///
/// It has no terminal, no open file of this process and nobody who waits for it: the host sees its hook end.
///
/// # Errors
/// It cannot be started, or that it was cannot be noted.
pub fn start(home: &Path, serve: &[OsString], now: SystemTime) -> io::Result<bool> {
    let Some((program, arguments)) = serve.split_first() else {
        return Ok(false);
    };
    if started_lately(home, now) || !noted(&home.join("run"), now)? {
        return Ok(false);
    }
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec only `setsid` and `fcntl` are called, which POSIX allows there; neither takes memory.
    unsafe { command.pre_exec(detach) };
    command.spawn().map(|_| true)
}

/// Leave the host's session, and let no descriptor of the host's pass to the program that is to come.
fn detach() -> io::Result<()> {
    // SAFETY: plain system calls on numbers; a descriptor that is not open is an error without effect.
    unsafe {
        libc::setsid();
        for descriptor in 3..HIGHEST_DESCRIPTOR {
            let flags = libc::fcntl(descriptor, libc::F_GETFD);
            if flags >= 0 {
                libc::fcntl(descriptor, libc::F_SETFD, flags | libc::FD_CLOEXEC);
            }
        }
    }
    Ok(())
}

/// Whether a process was started within a minute. A stamp from the future, before a clock was set, says nothing.
pub fn started_lately(home: &Path, now: SystemTime) -> bool {
    let before = fs::metadata(home.join("run/hook-start")).and_then(|stamp| stamp.modified());
    before.is_ok_and(|before| now.duration_since(before).is_ok_and(|age| age < AGAIN))
}

/// Note a start in the stamp; returns whether no other hook did so at the same moment.
fn noted(run: &Path, now: SystemTime) -> io::Result<bool> {
    let stamp = run.join("hook-start");
    let mut known = File::options().write(true).open(&stamp);
    if known.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
        fs::remove_file(&stamp)?; // another user's, in a folder of this one's
        known = Err(ErrorKind::NotFound.into());
    }
    let file = match known {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match DirBuilder::new().mode(0o700).create(run) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            match File::options().write(true).create_new(true).mode(0o600).open(&stamp) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
                made => made?,
            }
        }
        known => known?,
    };
    file.set_modified(now).map(|()| true)
}

/// What the slow answer prints for a payload, if it ends well within `patience`; it is killed else.
///
/// # Errors
/// It cannot be started.
pub fn answer(
    answer: &[OsString],
    options: &[(&str, &[u8])],
    payload: &Arc<Vec<u8>>,
    patience: Duration,
) -> io::Result<Option<Vec<u8>>> {
    let Some((program, arguments)) = answer.split_first() else {
        return Ok(None);
    };
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    for (option, value) in options {
        command.arg(option).arg(OsStr::from_bytes(value));
    }
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let payload = Arc::clone(payload);
    // One that does not read what it is given has its answer all the same.
    let writing = move || stdin.map(|mut pipe| pipe.write_all(&payload));
    thread::Builder::new().spawn(writing)?;
    let (tell, told) = channel();
    let group = child.id();
    let reading = move || {
        let mut said = Vec::new();
        let whole = stdout.is_some_and(|mut pipe| pipe.read_to_end(&mut said).is_ok());
        let ended = child.wait().is_ok_and(|status| status.success());
        tell.send((whole && ended).then_some(said))
    };
    thread::Builder::new().spawn(reading)?;
    told.recv_timeout(patience).or_else(|_| {
        kill_group(group);
        Ok(None)
    })
}

fn kill_group(leader: u32) {
    if let Ok(group) = libc::pid_t::try_from(leader) {
        // SAFETY: a plain system call on a number; the group is that of a child which nobody has waited for yet.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_lists_of_words_whatever_the_words_hold() {
        let text = br#"{"serve": ["/a b/python", "-m", "it's \"mnemic\""], "else": 1, "answer": ["/x\udcff"]}"#;
        let programs = Programs::parse(text);
        assert_eq!(programs.serve, ["/a b/python", "-m", "it's \"mnemic\""].map(OsString::from));
        assert_eq!(programs.answer, [OsString::from_vec(b"/x\xff".to_vec())]);
        assert_eq!(Programs::parse(b"{\"serve\": \"/a\""), Programs::default());
    }
}
