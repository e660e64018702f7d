//! The command line: `mnemic-hook ASSISTANT EVENT [--ask|--updates] --home HOME [--mind NAME]`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// What is printed for `--version`: the version of the program, and of the spool's format.
pub const VERSION: &str = concat!("mnemic-hook ", env!("CARGO_PKG_VERSION"), ", spool format 1\n");

/// What somebody is told who runs it without a home, by hand.
pub const USAGE: &str = "\
Usage: mnemic-hook ASSISTANT EVENT [--ask|--updates] --home HOME [--mind NAME] < what the assistant's host says
Seals an event into a mind's spool. 'mnemic hooks install' has assistants run it.
";

/// What a hook is told to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// The host; empty where it is not named, and then the record says so.
    pub assistant: Vec<u8>,
    /// The event; empty where it is not named.
    pub event: Vec<u8>,
    /// Whether to print what the memory answers.
    pub ask: bool,
    /// Whether only what replaced something that the session was told is asked for.
    pub updates: bool,
    /// The home, an absolute path; without one nothing can be kept.
    pub home: Option<PathBuf>,
    /// The mind.
    pub mind: String,
    /// Whether only the version is asked for.
    pub version: bool,
}

impl Command {
    /// Read the arguments that follow the program's name.
    ///
    /// Nothing is an error: an option that this version does not know is passed over, so that settings written by a
    /// newer one still keep what happens.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let (mut ask, mut updates, mut home, mut mind, mut version) = (false, false, None, None, false);
        let mut names = Vec::new();
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let (option, joined) = split(&argument);
            match option {
                b"--ask" => ask = true,
                b"--updates" => updates = true,
                b"--version" => version = true,
                b"--home" => home = joined.or_else(|| rest.next()).map(PathBuf::from),
                b"--mind" => mind = joined.or_else(|| rest.next()),
                _ if option.starts_with(b"--") => {}
                _ => names.push(argument.into_vec()),
            }
        }
        let mut names = names.into_iter();
        Self {
            assistant: names.next().unwrap_or_default(),
            event: names.next().unwrap_or_default(),
            ask: ask || updates,
            updates: updates && !ask,
            home: home.filter(|home| home.is_absolute()), // the working folder says neither what runs nor where it lies
            mind: mind.map_or_else(|| "default".to_owned(), |name| name.to_string_lossy().into_owned()),
            version,
        }
    }
}

/// An argument, or `--option=value` in its two parts.
fn split(argument: &OsStr) -> (&[u8], Option<OsString>) {
    let bytes = argument.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=').filter(|_| bytes.starts_with(b"--")) {
        Some(at) => (&bytes[..at], Some(OsString::from_vec(bytes[at + 1..].to_vec()))),
        None => (bytes, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(line: &[&str]) -> Command {
        Command::parse(line.iter().map(OsString::from))
    }

    #[test]
    fn every_order_of_the_arguments_says_the_same() {
        let expected = Command {
            assistant: b"codex".to_vec(),
            event: b"prompt".to_vec(),
            ask: true,
            updates: false,
            home: Some("/a home".into()),
            mind: "work".to_owned(),
            version: false,
        };
        assert_eq!(parse(&["codex", "prompt", "--ask", "--home", "/a home", "--mind", "work"]), expected);
        assert_eq!(
            parse(&["--mind=work", "--home=/a home", "--new-one", "codex", "--ask", "prompt", "more"]),
            expected
        );
    }

    #[test]
    fn what_is_not_said_is_empty_and_the_mind_the_default_one() {
        let command = parse(&["--home"]);
        assert_eq!((command.assistant, command.event, command.home), (vec![], vec![], None));
        assert_eq!((command.ask, command.mind.as_str()), (false, "default"));
        for relative in ["--home=", "--home=.", "--home=a/home", "--home=~/home"] {
            assert_eq!(parse(&[relative]).home, None, "{relative}");
        }
        assert!(parse(&["--version"]).version);
    }

    #[test]
    fn updates_alone_are_asked_for_unless_everything_is() {
        for (line, expected) in [
            (&["codex", "prompt", "--updates"][..], (true, true)),
            (&["codex", "prompt", "--updates", "--ask"], (true, false)),
            (&["codex", "prompt", "--ask"], (true, false)),
            (&["codex", "prompt"], (false, false)),
        ] {
            let command = parse(line);
            assert_eq!((command.ask, command.updates), expected, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn any_arguments_are_read(line in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..12), 0..8)) {
            Command::parse(line.into_iter().map(OsString::from_vec));
        }
    }
}
