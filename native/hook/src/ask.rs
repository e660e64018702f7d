//! Asking the home's process what to say: one request of HTTP/1.1 over its Unix socket, and one answer.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::json;

/// So long an answer is waited for, from the connection to its last byte.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// An assistant in the midst of its work waits no longer than this: what failed is told often.
const PATIENCE_AT_WORK: Duration = Duration::from_millis(100);
/// A user who typed a prompt waits no longer than this for what replaced something: most prompts have none.
const PATIENCE_FOR_UPDATES: Duration = Duration::from_millis(30);
/// So long it is looked whether anybody is there.
pub const GLANCE: Duration = Duration::from_millis(100);
const ANSWER_BYTES: u64 = 16 << 20;
const HEADERS_BYTES: u64 = 64 << 10;
const OK: u16 = 200;
/// It knows no hooks, it is of another version, or it is leaving.
const NOT_HERE: [u16; 3] = [404, 426, 503];
/// What connecting to nobody gives, and what is left of a process that was killed meanwhile.
const GONE: [ErrorKind; 5] = [
    ErrorKind::NotFound,
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionReset,
    ErrorKind::BrokenPipe,
    ErrorKind::UnexpectedEof,
];

/// What came of asking.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// These bytes are for the standard output.
    Said(Vec<u8>),
    /// There is a process, and it has nothing to say, or not in time.
    Silence,
    /// There is none, or none that takes part.
    Nobody,
}

/// Who asks, and where: the headers of the request.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The mind.
    pub mind: &'a str,
    /// The host.
    pub assistant: &'a [u8],
    /// The event.
    pub event: &'a [u8],
    /// The working folder.
    pub cwd: &'a [u8],
    /// Whether nothing of the session is kept, because its shell says so.
    pub unkept: bool,
    /// Whether only what replaced something that the session was told is asked for.
    pub updates: bool,
}

impl Question<'_> {
    fn request(&self, body_bytes: usize) -> String {
        let [assistant, event, cwd] = [self.assistant, self.event, self.cwd].map(percent_encoded);
        let off = if self.unkept { "Mnemic-Off: capture\r\n" } else { "" };
        let updates = if self.updates { "Mnemic-Updates: 1\r\n" } else { "" };
        format!(
            "POST /api/hook HTTP/1.1\r\nHost: mnemic\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {body_bytes}\r\nMnemic-Mind: {mind}\r\nMnemic-Create: 0\r\n\
             Mnemic-Assistant: {assistant}\r\nMnemic-Event: {event}\r\nMnemic-Cwd: {cwd}\r\n{off}{updates}\r\n",
            mind = self.mind,
        )
    }
}

/// The socket that the server info of a home names (`run/serve.json`); none where there is none.
pub fn socket_of(home: &Path) -> Option<PathBuf> {
    let info = fs::read(home.join("run/serve.json")).ok()?;
    let (_, folder) = json::members(&info).find(|(key, _)| key == b"folder")?;
    Some(PathBuf::from(std::ffi::OsString::from_vec(json::string(folder)?)).join("http.sock"))
}

/// Whether somebody takes connections there; who does not say so in time is busy, and there.
pub fn listens(socket: &Path, patience: Duration) -> bool {
    let socket = socket.to_owned();
    let connect = move || UnixStream::connect(&socket).map(|_| ());
    !matches!(in_time(connect, patience), Some(Err(error)) if GONE.contains(&error.kind()))
}

/// How long an answer to an event is waited for.
///
/// `updates`: only what replaced something is asked for.
pub fn patience(event: &[u8], updates: bool) -> Duration {
    match event {
        _ if updates => PATIENCE_FOR_UPDATES,
        b"tool-failed" => PATIENCE_AT_WORK,
        _ => PATIENCE,
    }
}

/// Send a payload to the process, and wait for what it says for at most `patience`.
pub fn ask(socket: &Path, question: &Question<'_>, payload: &Arc<Vec<u8>>, patience: Duration) -> Answer {
    let (socket, payload, request) = (socket.to_owned(), Arc::clone(payload), question.request(payload.len()));
    match in_time(move || exchange(&socket, &request, &payload), patience) {
        Some(Ok((OK, body))) => Answer::Said(body),
        Some(Ok((status, _))) if NOT_HERE.contains(&status) => Answer::Nobody,
        Some(Err(error)) if GONE.contains(&error.kind()) => Answer::Nobody,
        Some(_) | None => Answer::Silence, // what it says is no answer, or it takes too long
    }
}

