//! Whether nothing is to be kept, or told, at this moment: a variable of the shell says so, or a file of the mind.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::json;
use crate::record::written_out;

const VARIABLE: &str = "MNEMIC_OFF";
const PAUSES: &str = "pauses";
/// What the record is called that only says which session is not to be read from its transcript either.
pub const IGNORED_SESSION: &[u8] = b"silenced";
/// The events at which that is said: a session that has anything to keep has one of them.
const SAID_AT: [&[u8]; 3] = [b"session-start", b"prompt", b"session-end"];

/// What is switched off for one shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// Nothing.
    No,
    /// Nothing is kept.
    Capture,
    /// Nothing is told.
    Recall,
    /// Neither.
    Both,
}

impl Off {
    /// What the environment says.
    pub fn here() -> Self {
        Self::of(env::var_os(VARIABLE).as_deref())
    }

    /// What the value of the variable means: nothing and `0` switch nothing off, and what is not known all.
    pub fn of(value: Option<&OsStr>) -> Self {
        match value.map(OsStr::as_encoded_bytes) {
            None | Some(b"" | b"0") => Self::No,
            Some(b"capture") => Self::Capture,
            Some(b"recall") => Self::Recall,
            Some(_) => Self::Both,
        }
    }

    /// Whether nothing is kept.
    pub fn keeps_nothing(self) -> bool {
        matches!(self, Self::Capture | Self::Both)
    }

    /// Whether nothing is told.
    pub fn tells_nothing(self) -> bool {
        matches!(self, Self::Recall | Self::Both)
    }
}

/// Whether a mind is paused. A file that cannot be read, or says nothing that is understood, pauses too: who wrote it
/// wanted nothing kept.
pub fn paused(mind: &Path, now_us: u64) -> bool {
    match fs::read(mind.join(PAUSES)) {
        Ok(text) => holds(&text, now_us),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Whether the last of the lines `from until`, in microseconds, holds now; its end is `-` until somebody resumes.
fn holds(text: &[u8], now_us: u64) -> bool {
    let Some(last) = text.split(|byte| *byte == b'\n').rfind(|line| !line.trim_ascii().is_empty()) else {
        return false;
    };
    let mut words = last.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    match (words.next().and_then(number), words.next(), words.next()) {
        (Some(_), Some(b"-"), None) => true,
        (Some(_), Some(until), None) => number(until).is_none_or(|until| now_us < until),
        _ => true,
    }
}

fn number(word: &[u8]) -> Option<u64> {
    if word.iter().all(u8::is_ascii_digit) {
        std::str::from_utf8(word).ok()?.parse().ok()
    } else {
        None
    }
}

/// What is kept of an event where nothing else is: the session, that its transcript may be left alone later; `None`
/// where nothing has to be said.
pub fn mark(event: &[u8], session: &[u8]) -> Option<Vec<u8>> {
    if session.is_empty() || !SAID_AT.contains(&event) {
        return None;
    }
    let mut payload = b"{\"session_id\":".to_vec();
    json::write_string(&written_out(session), &mut payload);
    payload.push(b'}');
    Some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_variable_switches_off_one_half_or_both() {
        let of = |value: &str| Off::of(Some(OsStr::new(value)));
        assert_eq!([Off::of(None), of(""), of("0")], [Off::No; 3]);
        assert_eq!([of("1"), of("yes"), of("00"), of(" "), of("Capture")], [Off::Both; 5]);
        assert_eq!((of("capture"), of("recall")), (Off::Capture, Off::Recall));
        let said = |off: Off| (off.keeps_nothing(), off.tells_nothing());
        assert_eq!(
            [Off::No, Off::Capture, Off::Recall, Off::Both].map(said),
            [(false, false), (true, false), (false, true), (true, true)]
        );
    }

    #[test]
    fn the_last_line_says_whether_it_is_paused() {
        for (text, expected) in [
            ("", false),
            ("\n\n", false),
            ("5 -\n", true),
            ("5 10\n", false),
            ("5 11\n", true),
            ("5 -\n6 7\n", false),
            ("1 2\n5 -", true),
            ("90 99\n", true),
            ("5\n", true),
            ("5 - 6\n", true),
            ("a -\n", true),
            ("5 +6\n", true),
        ] {
            assert_eq!(holds(text.as_bytes(), 10), expected, "{text:?}");
        }
    }

    #[test]
    fn a_session_is_named_where_it_has_a_name_and_not_at_every_event() {
        assert_eq!(mark(b"prompt", b"s \"1\"").as_deref(), Some(&br#"{"session_id":"s \"1\""}"#[..]));
        assert_eq!(mark(b"session-start", b"\xff").as_deref(), Some(&br#"{"session_id":"\\xff"}"#[..]));
        assert_eq!((mark(b"tool", b"s"), mark(b"prompt", b"")), (None, None));
    }

    proptest! {
        #[test]
        fn a_pause_holds_until_its_end_and_no_longer(from in any::<u32>(), until in any::<u32>(), now in any::<u32>()) {
            let text = format!("1 2\n{from} {until}\n");
            prop_assert_eq!(holds(text.as_bytes(), now.into()), now < until);
            let open = format!("{from} -\n");
            prop_assert!(holds(open.as_bytes(), now.into()));
        }

        #[test]
        fn any_bytes_are_a_pause_or_none(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            let blank = text.trim_ascii().is_empty();
            prop_assert!(!(blank && holds(&text, 0)));
        }
    }
}
