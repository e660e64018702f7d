//! What a hook prints and starts, whatever is at the other end.

mod common;

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use common::Folder;
use mnemic_hook::ask::{ask, listens, socket_of, Answer, Question};
use mnemic_hook::programs;

const LONG: Duration = Duration::from_secs(60);
const QUESTION: Question<'_> = Question {
    mind: "default",
    assistant: b"codex",
    event: b"session-start",
    cwd: b"/p",
    unkept: false,
    updates: false,
};

/// What is asked of one who takes one connection, says this and closes; and the request.
fn asked(folder: &Folder, says: &'static [u8], payload: &[u8]) -> io::Result<(Answer, Vec<u8>)> {
    let socket = folder.0.join("http.sock");
    let listening = UnixListener::bind(&socket)?;
    let length = payload.len();
    let process = thread::spawn(move || -> io::Result<Vec<u8>> {
        let (mut stream, _) = listening.accept()?;
        let mut request = Vec::new();
        let mut part = [0; 4096];
        let ended = |request: &[u8]| request.windows(4).position(|four| four == b"\r\n\r\n");
        while ended(&request).is_none_or(|at| request.len() < at + 4 + length) {
            match stream.read(&mut part)? {
                0 => break,
                more => request.extend_from_slice(&part[..more]),
            }
        }
        stream.write_all(says)?;
        Ok(request)
    });
    let answer = ask(&socket, &QUESTION, &Arc::new(payload.to_vec()), LONG);
    let request = process.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    Ok((answer, request))
}

#[test]
fn what_the_process_answers_is_said_byte_for_byte() -> io::Result<()> {
    let says = b"HTTP/1.1 200 OK\r\ndate: now\r\ncontent-length: 5\r\n\r\n{\"\xff\0}";
    let (answer, request) = asked(&Folder::new()?, says, b"{\"pro\0mpt\":1}")?;
    assert_eq!(answer, Answer::Said(b"{\"\xff\0}".to_vec()));
    assert!(request.ends_with(b"\r\n\r\n{\"pro\0mpt\":1}"));
    Ok(())
}

#[test]
fn one_that_takes_no_part_is_as_good_as_none() -> io::Result<()> {
    let answers: [&[u8]; 5] = [
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab",
    ];
    for says in answers {
        assert_eq!(asked(&Folder::new()?, says, b"{}")?.0, Answer::Nobody, "{}", String::from_utf8_lossy(says));
    }
    Ok(())
}

#[test]
fn one_that_fails_or_says_something_else_has_nothing_to_say() -> io::Result<()> {
    for says in
        [&b"HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\n{}"[..], b"HTTP/1.1 200 OK\r\n\r\nabc", b"hello\r\n\r\n"]
    {
        assert_eq!(asked(&Folder::new()?, says, b"{}")?.0, Answer::Silence, "{}", String::from_utf8_lossy(says));
    }
    Ok(())
}

#[test]
fn one_that_hangs_is_not_waited_for() -> io::Result<()> {
    let folder = Folder::new()?;
    let socket = folder.0.join("http.sock");
    let _listening = UnixListener::bind(&socket)?;
    let payload = Arc::new(vec![b' '; 10_000_000]); // more than a socket takes on its own
    assert_eq!(ask(&socket, &QUESTION, &payload, Duration::from_millis(50)), Answer::Silence);
    assert!(listens(&socket, LONG));
    Ok(())
}

