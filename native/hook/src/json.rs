//! As much of JSON as a hook needs: the members of an object, the elements of a list, and the text of a string.
//!
//! Nothing is refused and nothing recurses: what is no JSON has no members, what breaks off has those before the break,
//! and bytes that are no UTF-8 pass as they are. Above stand `routing`, `mind` and `programs`.

use memchr::memchr2;

/// The members of the object that a text begins with, each as its key and its value, undecoded, in order.
pub fn members(text: &[u8]) -> Members<'_> {
    Members { text: inside(text, b'{') }
}

/// The elements of the list that a text begins with, undecoded, in order.
pub fn elements(text: &[u8]) -> Elements<'_> {
    Elements { text: inside(text, b'[') }
}

/// The bytes that a string stands for, or `None` where a value is no whole string.
///
/// UTF-8 where the string is sound. A surrogate without its other half becomes the three bytes that UTF-8 would have for
/// it, or, from U+DC80 to U+DCFF, the one byte for which Python writes it. An escape that JSON does not know stays.
pub fn string(value: &[u8]) -> Option<Vec<u8>> {
    let (content, _) = quoted(value)?;
    let mut bytes = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        bytes.extend_from_slice(&rest[..at]);
        rest = unescape(&rest[at..], &mut bytes);
    }
    bytes.extend_from_slice(rest);
    Some(bytes)
}

/// Append a text as a JSON string, quotes included.
pub fn write_string(text: &str, json: &mut Vec<u8>) {
    json.push(b'"');
    for character in text.chars() {
        match character {
            '"' => json.extend_from_slice(b"\\\""),
            '\\' => json.extend_from_slice(b"\\\\"),
            control if control < ' ' => json.extend_from_slice(format!("\\u{:04x}", control as u32).as_bytes()),
            other => json.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    json.push(b'"');
}

/// Members of an object; see [`members`].
pub struct Members<'a> {
    text: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = (Vec<u8>, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let start = trimmed(self.text, b",");
        let (_, after) = quoted(start)?;
        let key = string(start)?;
        let (value, rest) = value(trimmed(trimmed(after, b"").strip_prefix(b":")?, b""))?;
        self.text = rest;
        Some((key, value))
    }
}

/// Elements of a list; see [`elements`].
pub struct Elements<'a> {
    text: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let (value, rest) = value(trimmed(self.text, b","))?;
        self.text = rest;
        Some(value)
    }
}

/// What follows the bracket that a text begins with; nothing where it begins with something else.
fn inside(text: &[u8], bracket: u8) -> &[u8] {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    trimmed(text, b"").strip_prefix(&[bracket]).unwrap_or(b"")
}

/// The text after its leading white space, and after what else may be skipped.
fn trimmed<'a>(text: &'a [u8], also: &[u8]) -> &'a [u8] {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace() && !also.contains(byte));
    &text[start.unwrap_or(text.len())..]
}

/// The content of the string that a text begins with, and what follows it.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let content = text.strip_prefix(b"\"")?;
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', &content[from..])?;
        if content[at] == b'"' {
            return Some((&content[..at], &content[at + 1..]));
        }
        from = at + 2; // whatever is escaped, it ends no string
        if from > content.len() {
            return None;
        }
    }
}

/// The value that a text begins with, and what follows it; `None` where it does not end, or is none.
fn value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut depth = 0_usize;
    let mut rest = text;
    loop {
        match rest.first()? {
            b'"' => rest = quoted(rest)?.1,
            b'{' | b'[' => {
                depth += 1;
                rest = &rest[1..];
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                rest = &rest[1..];
            }
            b',' | b':' if depth == 0 => return None,
            b',' | b':' => rest = &rest[1..],
            _ => {
                let end = rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']' | b',' | b':'));
                let end = end.unwrap_or(rest.len());
                if depth == 0 {
                    return Some((rest[..end].trim_ascii_end(), &rest[end..]));
                }
                rest = &rest[end..];
            }
        }
        if depth == 0 {
            return Some(text.split_at(text.len() - rest.len()));
        }
    }
}

/// Append what the escape stands for that a text begins with; returns what follows it.
fn unescape<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> &'a [u8] {
    let plain = match text.get(1) {
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(other @ (b'"' | b'\\' | b'/')) => *other,
        Some(b'u') => return unescape_unit(text, bytes),
        _ => {
            bytes.push(b'\\');
            return &text[1..];
        }
    };
    bytes.push(plain);
    &text[2..]
}

/// The same for `\uXXXX`, with the other half of a pair where it follows.
fn unescape_unit<'a>(text: &'a [u8], bytes: &mut Vec<u8>) -> &'a [u8] {
    let Some(first) = unit(text) else {
        bytes.push(b'\\');
        return &text[1..];
    };
    let rest = &text[6..];
    if let Some(second @ 0xdc00..=0xdfff) = unit(rest).filter(|_| (0xd800..=0xdbff).contains(&first)) {
        push_scalar(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), bytes);
        return &rest[6..];
    }
    match first {
        0xdc80..=0xdcff => bytes.push((first - 0xdc00) as u8),
        0xd800..=0xdfff => {
            bytes.extend_from_slice(&[0xed, 0x80 | (first >> 6 & 0x3f) as u8, 0x80 | (first & 0x3f) as u8])
        }
        _ => push_scalar(first, bytes),
    }
    rest
}

