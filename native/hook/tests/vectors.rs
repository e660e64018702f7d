//! The test vector: with everything fixed that is otherwise drawn, a spool file has exactly these bytes.
//!
//! The file is read by the tests in Python as well, which open it with the private key. `MNEMIC_WRITE_VECTORS=1` writes it
//! anew: for a new version of the format, under a new name.

mod common;

use std::env;
use std::error::Error;
use std::fs;
use std::io;

use common::{opened, public, NAMES, PRIVATE};
use mnemic_hook::frame::{file_header, MARK};
use mnemic_hook::json;
use mnemic_hook::mind::hex;
use mnemic_hook::record::{written_out, Seen};
use mnemic_hook::seal::{key_id, Drawn, Frames};

const VECTOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/spool/vector-1.json");
const SESSION: &[u8] = b"0f5c-session";
const CREATED_US: u64 = 1_790_000_000_000_000;

fn events() -> Vec<(Seen<'static>, Vec<u8>)> {
    let prompt = br#"{"session_id":"0f5c-session","cwd":"/home/ada/engine","prompt":"We keep SQLite."}"#;
    let torn =
        [br#"{"session_id":"0f5c-session","cwd":"/home/ada/engine","x":""#.as_slice(), &MARK, b"\0\xff\xc3\""].concat();
    let assistant = b"claude-code";
    let (cwd, branch) = (Some(&b"/home/ada/engine"[..]), Some(&b"feature/caf\xc3\xa9"[..]));
    vec![
        (Seen { assistant, event: b"prompt", at_us: CREATED_US, cwd, branch, ..Seen::default() }, prompt.to_vec()),
        (
            Seen {
                assistant,
                event: b"tool",
                at_us: CREATED_US + 1,
                cwd: Some(b"/tmp/\xff\"\n"),
                branch: None,
                main_folder: None,
                entry: None,
            },
            torn,
        ),
        (Seen { assistant, event: b"session-end", at_us: CREATED_US + 2, ..Seen::default() }, Vec::new()),
    ]
}

/// The bytes of the spool file, with ids and secrets that count up.
fn file() -> io::Result<Vec<u8>> {
    let mut bytes = file_header(&[0x11; 16], &key_id(&public()), CREATED_US).to_vec();
    for (number, (seen, payload)) in (0_u8..).zip(events()) {
        let drawn = Drawn { record_id: [0x20 + number; 16], secret: [0x30 + number; 32] };
        let head = seen.head();
        let mut frames = Frames::new(&public(), &drawn, &head, &payload)?;
        while let Some(frame) = frames.next_frame()? {
            bytes.extend_from_slice(frame);
        }
    }
    Ok(bytes)
}

fn vector() -> Result<String, Box<dyn Error>> {
    let address = mnemic_hook::mind::Address { public: public(), names: NAMES };
    let mut records = Vec::new();
    for (seen, payload) in events() {
        let name = |value: Option<&[u8]>| match value {
            None => "null".to_owned(),
            Some(bytes) => {
                let mut json = Vec::new();
                json::write_string(&written_out(bytes), &mut json);
                String::from_utf8_lossy(&json).into_owned()
            }
        };
        records.push(format!(
            "  {{\n   \"assistant\": {},\n   \"event\": {},\n   \"at_us\": {},\n   \"cwd\": {},\n   \"branch\": {},\n   \
             \"payload\": \"{}\"\n  }}",
            name(Some(seen.assistant)),
            name(Some(seen.event)),
            seen.at_us,
            name(seen.cwd),
            name(seen.branch),
            hex(&payload)
        ));
    }
    Ok(format!(
        "{{\n \"private\": \"{}\",\n \"public\": \"{}\",\n \"names\": \"{}\",\n \"session\": \"{}\",\n \"name\": \
         \"{}.spool\",\n \"records\": [\n{}\n ],\n \"file\": \"{}\"\n}}\n",
        hex(&PRIVATE),
        hex(&public()),
        hex(&NAMES),
        String::from_utf8_lossy(SESSION),
        address.file_stem(b"claude-code", SESSION)?,
        records.join(",\n"),
        hex(&file()?),
    ))
}

#[test]
fn a_spool_file_has_the_bytes_that_the_vector_shows() -> Result<(), Box<dyn Error>> {
    if env::var_os("MNEMIC_WRITE_VECTORS").is_some_and(|value| value == "1") {
        fs::write(VECTOR, vector()?)?;
    }
    assert_eq!(fs::read_to_string(VECTOR)?, vector()?);
    Ok(())
}

#[test]
fn the_vector_opens_to_its_records() -> io::Result<()> {
    let payloads: Vec<_> = events().into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(opened(&file()?)?.into_iter().map(|(_, payload)| payload).collect::<Vec<_>>(), payloads);
    Ok(())
}
