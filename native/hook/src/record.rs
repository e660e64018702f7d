//! A record's first part: what the hook itself knows of an event, before the host's bytes.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::json;

/// What a hook saw.
#[derive(Debug, Clone, Default)]
pub struct Seen<'a> {
    /// The host, as the command line names it.
    pub assistant: &'a [u8],
    /// The event, as the command line names it.
    pub event: &'a [u8],
    /// World time, microseconds since 1970 UTC.
    pub at_us: u64,
    /// The working folder.
    pub cwd: Option<&'a [u8]>,
    /// The branch that is checked out there.
    pub branch: Option<&'a [u8]>,
    /// The main folder of the repository whose worktree the working folder lies in.
    pub main_folder: Option<&'a [u8]>,
    /// How the host says that it was started, where it does.
    pub entry: Option<&'a [u8]>,
}

impl Seen<'_> {
    /// The part of the record that stands before the payload: a length, then JSON of that length.
    pub fn head(&self) -> Vec<u8> {
        let mut json = b"{\"v\":1".to_vec();
        write_name("assistant", Some(self.assistant), &mut json);
        write_name("event", Some(self.event), &mut json);
        json.extend_from_slice(format!(",\"at_us\":{}", self.at_us).as_bytes());
        write_name("cwd", self.cwd, &mut json);
        write_name("branch", self.branch, &mut json);
        for (key, value) in [("main_folder", self.main_folder), ("entry", self.entry)] {
            if value.is_some() {
                write_name(key, value, &mut json);
            }
        }
        json.push(b'}');
        // Arguments, a path and a name in git: their lengths have bounds far below this.
        let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
        [&length.to_le_bytes(), json.as_slice()].concat()
    }
}

/// World time, microseconds since 1970 UTC; 0 where the clock says that it is earlier.
pub fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Bytes as text; those that are no UTF-8 are written out, as `\xff`.
pub fn written_out(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

fn write_name(key: &str, value: Option<&[u8]>, json: &mut Vec<u8>) {
    json.extend_from_slice(format!(",\"{key}\":").as_bytes());
    match value {
        Some(bytes) => json::write_string(&written_out(bytes), json),
        None => json.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_a_length_and_json() {
        let seen = Seen {
            assistant: b"codex",
            event: b"tool",
            at_us: 5,
            cwd: Some(b"/a \"b\"/\xff\n"),
            branch: None,
            main_folder: None,
            entry: None,
        };
        let expected =
            br#"{"v":1,"assistant":"codex","event":"tool","at_us":5,"cwd":"/a \"b\"/\\xff\u000a","branch":null}"#;
        let head = seen.head();
        assert_eq!(&head[4..], expected);
        assert_eq!(head[..4], (expected.len() as u32).to_le_bytes());
        let started = Seen { entry: Some(b"sdk-cli"), ..seen.clone() }.head();
        assert!(started.ends_with(br#""branch":null,"entry":"sdk-cli"}"#));
        let inside = Seen { main_folder: Some(b"/a"), ..seen }.head();
        assert!(inside.ends_with(br#""branch":null,"main_folder":"/a"}"#));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_written_out_and_the_rest_stays() {
        assert_eq!(written_out("naïve 🚀".as_bytes()), "naïve 🚀");
        assert_eq!(written_out(b"a\xff\xc3(\xed\xa0\x80"), "a\\xff\\xc3(\\xed\\xa0\\x80");
    }
}