fn push_scalar(scalar: u32, bytes: &mut Vec<u8>) {
    let character = char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER);
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The code unit of the escape `\uXXXX` that a text begins with.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8]) -> Vec<(String, String)> {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        members(text).map(|(key, value)| (shown(&key), shown(value))).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn members_are_those_of_the_outermost_object_alone() {
        let text = br#" {"a" : "x" , "b":{"a":[1,{"a":2}]},"c":[ "d", {} ], "e":-1.5e3 ,"f":null}  trailing"#;
        let expected =
            [("a", "\"x\""), ("b", r#"{"a":[1,{"a":2}]}"#), ("c", r#"[ "d", {} ]"#), ("e", "-1.5e3"), ("f", "null")];
        assert_eq!(read(text), pairs(&expected));
    }

    #[test]
    fn what_breaks_off_has_the_members_before_the_break() {
        assert_eq!(read(br#"{"a":"x","b":"unfinish"#), pairs(&[("a", "\"x\"")]));
        assert_eq!(read(br#"{"a":"x","b":[1,2"#), pairs(&[("a", "\"x\"")]));
        assert_eq!(read(br#"{"a":"x","b"#), pairs(&[("a", "\"x\"")]));
        assert_eq!(read(br#"{"a":"x" oh no "b":1}"#), pairs(&[("a", "\"x\"")]));
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in [&b""[..], b"  ", b"[]", b"\"a\"", b"3", b"}", b"\0\0", b"\xff\xfe{", b"{", b"{}", b"{]", b"{,,"] {
            assert_eq!(read(text), [], "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_nul_and_bytes_that_are_no_utf8_change_nothing() {
        let text = b"\xef\xbb\xbf{\"n\":\"\xff\0\xc3\",\"s\":\"t\"}";
        let found: Vec<_> = members(text).map(|(_, value)| string(value)).collect();
        assert_eq!(found, [Some(b"\xff\0\xc3".to_vec()), Some(b"t".to_vec())]);
    }

    #[test]
    fn a_string_stands_for_the_bytes_that_its_escapes_name() {
        let cases: [(&[u8], &[u8]); 11] = [
            (br#""""#, b""),
            (br#""a\"\\\/\b\f\n\r\t""#, b"a\"\\/\x08\x0c\n\r\t"),
            (br#""\u00e9\u0000""#, "é\0".as_bytes()),
            (br#""\ud83d\ude80!""#, "🚀!".as_bytes()),
            (br#""\ud83d""#, b"\xed\xa0\xbd"),
            (br#""\ud83d\ud83d\ude80""#, b"\xed\xa0\xbd\xf0\x9f\x9a\x80"),
            (br#""\ude80""#, b"\xed\xba\x80"),
            (br#""\udcff\udc80""#, b"\xff\x80"),
            (br#""\x\u12\uzzzz""#, br"\x\u12\uzzzz"),
            (br#""\ud83d\u00e9""#, b"\xed\xa0\xbd\xc3\xa9"),
            (b"\"\\\xff\"", b"\\\xff"),
        ];
        for (text, bytes) in cases {
            assert_eq!(string(text).as_deref(), Some(bytes), "{}", String::from_utf8_lossy(text));
        }
        for no_string in [&b"3"[..], b"", b"\"", b"\"abc", b"\"abc\\\"", b"[\"a\"]"] {
            assert_eq!(string(no_string), None);
        }
    }

    #[test]
    fn nesting_of_any_depth_costs_no_stack() {
        let mut deep = br#"{"deep":"#.to_vec();
        deep.extend(std::iter::repeat_n(b'[', 5_000_000));
        deep.extend(std::iter::repeat_n(b']', 5_000_000));
        deep.extend_from_slice(br#","session_id":"s"}"#);
        assert_eq!(members(&deep).last().map(|(key, _)| key), Some(b"session_id".to_vec()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            for (_, value) in members(&text) {
                string(value);
                prop_assert!(elements(value).count() <= value.len());
            }
        }

        #[test]
        fn what_looks_like_json_is_read_to_its_end(text in r#"[\[\]{}",:\\ua0 \n]{0,200}"#) {
            let opened = format!("{{\"k\":{text}");
            prop_assert!(members(opened.as_bytes()).count() <= opened.len());
            prop_assert!(elements(text.as_bytes()).count() <= text.len());
        }

        #[test]
        fn a_string_that_was_written_reads_back(text in any::<String>()) {
            let mut json = Vec::new();
            write_string(&text, &mut json);
            prop_assert!(json.iter().all(|byte| *byte >= b' '));
            prop_assert_eq!(string(&json), Some(text.into_bytes()));
        }
    }
}
