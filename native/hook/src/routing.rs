//! Where an event belongs: the session and the folder that the host's own JSON names. Nothing else of it is looked at.

use crate::json;

/// What a host says of where its event happened; bytes, since neither need be UTF-8.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Routing {
    /// The conversation: `session_id`, else `conversation_id`, else nothing.
    pub session: Vec<u8>,
    /// The folder it works in: `cwd`, else the first of `workspace_roots`.
    pub cwd: Option<Vec<u8>>,
}

impl Routing {
    /// Read what a payload says. One that is no JSON, or has none of the fields, says nothing, and that is no error.
    ///
    /// Of fields that come twice the first counts, and what is no string, or an empty one, is as good as absent. The
    /// reading stops where all is known, so that what follows, a tool's result perhaps, costs nothing.
    pub fn of(payload: &[u8]) -> Self {
        let (mut session, mut conversation, mut cwd, mut root) = (None, None, None, None);
        for (key, value) in json::members(payload) {
            let (place, value) = match key.as_slice() {
                b"session_id" => (&mut session, Some(value)),
                b"conversation_id" => (&mut conversation, Some(value)),
                b"cwd" => (&mut cwd, Some(value)),
                b"workspace_roots" => (&mut root, json::elements(value).next()),
                _ => continue,
            };
            if place.is_none() {
                *place = value.and_then(json::string).filter(|text| !text.is_empty());
            }
            if session.is_some() && cwd.is_some() {
                break;
            }
        }
        Self { session: session.or(conversation).unwrap_or_default(), cwd: cwd.or(root) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn routing(session: &str, cwd: Option<&str>) -> Routing {
        Routing { session: session.into(), cwd: cwd.map(Into::into) }
    }

    #[test]
    fn the_session_and_the_folder_are_what_the_host_calls_so() {
        let claude = br#"{"session_id":"s-1","transcript_path":"/t","cwd":"/p","tool_input":{"cwd":"/no"}}"#;
        assert_eq!(Routing::of(claude), routing("s-1", Some("/p")));
        let cursor = br#"{"conversation_id":"c","generation_id":"g","workspace_roots":["/first","/second"]}"#;
        assert_eq!(Routing::of(cursor), routing("c", Some("/first")));
    }

    #[test]
    fn the_first_choice_counts_wherever_it_stands() {
        let text = br#"{"conversation_id":"c","workspace_roots":["/r"],"session_id":"s","cwd":"/p","session_id":"t"}"#;
        assert_eq!(Routing::of(text), routing("s", Some("/p")));
    }

    #[test]
    fn what_is_no_string_or_an_empty_one_is_as_good_as_absent() {
        let text = br#"{"session_id":7,"conversation_id":"c","cwd":"","workspace_roots":[]}"#;
        assert_eq!(Routing::of(text), routing("c", None));
        assert_eq!(Routing::of(br#"{"workspace_roots":[{"path":"/p"},"/q"],"session_id":null}"#), routing("", None));
    }

    proptest! {
        #[test]
        fn any_bytes_route_somewhere(payload in proptest::collection::vec(any::<u8>(), 0..300)) {
            Routing::of(&payload);
        }

        #[test]
        fn any_bytes_after_the_fields_change_nothing(rest in proptest::collection::vec(any::<u8>(), 0..300)) {
            let payload = [br#"{"session_id":"s","cwd":"/p",""#.as_slice(), &rest].concat();
            prop_assert_eq!(Routing::of(&payload), routing("s", Some("/p")));
        }

        #[test]
        fn any_text_before_the_fields_changes_nothing(text in any::<String>(), depth in 0..50_usize) {
            let mut payload = b"{\"tool_response\":".to_vec();
            payload.extend(std::iter::repeat_n(b"[{\"session_id\":", depth).flatten());
            json::write_string(&text, &mut payload);
            payload.extend(std::iter::repeat_n(b"}]", depth).flatten());
            payload.extend_from_slice(br#","session_id":"s"}"#);
            prop_assert_eq!(Routing::of(&payload), routing("s", None));
        }
    }
}
