//! What the answers of all hosts are made of. An answer is one line of JSON without nulls, or nothing at all.

use memchr::memchr2;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use toolgate_model::{Answer, Call, Json, Reply, Terms};

/// An object of an answer. A member that is not set is not written: a `null` makes some clients drop the whole answer and
/// run the call.
macro_rules! answer_object {
    ($(#[$of_object:meta])* $vis:vis struct $name:ident<'a> { $($(#[$of_member:meta])* $member:ident: $type:ty,)* }) => {
        #[derive(Default, serde::Serialize)]
        $(#[$of_object])*
        $vis struct $name<'a> {
            $($(#[$of_member])* #[serde(skip_serializing_if = "Option::is_none")] $vis $member: Option<$type>,)*
        }
    };
}
pub(crate) use answer_object;

const LINE_BREAKS: [u8; 2] = *b"\n\r";

/// One line of JSON, and what the client makes of it. Our own types hold no map with a key that is no string: the only
/// way that writing them could fail. Should it fail all the same, exit 2 blocks.
pub(crate) fn print(answer: Answer, body: &impl Serialize) -> Reply {
    match serde_json::to_string(body) {
        // What came in many lines is taken over as it came; no text in JSON has a line break of its own. Bytes are looked at, as an
        // output of megabytes may be among it.
        Ok(json) if memchr2(LINE_BREAKS[0], LINE_BREAKS[1], json.as_bytes()).is_some() => {
            Reply::json(answer, json.replace(LINE_BREAKS.map(char::from), " "))
        }
        Ok(json) => Reply::json(answer, json),
        Err(_) => Reply::blocking("toolgate could not write its answer"),
    }
}

/// A denial in every form that some version of a host obeys: its own JSON, exit 2, and the reason on stderr.
pub(crate) fn print_denial(body: &impl Serialize, message: &str) -> Reply {
    Reply { stdout: print(Answer::Deny, body).stdout, ..Reply::blocking(message) }
}

/// What a client makes of no objection, by what comes with it.
pub(crate) fn no_objection(rewritten: bool, granted: bool, tells: bool) -> Answer {
    match (rewritten, granted) {
        (true, _) => Answer::Rewrite,
        (false, true) => Answer::Grant,
        (false, false) => tell_or_silence(tells),
    }
}

/// What a client makes of an answer that changes nothing.
pub(crate) fn tell_or_silence(tells: bool) -> Answer {
    if tells { Answer::Tell } else { Answer::Silence }
}

/// Both texts, each in lines of its own; `None` where there is neither.
pub(crate) fn joined(first: Option<&str>, second: Option<&str>) -> Option<String> {
    let texts: Vec<&str> = first.into_iter().chain(second).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The whole input with the changes in it; `None` where there are none.
pub(crate) fn rewritten<'a>(call: &Call<'a>, terms: &Terms) -> Option<Json<'a>> {
    let changed = |input: Json<'a>, (param, text): &(String, String)| input.with_text(param, text.clone());
    (!terms.rewrites.is_empty()).then(|| terms.rewrites.iter().fold(call.input.clone(), changed))
}

/// The redacted output as a member of an answer; `None` where the output stays as it is.
pub(crate) fn redacted(terms: &Terms) -> Option<&RawValue> {
    // INVARIANT: a redacted output is JSON.
    terms.output.as_ref().and_then(|redacted| serde_json::from_str(&redacted.output).ok())
}

/// JSON that we have made ourselves, written into an answer as it is. A [`RawValue`] would be read through once more, which is a tenth of the
/// time of a large output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnJson<'a>(&'a str);

impl Serialize for OwnJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // As a `RawValue` says it to serde_json. Another serializer would show an object with this member.
        const RAW: &str = "$serde_json::private::RawValue";
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, self.0)?;
        raw.end()
    }
}

/// The redacted output for an answer that takes it whole; `None` where the output stays as it is.
pub(crate) fn redacted_whole(terms: &Terms) -> Option<OwnJson<'_>> {
    // INVARIANT: a redacted output is JSON.
    terms.output.as_ref().map(|redacted| OwnJson(&redacted.output))
}

/// What to say where a host cannot change a call, and so has to refuse it.
pub(crate) fn rewrite_hint(terms: &Terms) -> Option<String> {
    let (param, text) = terms.rewrites.first()?;
    Some(format!("this host cannot change a call; give `{param}` as `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_json_is_written_as_it_is() {
        let json = "{\"a\": [1.50, \"\\u00e9\\n\"], \"a\":2}";
        assert_eq!(serde_json::to_string(&OwnJson(json)).unwrap(), json);
        let members = std::collections::BTreeMap::from([("x", OwnJson(json))]);
        assert_eq!(serde_json::to_string(&members).unwrap(), format!("{{\"x\":{json}}}"));
    }
}
