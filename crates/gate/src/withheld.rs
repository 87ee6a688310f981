//! Outputs that cannot be gone through: the rest of one that is too long, and all of one where something fails.
//!
//! Against whom: a tool that prints more than the gate has memory or time for. A client shows what a tool gave back unless it is given
//! something else in the same shape, so a refusal is not enough after a call.
//!
//! A long event is shortened [as it comes](Shortener): of its long texts the beginning stays. What comes behind a secret does not make it one
//! less, so the beginning can be gone through by itself; only its last bytes cannot, and they are [left out](without_margins) afterwards.
//!
//! Where nothing can be gone through, [`reply`] makes a small event of the same shape out of the one that came, with a sentence in the place of
//! every text, and answers that. It needs next to no memory, so it also works where there is none left.

use std::borrow::Cow;

use memchr::{memmem, memrchr_iter};
use toolgate_model::{Call, Host, Phase, RedactedOutput, Reply, Terms};
use toolgate_secrets::quote_or_escape;

use crate::failure::Failure;

/// So much of an event is gone through. No model reads as much, and no client shows it.
pub(crate) const LONGEST: usize = 8 * 1024 * 1024;
/// Texts that begin behind that may be as long as this.
const LONGEST_BEHIND: usize = 128 * 1024;
/// So much may come behind that in all.
pub(crate) const MOST_BEHIND: usize = 1024 * 1024;
/// Before a place where a text was cut, so much is left out of what is shown: a secret may have been cut there.
const MARGIN: usize = 64 * 1024;
/// A place between two characters is looked for so far before; nearly always there is one at once. Else the text is read from its beginning.
const NEAR: usize = 4096;
/// No escape of JSON is longer: two halves of a character.
const LONGEST_ESCAPE: usize = 12;
/// What stands at the end of a text that was cut. A number in it would be another one when a shortened event is shortened again.
const REST: &str = "[toolgate withheld the rest: it goes through 8 MiB of an event; send it to a file and read parts of that]";

/// An event as it comes, of which long texts are cut.
#[derive(Debug, Default)]
pub(crate) struct Shortener {
    /// Where the text that is open begins in what is kept.
    text: Option<usize>,
    /// The rest of that text is left out.
    cuts: bool,
    /// The last byte was a backslash, and the next one belongs to it.
    escaped: bool,
    /// There is too much that is no long text.
    is_over: bool,
}

impl Shortener {
    /// Behind the part of an event that has been kept so far.
    pub(crate) fn behind(kept: &[u8]) -> Shortener {
        let mut shortener = Shortener::default();
        if let Some(from) = open_text(kept) {
            (shortener.text, shortener.escaped) =
                (Some(from), !backslashes_before(kept, kept.len()).is_multiple_of(2));
            return shortener;
        }
        let mut at = 0;
        while let Some(rest) = kept.get(at..).filter(|rest| !rest.is_empty()) {
            let (length, quote) = shortener.until_quote(rest);
            at += length;
            if quote {
                shortener.text = if shortener.text.is_none() { Some(at) } else { None };
            }
        }
        shortener
    }

    /// Takes the next part of it.
    pub(crate) fn push(&mut self, mut part: &[u8], kept: &mut Vec<u8>) {
        while !part.is_empty() {
            let (length, quote) = self.until_quote(part);
            let (taken, rest) = part.split_at_checked(length).unwrap_or((part, &[]));
            part = rest;
            if !self.cuts {
                kept.extend_from_slice(taken);
            }
            match self.text {
                Some(from) => {
                    let longest = if from < LONGEST { LONGEST.saturating_sub(from) } else { LONGEST_BEHIND };
                    if !self.cuts && kept.len().saturating_sub(from) > longest.max(LONGEST_BEHIND) {
                        kept.truncate(boundary(kept, from, from + longest.max(LONGEST_BEHIND)));
                        kept.extend_from_slice(b"\\n");
                        kept.extend_from_slice(REST.as_bytes());
                        self.cuts = true;
                        if quote {
                            kept.push(b'"');
                        }
                    } else if self.cuts && quote {
                        kept.push(b'"');
                    }
                    if quote {
                        (self.text, self.cuts) = (None, false);
                    }
                }
                None if quote => self.text = Some(kept.len()),
                None => {}
            }
            if kept.len() > LONGEST + MOST_BEHIND {
                // What is kept is enough to tell its shape.
                kept.truncate(LONGEST + MOST_BEHIND);
                (self.is_over, self.cuts) = (true, true);
                return;
            }
        }
    }