/// What comes of something that may have no end, if it comes in time; it ends with this process.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static, patience: Duration) -> Option<T> {
    let (tell, told) = channel();
    // A thread, since a connection to a process that hangs has no limit of its own.
    thread::Builder::new().spawn(move || tell.send(work())).ok()?;
    told.recv_timeout(patience).ok()
}

/// Status and body of the answer.
fn exchange(socket: &Path, request: &str, payload: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(request.as_bytes())?;
    // Whoever answers without having read it all has an answer nevertheless.
    let sent = stream.write_all(payload);
    read_answer(&mut BufReader::new(stream)).map_err(|error| sent.err().unwrap_or(error))
}

fn read_answer(stream: &mut impl BufRead) -> io::Result<(u16, Vec<u8>)> {
    let mut headers = stream.take(HEADERS_BYTES);
    let first = line(&mut headers)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok()).ok_or_else(broken)?;
    let mut length = None;
    loop {
        let header = line(&mut headers)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(broken)?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = Some(value.trim().parse::<u64>().map_err(|_| broken())?),
            "transfer-encoding" => return Err(broken()),
            _ => {}
        }
    }
    let length = length.filter(|length| *length <= ANSWER_BYTES).ok_or_else(broken)?;
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body)?;
    if body.len() as u64 == length {
        Ok((status, body))
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

fn line(headers: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    if headers.read_until(b'\n', &mut bytes)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let text = bytes.strip_suffix(b"\n").ok_or_else(broken)?;
    Ok(String::from_utf8_lossy(text.strip_suffix(b"\r").unwrap_or(text)).into_owned())
}

fn broken() -> io::Error {
    ErrorKind::InvalidData.into()
}

/// Bytes as a header takes them: all but the plainest as `%XX`.
fn percent_encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(*byte)),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_has_a_header_for_everything_that_is_known() {
        let cwd = b"/a b/\xff\r\n%";
        let question =
            Question { mind: "work", assistant: b"claude-code", event: b"prompt", cwd, unkept: false, updates: false };
        let request = question.request(12);
        assert_eq!(request.matches("Mnemic-Off").count() + request.matches("Mnemic-Updates").count(), 0);
        let updates = Question { updates: true, ..question }.request(12);
        assert!(updates.ends_with("\r\nMnemic-Updates: 1\r\n\r\n"));
        let unkept = Question { unkept: true, ..question }.request(12);
        assert!(unkept.ends_with("\r\nMnemic-Off: capture\r\n\r\n"));
        assert!(request.starts_with("POST /api/hook HTTP/1.1\r\nHost: "));
        assert!(request.ends_with("\r\n\r\n"));
        for header in ["Content-Length: 12", "Mnemic-Mind: work", "Mnemic-Cwd: /a%20b/%FF%0D%0A%25", "Mnemic-Create: 0"]
        {
            assert_eq!(request.lines().filter(|line| *line == header).count(), 1, "{header}");
        }
    }

    #[test]
    fn an_answer_is_its_status_and_as_many_bytes_as_it_says() {
        let read = |text: &[u8]| read_answer(&mut &*text).ok();
        let whole = b"HTTP/1.1 200 OK\r\ndate: x\r\nContent-Length: 3\r\n\r\na\0bMORE";
        assert_eq!(read(whole), Some((200, b"a\0b".to_vec())));
        assert_eq!(read(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"), Some((503, vec![])));
        let broken: [&[u8]; 6] = [
            b"",
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
            b"SSH-2.0\r\n",
        ];
        for text in broken {
            assert_eq!(read(text), None);
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_to_its_end(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            read_answer(&mut text.as_slice()).ok();
            read_answer(&mut [b"HTTP/1.1 200 OK\r\n".as_slice(), &text].concat().as_slice()).ok();
        }
    }
}
