//! One run of a hook, from its arguments to its end: keep what the host says, ask if that is wanted, wake who sleeps.

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::ask::{self, Answer, Question};
use crate::command::{Command, USAGE, VERSION};
use crate::folder;
use crate::input;
use crate::losses;
use crate::mind::{folder_of, Address};
use crate::programs::{self, Programs};
use crate::record::{now_us, Seen};
use crate::routing::Routing;
use crate::seal::{Drawn, Frames};
use crate::spool;

const SESSION_START: &[u8] = b"session-start";

/// Where a loss is counted, from the moment there may be one until the record is kept or the loss counted.
static AT_STAKE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Do what the command line says with what the host writes on the standard input.
///
/// # Errors
/// What went wrong beside the record: a loss that could not be counted, an answer that nobody took. There is nobody to be
/// told; a hook ends with 0 in any case.
pub fn run(command: Command) -> io::Result<()> {
    if command.version {
        return io::stdout().write_all(VERSION.as_bytes());
    }
    let mind = command.home.as_deref().and_then(|home| folder_of(home, &command.mind));
    let (Some(home), Some(mind), false) = (command.home.as_deref(), mind, off()) else {
        if io::stdin().is_terminal() {
            return io::stderr().write_all(USAGE.as_bytes()); // no host, then: somebody tries what this is
        }
        // A host is not to be left writing to nobody.
        return input::read_stdin(|_| ());
    };
    stake(Some(mind.join("spool")));
    let mut payload = Vec::with_capacity(input::PIPE_BYTES); // nearly every event fits
    let read = input::read_stdin(|piece| payload.extend_from_slice(piece));
    let routing = Routing::of(&payload);
    let cwd = working_folder(routing.cwd.as_deref());
    if cwd.as_deref().is_some_and(folder::silenced) {
        stake(None);
        return Ok(());
    }
    let kept = keep(&command, &mind, &routing, cwd.as_deref(), &payload).and(read);
    let counted = if kept.is_err() { lost(payload.len()) } else { Ok(()) };
    stake(None);
    let done = if command.ask { answer(&command, home, cwd.as_deref(), payload) } else { wake(home) };
    counted.and(done)
}

/// Count the record as lost, if it is neither kept nor counted yet; also what a panic has left to do.
///
/// # Errors
/// It cannot be counted.
pub fn lost(payload_bytes: usize) -> io::Result<()> {
    // Nobody waits here: who panics while holding the lock has it still.
    match AT_STAKE.try_lock().ok().and_then(|mut spool| spool.take()) {
        Some(spool) => losses::count(&spool, now_us(), payload_bytes),
        None => Ok(()),
    }
}

fn stake(spool: Option<PathBuf>) {
    if let Ok(mut at_stake) = AT_STAKE.lock() {
        *at_stake = spool;
    }
}

/// Whether the user has switched hooks off, for this shell or for good.
fn off() -> bool {
    env::var_os("MNEMIC_OFF").is_some_and(|value| !value.is_empty() && value != "0")
}

/// The folder that the host names, else this process's own; none where that is gone.
fn working_folder(named: Option<&[u8]>) -> Option<PathBuf> {
    let own = env::current_dir().ok();
    match (named.map(OsStr::from_bytes), own) {
        (Some(named), Some(own)) => Some(own.join(named)),
        (Some(named), None) => Some(named.into()),
        (None, own) => own,
    }
}

fn keep(command: &Command, mind: &Path, routing: &Routing, cwd: Option<&Path>, payload: &[u8]) -> io::Result<()> {
    let address = Address::read(mind)?;
    let at_us = now_us();
    let branch = cwd.and_then(folder::branch);
    let head = Seen {
        assistant: &command.assistant,
        event: &command.event,
        at_us,
        cwd: cwd.map(|cwd| cwd.as_os_str().as_bytes()),
        branch: branch.as_deref(),
    }
    .head();
    let stem = address.file_stem(&command.assistant, &routing.session)?;
    let mut frames = Frames::new(&address.public, &Drawn::new()?, &head, payload)?;
    spool::append(&mind.join("spool"), &stem, &mut frames, at_us)
}

/// See to it that somebody reads what was kept.
fn wake(home: &Path) -> io::Result<()> {
    let (programs, now) = (Programs::of(home), SystemTime::now());
    let awake = || ask::socket_of(home).is_some_and(|socket| ask::listens(&socket, ask::GLANCE));
    if programs.serve.is_empty() || programs::started_lately(home, now) || awake() {
        return Ok(());
    }
    programs::start(home, &programs.serve, now).map(|_| ())
}

/// Print what the memory has to say. Where no process answers, one is started, and a session does not wait for it.
fn answer(command: &Command, home: &Path, cwd: Option<&Path>, payload: Vec<u8>) -> io::Result<()> {
    let payload = Arc::new(payload);
    let cwd = cwd.map_or(&b""[..], |cwd| cwd.as_os_str().as_bytes());
    let question = Question { mind: &command.mind, assistant: &command.assistant, event: &command.event, cwd };
    let answer = match ask::socket_of(home) {
        Some(socket) => ask::ask(&socket, &question, &payload, ask::PATIENCE),
        None => Answer::Nobody,
    };
    match answer {
        Answer::Said(said) => print(&said),
        Answer::Silence => Ok(()),
        Answer::Nobody => {
            let programs = Programs::of(home);
            let started = programs::start(home, &programs.serve, SystemTime::now());
            if command.event == SESSION_START {
                let mut options: Vec<(&str, &[u8])> = vec![
                    ("--assistant", &command.assistant),
                    ("--event", &command.event),
                    ("--home", home.as_os_str().as_bytes()),
                    ("--mind", command.mind.as_bytes()),
                    ("--cwd", cwd),
                ];
                options.retain(|(_, value)| !value.is_empty());
                if let Some(said) = programs::answer(&programs.answer, &options, &payload, programs::PATIENCE)? {
                    print(&said)?;
                }
            }
            started.map(|_| ())
        }
    }
}

fn print(said: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(said)?;
    stdout.flush()
}