    /// Whether there was too much, so that what is kept is no whole event.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// How far the next quote is that opens or closes a text, itself included, and whether there is one.
    fn until_quote(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        if self.escaped && !bytes.is_empty() {
            (self.escaped, at) = (false, 1);
        }
        while let Some(found) = bytes.get(at..).and_then(quote_or_escape) {
            at += found + 1;
            if bytes.get(at - 1) == Some(&b'"') {
                return (at, true);
            }
            if at == bytes.len() {
                self.escaped = true;
            }
            at += 1;
        }
        (bytes.len(), false)
    }
}

/// The last place in `from..=to` of a JSON text, or near it, between two characters.
fn boundary(bytes: &[u8], from: usize, to: usize) -> usize {
    let to = to.min(bytes.len());
    let is_plain = |at: usize| {
        let before = bytes.get(at.saturating_sub(LONGEST_ESCAPE).max(from)..at).unwrap_or_default();
        !before.contains(&b'\\') && bytes.get(at).is_none_or(|byte| *byte & 0xc0 != 0x80)
    };
    if let Some(at) = (to.saturating_sub(NEAR).max(from)..=to).rev().find(|at| is_plain(*at)) {
        return at;
    }
    let (mut at, mut last) = (from, from);
    while at <= to {
        last = at;
        at += match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'\\'), Some(b'u')) if bytes.get(at + 6) == Some(&b'\\') => LONGEST_ESCAPE,
            (Some(b'\\'), Some(b'u')) => LONGEST_ESCAPE / 2,
            (Some(b'\\'), _) => 2,
            _ => 1,
        };
        at += bytes.get(at..).unwrap_or_default().iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
    }
    last
}

/// The event, its long texts cut where it is too long.
pub(crate) fn shortened(event: &[u8]) -> (Cow<'_, [u8]>, bool) {
    let Some((first, rest)) = event.split_at_checked(LONGEST).filter(|(_, rest)| !rest.is_empty()) else {
        return (Cow::Borrowed(event), false);
    };
    let mut kept = first.to_vec();
    let mut shortener = Shortener::behind(first);
    for part in rest.chunks(LONGEST_BEHIND) {
        shortener.push(part, &mut kept);
    }
    (Cow::Owned(kept), shortener.is_over())
}

/// Whether texts of this event may have been cut. Where a tool itself prints that they were, nothing is lost but what it printed before.
pub(crate) fn is_shortened(event: &[u8]) -> bool {
    // Nearly always it stands at the end.
    let end = event.get(event.len().saturating_sub(MARGIN)..).unwrap_or_default();
    event.len() > LONGEST - 2 * NEAR
        && [end, event].iter().any(|event| memmem::find(event, REST.as_bytes()).is_some())
}

/// A redacted output without what stands before the places where its texts were cut. It is JSON, and stays JSON.
pub(crate) fn without_margins(output: &str) -> String {
    let bytes = output.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(output.len());
    let mut kept = 0;
    for cut in memmem::find_iter(bytes, REST.as_bytes()) {
        // Only at the end of a text it is ours.
        if bytes.get(cut + REST.len()) != Some(&b'"') {
            continue;
        }
        let from = text_around(bytes, cut).max(kept);
        let to = boundary(bytes, from, cut.saturating_sub(MARGIN).max(from));
        out.extend_from_slice(bytes.get(kept..to).unwrap_or_default());
        out.extend_from_slice(b"\\n");
        kept = cut;
    }
    out.extend_from_slice(bytes.get(kept..).unwrap_or_default());
    // It is cut between characters; should it not be, nothing is shown.
    String::from_utf8(out).unwrap_or_else(|_| format!("\"{REST}\""))
}

/// Where the text begins that goes on at this place: behind the last quote before it that no backslash belongs to.
fn text_around(bytes: &[u8], at: usize) -> usize {
    memrchr_iter(b'"', bytes.get(..at).unwrap_or_default())
        .find(|quote| backslashes_before(bytes, *quote).is_multiple_of(2))
        .map_or(0, |quote| quote + 1)
}

