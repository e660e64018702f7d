//! One run of a hook, from its arguments to its end: keep what the host says, ask if that is wanted, wake who sleeps.

use std::env;
use std::ffi::{OsStr, OsString};
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
use crate::mind::{folder_of, is_foreign, Address};
use crate::programs::{self, Programs};
use crate::quiet::{self, Off};
use crate::record::{now_us, Seen};
use crate::routing::Routing;
use crate::seal::{Drawn, Frames};
use crate::spool;

const SESSION_START: &[u8] = b"session-start";
/// The variable in which a host tells its hooks how it was started: on a terminal, or by a program.
const ENTRIES: [(&[u8], &str); 1] = [(b"claude-code", "CLAUDE_CODE_ENTRYPOINT")];

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
    let (Some(home), Some(mind)) = (command.home.as_deref(), mind) else {
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
    if is_foreign(&mind) || cwd.as_deref().is_some_and(folder::is_ignored) {
        stake(None);
        return Ok(());
    }
    let (off, at_us) = (Off::here(), now_us());
    let quiet = off.keeps_nothing() || quiet::paused(&mind, at_us);
    let kept = if off.keeps_nothing() {
        leave_mark(&command, &mind, &routing, at_us)
    } else if quiet {
        Ok(())
    } else {
        keep(&command, &mind, &routing, cwd.as_deref(), &payload, at_us).and(read)
    };
    let counted = if kept.is_err() { lost(payload.len()) } else { Ok(()) };
    stake(None);
    let done = if command.ask && !off.tells_nothing() {
        answer(&command, home, cwd.as_deref(), off.keeps_nothing(), payload)
    } else if quiet {
        Ok(())
    } else {
        wake(home)
    };
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

/// The folder that the host names, else this process's own; none where that is gone.
fn working_folder(named: Option<&[u8]>) -> Option<PathBuf> {
    let own = env::current_dir().ok();
    match (named.map(OsStr::from_bytes), own) {
        (Some(named), Some(own)) => Some(own.join(named)),
        (Some(named), None) => Some(named.into()),
        (None, own) => own,
    }
}

fn keep(
    command: &Command,
    mind: &Path,
    routing: &Routing,
    cwd: Option<&Path>,
    payload: &[u8],
    at_us: u64,
) -> io::Result<()> {
    let (branch, main_folder) = (cwd.and_then(folder::branch), cwd.and_then(folder::main_folder));
    let entry = entry_of(&command.assistant);
    let seen = Seen {
        assistant: &command.assistant,
        event: &command.event,
        at_us,
        cwd: cwd.map(|cwd| cwd.as_os_str().as_bytes()),
        branch: branch.as_deref(),
        main_folder: main_folder.as_deref(),
        entry: entry.as_deref().map(OsStr::as_bytes),
    };
    seal(mind, routing, &seen, payload)
}

/// Leave the name of a session of which nothing is kept, where one has to be left.
fn leave_mark(command: &Command, mind: &Path, routing: &Routing, at_us: u64) -> io::Result<()> {
    let Some(payload) = quiet::mark(&command.event, &routing.session) else { return Ok(()) };
    let (assistant, event) = (&command.assistant, quiet::IGNORED_SESSION);
    seal(mind, routing, &Seen { assistant, event, at_us, ..Seen::default() }, &payload)
}

fn seal(mind: &Path, routing: &Routing, seen: &Seen<'_>, payload: &[u8]) -> io::Result<()> {
    let address = Address::read(mind)?;
    let stem = address.file_stem(seen.assistant, &routing.session)?;
    let head = seen.head();
    let mut frames = Frames::new(&address.public, &Drawn::new()?, &head, payload)?;
    spool::append(&mind.join("spool"), &stem, &mut frames, seen.at_us)
}

/// How a host says that it was started; none where it does not.
fn entry_of(assistant: &[u8]) -> Option<OsString> {
    let (_, name) = ENTRIES.iter().find(|(host, _)| *host == assistant)?;
    env::var_os(name).filter(|entry| !entry.is_empty())
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
fn answer(command: &Command, home: &Path, cwd: Option<&Path>, unkept: bool, payload: Vec<u8>) -> io::Result<()> {
    let payload = Arc::new(payload);
    let cwd = cwd.map_or(&b""[..], |cwd| cwd.as_os_str().as_bytes());
    let (assistant, event) = (&command.assistant, &command.event);
    let question = Question { mind: &command.mind, assistant, event, cwd, unkept, updates: command.updates };
    let answer = match ask::socket_of(home) {
        Some(socket) => ask::ask(&socket, &question, &payload, ask::patience(&command.event, command.updates)),
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
                    ("--off", if unkept { b"capture" } else { b"" }),
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