#[test]
fn a_card_leads_to_the_socket_and_a_dead_one_to_nobody() -> io::Result<()> {
    let folder = Folder::new()?;
    assert_eq!(socket_of(&folder.0), None);
    folder.write("run/serve.json", r#"{"protocol": 1, "pid": 7, "folder": "/tmp/a \"b\"", "restarts": 0}"#)?;
    assert_eq!(socket_of(&folder.0), Some(PathBuf::from("/tmp/a \"b\"/http.sock")));
    let dead = folder.0.join("http.sock");
    assert_eq!(ask(&dead, &QUESTION, &Arc::default(), LONG), Answer::Nobody);
    assert!(!listens(&dead, LONG));
    drop(UnixListener::bind(&dead)?);
    assert_eq!(ask(&dead, &QUESTION, &Arc::default(), LONG), Answer::Nobody);
    assert!(!listens(&dead, LONG));
    Ok(())
}

/// A program in a folder, as the words that run it.
fn program(folder: &Folder, script: &str) -> io::Result<Vec<std::ffi::OsString>> {
    let path = folder.write("a program", format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(vec!["/bin/sh".into(), path.into(), "it's one word".into()])
}

#[test]
fn the_slow_answer_gets_the_payload_and_says_what_it_likes() -> io::Result<()> {
    let folder = Folder::new()?;
    let words = program(&folder, r#"cat; printf '|%s' "$@""#)?;
    let options: [(&str, &[u8]); 2] = [("--cwd", b"/a b"), ("--mind", b"m")];
    let payload = Arc::new(vec![b'p'; 300_000]);
    let expected = [payload.as_slice(), b"|it's one word|--cwd|/a b|--mind|m"].concat();
    assert!(programs::answer(&words, &options, &payload, LONG)? == Some(expected));
    Ok(())
}

#[test]
fn a_slow_answer_that_fails_or_takes_too_long_is_none() -> io::Result<()> {
    let folder = Folder::new()?;
    assert_eq!(programs::answer(&[], &[], &Arc::default(), LONG)?, None);
    assert_eq!(programs::answer(&program(&folder, "echo half; exit 1")?, &[], &Arc::default(), LONG)?, None);
    let alive = folder.0.join("alive");
    let words = program(&folder, &format!("mkfifo '{0}'; echo half; cat '{0}'", alive.display()))?;
    assert_eq!(programs::answer(&words, &[], &Arc::default(), Duration::from_millis(300))?, None);
    assert!(programs::answer(&["/no/such/program".into()], &[], &Arc::default(), LONG).is_err());
    Ok(())
}

/// Wait until a file says something, or a minute is over.
fn said(path: &Path) -> io::Result<String> {
    for _ in 0..6000 {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return Ok(text),
            _ => thread::sleep(Duration::from_millis(10)),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

#[test]
fn a_process_is_started_in_a_session_of_its_own_and_once_a_minute() -> io::Result<()> {
    let folder = Folder::new()?;
    let out = folder.0.join("out");
    let script =
        format!("echo \"$(ps -o sid= -p $$ || echo 0) $$ $(pwd) $1\" > '{0}.new'; mv '{0}.new' '{0}'", out.display());
    let words = program(&folder, &script)?;
    let now = SystemTime::now();
    assert!(programs::start(&folder.0, &words, now)?);
    let line = said(&out)?;
    let parts: Vec<_> = line.split_whitespace().collect();
    assert_eq!(parts[2..], ["/", "it's", "one", "word"]);
    assert!(parts[0] == parts[1] || parts[0] == "0", "it leads its session: {line}");
    fs::remove_file(&out)?;
    assert!(!programs::start(&folder.0, &words, now + Duration::from_secs(59))?);
    assert!(programs::start(&folder.0, &words, now + Duration::from_secs(61))?);
    said(&out)?;
    Ok(())
}

#[test]
fn a_stamp_from_the_future_holds_nobody_up() -> io::Result<()> {
    let folder = Folder::new()?;
    let now = SystemTime::now();
    assert!(programs::start(&folder.0, &["/bin/true".into()], now + LONG * 60 * 24)?);
    assert!(programs::start(&folder.0, &["/bin/true".into()], now)?);
    assert!(!programs::start(&folder.0, &["/bin/true".into()], now)?);
    Ok(())
}

#[test]
fn nothing_is_started_where_nothing_is_named_or_nothing_can_be_noted() -> io::Result<()> {
    let folder = Folder::new()?;
    assert!(!programs::start(&folder.0, &[], SystemTime::now())?);
    folder.write("run", "")?;
    assert!(programs::start(&folder.0, &["/bin/true".into()], SystemTime::now()).is_err());
    Ok(())
}