fn backslashes_before(bytes: &[u8], at: usize) -> usize {
    bytes.get(..at).unwrap_or_default().iter().rev().take_while(|byte| **byte == b'\\').count()
}

/// Where the text begins in which these first bytes of JSON end, where that can be told from their end: behind a quote that closes a text
/// something else stands than what this one has behind it.
fn open_text(bytes: &[u8]) -> Option<usize> {
    let from = text_around(bytes, bytes.len());
    let closes = |byte: &u8| matches!(byte, b',' | b':' | b'}' | b']') || byte.is_ascii_whitespace();
    (from > 0 && bytes.get(from).is_some_and(|first| !closes(first))).then_some(from)
}

/// What answers an event after a call of which nothing can be gone through: everything in it is withheld, in its shape. `None` where it is no
/// such event, or cannot be told to be one. `event` need not be whole.
pub(crate) fn reply(host: &dyn Host, named: Option<&str>, event: &[u8], failure: &Failure) -> Option<Reply> {
    let small = small(event)?;
    let call = call(host, named, &small)?;
    Some(host.tell(&call, &terms(&call, failure)?))
}

/// An event of the same shape, without its long texts.
pub(crate) fn small(event: &[u8]) -> Option<Vec<u8>> {
    reshaped(event, &|text, _| {
        (text.len() <= LONGEST_KEPT && std::str::from_utf8(text).is_ok()).then_some(text)
    })
}

/// What is known of an event by its shape, if it comes after a call.
pub(crate) fn call<'a>(host: &dyn Host, named: Option<&'a str>, small: &'a [u8]) -> Option<Call<'a>> {
    host.decode(named, small).ok().filter(|call| call.phase == Phase::After && call.output.is_some())
}

/// Terms that withhold all that the tool gave back.
pub(crate) fn terms(call: &Call<'_>, failure: &Failure) -> Option<Terms> {
    let output = withheld(call.output.as_deref()?, &failure.of_output())?;
    Some(Terms { output: Some(RedactedOutput { output, count: 0, withheld: true }), ..Terms::default() })
}

/// Longer texts of an event say nothing about what it is.
const LONGEST_KEPT: usize = 512;
/// From here on, lists and objects end with the member that they are at.
const ENOUGH: usize = 8 * 1024;
/// Nothing that is larger is made: memory may be short.
const MOST: usize = 16 * 1024;
/// Deeper ones are left out.
const DEEPEST: usize = 48;
/// What stands in the place of a text that is not kept.
const LEFT_OUT: &[u8] = b"withheld";

/// The output with this sentence in the place of everything that it says.
fn withheld(output: &str, sentence: &str) -> Option<String> {
    /// Members of which clients know all values, and drop an output with another one.
    const WORDS: [&[u8]; 9] = [
        b"type",
        b"mode",
        b"kind",
        b"role",
        b"status",
        b"resultType",
        b"task_type",
        b"retrieval_status",
        b"media_type",
    ];
    const LONGEST_WORD: usize = 24;
    let sentence = serde_json::to_string(sentence).ok()?;
    let sentence = sentence.trim_matches('"').as_bytes();
    let is_word = |text: &[u8]| text.iter().all(|byte| byte.is_ascii_alphabetic() || b"_-/".contains(byte));
    let out = reshaped(output.as_bytes(), &|text, name| match name {
        // The name of a member.
        None => Some(if text.len() <= 2 * LONGEST_WORD && is_word(text) { text } else { LEFT_OUT }),
        Some(name) if WORDS.contains(&name) && text.len() <= LONGEST_WORD && is_word(text) => Some(text),
        Some(_) if text.is_empty() => Some(text),
        Some(_) => Some(sentence),
    })?;
    String::from_utf8(out).ok()
}

/// JSON of the same shape, as far as it goes: each text in it becomes what `text` says, which is asked with the name of the member where it is
/// the value of one or of its list, and `None` where it is such a name. Bytes behind the end of the JSON are left out; where it ends early, it
/// is completed.
fn reshaped<'e>(
    json: &'e [u8],
    text: &dyn Fn(&'e [u8], Option<&'e [u8]>) -> Option<&'e [u8]>,
) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(MOST);
    let mut open: Vec<u8> = Vec::with_capacity(DEEPEST);
    let mut name: &[u8] = b"";
    // So many levels are open that are left out.
    let mut skipped = 0_usize;
    // Whether what is left out is the rest of a level, and no deeper one.
    let mut skips_rest = false;
    let mut at = 0;
    while let Some(byte) = json.get(at).copied() {
        let skips = skipped > 0 || skips_rest;
        match byte {
            b'"' => {
                let mut reader = Shortener::default();
                let (length, whole) = reader.until_quote(json.get(at + 1..)?);
                let found = json.get(at + 1..at + 1 + length - usize::from(whole))?;
                at += 1 + length;
                if skips {
                    continue;
                }
                let is_name = open.last() == Some(&b'}') && matches!(out.last(), Some(b'{' | b','));
                let kept = text(found, (!is_name).then_some(name)).filter(|_| whole).unwrap_or(LEFT_OUT);
                if is_name {
                    name = found;
                }
                out.push(b'"');
                out.extend_from_slice(kept);
                out.push(b'"');
                if is_name {
                    // A name without a value gets one.
                    let rest = json.get(at..).unwrap_or_default().trim_ascii_start();
                    out.extend_from_slice(if rest.starts_with(b":") { b"" } else { b":null" });
                }
            }
            b'{' | b'[' => {
                at += 1;
                if skips || open.len() == DEEPEST {
                    if !skips {
                        out.extend_from_slice(b"null");
                    }
                    skipped += 1;
                } else {
                    out.push(byte);
                    open.push(byte + 2);
                }
            }
            b'}' | b']' => {
                at += 1;
                if skipped > 0 {
                    skipped -= 1;
                } else {
                    if open.pop() != Some(byte) {
                        return None;
                    }
                    out.push(byte);
                    (skips_rest, name) = (false, b"");
                    if open.is_empty() {
                        break;
                    }
                }
            }
            b',' => {
                at += 1;
                if !skips && open.len() > 1 && out.len() > ENOUGH {
                    skips_rest = true;
                } else if !skips {
                    out.push(byte);
                }
            }
            b':' => {
                at += 1;
                if !skips {
                    out.push(byte);
                }
            }
            _ => {
                let rest = json.get(at..).unwrap_or_default();
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                let length = rest.iter().take_while(is_part).count();
                let word = rest.get(..length).unwrap_or_default();
                if length == 0 && !byte.is_ascii_whitespace() {
                    return None;
                }
                at += length.max(1);
                if !skips && length > 0 {
                    // A number that is too long, or cut off, is none.
                    let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(word).is_ok();
                    out.extend_from_slice(if length <= 24 && is_whole { word } else { b"0" });
                }
            }
        }
        if out.len() > MOST {
            return None;
        }
    }
    match out.last() {
        Some(b',') => drop(out.pop()),
        Some(b':') => out.extend_from_slice(b"null"),
        _ => {}
    }
    out.extend(open.iter().rev());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolgate_hosts::host;

    /// An event of which one text is long, in parts of this size.
    fn shortened_by_parts(event: &[u8], size: usize) -> Vec<u8> {
        let (first, rest) = event.split_at(LONGEST.min(event.len()));
        let (mut kept, mut shortener) = (first.to_vec(), Shortener::behind(first));
        for part in rest.chunks(size) {
            shortener.push(part, &mut kept);
        }
        assert!(!shortener.is_over());
        kept
    }

    #[test]
    fn of_a_long_event_the_texts_are_cut_and_the_rest_stays() {
        for unit in ["word ", "\\n", "\\\"", "\\\\", "é", "\\u00e9", "\\ud83d\\ude00", "\u{1f600}"] {
            let long = unit.repeat(LONGEST * 3 / 2 / unit.len());
            for before in ["", "a", "ab", "abc"] {
                let event =
                    format!(r#"{{"a": 1,"out":{{"x":"{before}{long}","y":"","z":[1,true]}},"name":"Bash"}}"#);
                let kept = shortened_by_parts(event.as_bytes(), 60_001);
                assert!(kept.len() < LONGEST + 1024 && is_shortened(&kept), "{unit}");
                let value: serde_json::Value = serde_json::from_slice(&kept).unwrap();
                assert!(value["out"]["x"].as_str().unwrap().ends_with(REST), "{unit}");
                assert_eq!((&value["out"]["z"][1], &value["name"]), (&true.into(), &"Bash".into()));
                // Again, it stays as it is but for where the cut falls.
                let again = shortened(&kept).0;
                assert!(again.len().abs_diff(kept.len()) < 64 && is_shortened(&again), "{unit}");
                let output = serde_json::to_string(&value["out"]).unwrap();
                let output = without_margins(&output);
                let shown: serde_json::Value = serde_json::from_str(&output).unwrap();
                let shown = shown["x"].as_str().unwrap();
                assert!(shown.ends_with(REST) && output.len() <= LONGEST - MARGIN + 1024, "{unit}");
            }
        }
        let event = [b"{\"x\":\"", &vec![b'a'; 100][..], b"\"}"].concat();
        assert_eq!(shortened(&event).0, event);
        assert!(!is_shortened(&event));
        let many = format!("[{}1]", "\"abc\",".repeat(3 * 1024 * 1024));
        let (kept, is_over) = shortened(many.as_bytes());
        assert!(is_over && kept.len() <= LONGEST + MOST_BEHIND);
    }

    #[test]
    fn the_text_that_is_open_is_told_from_the_end_as_from_the_beginning() {
        let event = br#"{"a": ",:}] x", "b\\":["y\\\"z,", "\\\\", 1.5, true ],"c":"\u00e9\n"} "#;
        let by_bytes = |kept: &[u8]| {
            let (mut text, mut escaped) = (None, false);
            for (at, byte) in kept.iter().enumerate() {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => text = if text.is_none() { Some(at + 1) } else { None },
                    _ => {}
                }
            }
            (text, escaped)
        };
        for end in 0..=event.len() {
            let shortener = Shortener::behind(&event[..end]);
            assert_eq!((shortener.text, shortener.escaped), by_bytes(&event[..end]), "{end}");
        }
    }

    #[test]
    fn texts_behind_a_long_one_stay_as_far_as_they_are_short() {
        let long = "x ".repeat(LONGEST);
        let event = format!(r#"{{"a":"{long}","b":"{}","c":"{}"}}"#, "y ".repeat(500), &long);
        let value: serde_json::Value = serde_json::from_slice(&shortened(event.as_bytes()).0).unwrap();
        assert_eq!(value["b"].as_str().unwrap().len(), 1000);
        assert!(value["c"].as_str().unwrap().len() < LONGEST_BEHIND + 1024);
    }

    #[test]
    fn everything_is_withheld_in_the_shape_in_which_it_came() {
        let said = "\"stdout\":\"hunter2\\n\",\"stderr\":\"\",\"interrupted\":false";
        let event = |rest: &str| {
            format!(
                r#"{{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{{}},"tool_response":{{{said}{rest}"#
            )
        };
        let claude = host("claude-code").unwrap();
        let many =
            format!(",\"list\":[{}1]}}}}", "{\"type\":\"text\",\"hunter2\":[\"hunter2\",1.5]},".repeat(9000));
        let deep = format!(",\"deep\":{}1{}}}}}", "[".repeat(100_000), "]".repeat(100_000));
        for rest in
            ["}}", "}", "", ",\"x", ",\"x\"", ",\"x\":", ",\"x\":[tr", ",\"x\":\"hunter2", ",", &many, &deep]
        {
            let event = event(rest);
            let reply = reply(claude, None, event.as_bytes(), &Failure::Memory).unwrap();
            let answer: serde_json::Value = serde_json::from_str(&reply.stdout).unwrap();
            let output = &answer["hookSpecificOutput"]["updatedToolOutput"];
            assert!(output["stdout"].as_str().unwrap().contains("toolgate withheld this output"), "{answer}");
            assert_eq!((&output["stderr"], &output["interrupted"]), (&"".into(), &false.into()));
            assert!(!reply.stdout.contains("hunter2") && reply.stdout.len() < 3 * MOST, "{}", reply.stdout);
        }
        for other in [
            "",
            "[]",
            "no JSON",
            "{\"hook_event_name\":\"PostToolUse\"}",
            "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
        ] {
            assert!(reply(claude, None, other.as_bytes(), &Failure::Memory).is_none(), "{other}");
        }
    }
}
