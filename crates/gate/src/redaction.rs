//! What a tool gave back, before the model sees it: settings to rules, and the key behind the marks.

use std::cell::{OnceCell, RefCell};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use regex_lite::{NoExpand, Regex};
use sha2::{Digest, Sha256};
use toolgate_hosts::host;
use toolgate_model::{Call, RedactedOutput, World};
use toolgate_policies::{self as policies, Settings};
use toolgate_secrets::{Emails, KnownValues, Marks, Rules, Scrubbed, quote_or_escape, scrub_json};

use crate::seen::{self, Seen};
use crate::store::{name_for, put_first, write_private};
use crate::withheld::without_margins;
use toolgate_evidence::random::fill_with_random;

const KEY: usize = 32;
/// The directory of the state in which digests of what each session has seen marked are kept.
pub(crate) const MARKED: &str = "marked-words";

/// Makes the ends of marks: the same secret has the same end within a session, and tells nothing to one who has not
/// the key.
pub struct Marker<'m> {
    world: &'m dyn World,
    file: PathBuf,
    session: &'m str,
    key: OnceCell<[u8; KEY]>,
    /// What has been marked by now.
    marked: RefCell<Vec<Seen>>,
}

impl<'m> Marker<'m> {
    /// The marker of a session. Nothing is read before there is something to mark.
    pub fn new(world: &'m dyn World, state: &Path, session: Option<&'m str>) -> Marker<'m> {
        let session = session.unwrap_or_default();
        Marker {
            world,
            file: state.join("marks.key"),
            session,
            key: OnceCell::new(),
            marked: RefCell::default(),
        }
    }

    /// The end of a secret's mark.
    pub fn end(&self, secret: &[u8]) -> u16 {
        let digest = self.digest(secret);
        let [first, second, ..] = digest;
        if seen::is_worth(secret) {
            self.marked.borrow_mut().extend(Seen::new(secret, digest));
        }
        u16::from_be_bytes([first, second])
    }

    fn digest(&self, secret: &[u8]) -> [u8; 32] {
        let key = self.key.get_or_init(|| key(self.world, &self.file).unwrap_or_else(|_| random()));
        let digest = Sha256::new().chain_update(key).chain_update(self.session).chain_update([0]);
        digest.chain_update(secret).finalize().into()
    }

    /// Where the digests of what this session has seen marked are kept; `None` where there is no session.
    fn seen_file(&self) -> Option<PathBuf> {
        let name = name_for(self.session.as_bytes(), 32);
        (!self.session.is_empty()).then(|| self.file.with_file_name(MARKED).join(name))
    }
}

/// The key of this person's marks, made where there is none yet. Two that make one at the same time agree on the first.
fn key(world: &dyn World, file: &Path) -> io::Result<[u8; KEY]> {
    let read = || -> io::Result<[u8; KEY]> {
        world.read(file, KEY)?.try_into().map_err(|_| ErrorKind::InvalidData.into())
    };
    match read() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        read => return read,
    }
    put_first(file, &random())?;
    read()
}

/// Without a source of randomness the ends are the same for everybody, which is still better than to show the secret.
fn random() -> [u8; KEY] {
    let mut key = [0; KEY];
    let _ = fill_with_random(&mut key);
    key
}

/// The rules that these words of the settings stand for.
pub fn rules(wanted: &policies::Redaction) -> Rules {
    Rules {
        core_only: wanted.secrets == policies::Secrets::Core,
        emails: match wanted.emails {
            policies::Emails::None => Emails::None,
            policies::Emails::Personal => Emails::Personal,
            policies::Emails::Unlisted => Emails::Unlisted,
            policies::Emails::All => Emails::All,
        },
        safe_emails: wanted.safe_emails.clone(),
        entropy: wanted.entropy,
        every_assignment: wanted.every_assignment,
        keep_examples: wanted.keep_examples,
    }
}

/// The marks that these words stand for.
pub fn marks<'m>(wanted: &policies::Redaction, end: &'m dyn Fn(&[u8]) -> u16) -> Marks<'m> {
    match wanted.marks {
        policies::Marks::Plain => Marks::Plain,
        policies::Marks::Compat => Marks::Compat,
        policies::Marks::Same => Marks::Same(end),
    }
}

/// What all layers want.
pub fn wanted(layers: &[Settings]) -> policies::Redaction {
    policies::Redaction::of_all(layers.iter().map(|layer| &layer.redaction))
}

/// What the model is to see instead of a call's output; `None` where that may stay as it is. Without any layer, by
/// default rules: an output is never shown unread because settings cannot be.
pub fn redacted(call: &Call<'_>, layers: &[Settings], marker: &Marker<'_>) -> Option<RedactedOutput> {
    let wanted = wanted(layers);
    let stops = host(call.host).is_some_and(|host| host.stops_at_changed_output(call));
    if stops && !call.shortened {
        let without_emails = policies::Redaction { emails: policies::Emails::None, ..wanted.clone() };
        redacted_by(call, &without_emails, marker)?;
    }
    shown(call, redacted_by(call, &wanted, marker))
}

/// What is shown of an output that has been gone through. Of one whose texts were cut, the ends are left out: they may cut a secret.
fn shown(call: &Call<'_>, changed: Option<RedactedOutput>) -> Option<RedactedOutput> {
    if !call.shortened {
        return changed;
    }
    let (count, output) = match &changed {
        Some(changed) => (changed.count, changed.output.as_str()),
        None => (0, call.output.as_deref()?),
    };
    Some(RedactedOutput { output: without_margins(output), count, withheld: true })
}

fn redacted_by(call: &Call<'_>, wanted: &policies::Redaction, marker: &Marker<'_>) -> Option<RedactedOutput> {
    let output = call.output.as_deref()?;
    let end = |secret: &[u8]| marker.end(secret);
    let scrubbed = scrub_json(output, &rules(wanted), marks(wanted, &end));
    let before = marker.seen_file().map(|file| seen::read(marker.world, &file)).unwrap_or_default();
    let known = known(call, marker.world);
    let hidden =
        known.hide(scrubbed.as_ref().map_or(output, |scrubbed| scrubbed.text.as_str()), marks(wanted, &end));
    let scrubbed = joined(scrubbed, hidden);
    let seen =
        seen::hide(scrubbed.as_ref().map_or(output, |scrubbed| scrubbed.text.as_str()), &before, &|word| {
            marker.digest(word)
        });
    let scrubbed = joined(scrubbed, seen);
    if let Some(file) = marker.seen_file() {
        // What cannot be kept is marked by its looks the next time, or not at all: no reason to show an output unread.
        let _ = seen::keep(&file, before, &marker.marked.borrow(), &|file, bytes| write_private(file, bytes));
    }
    let (text, count) = match &scrubbed {
        Some(scrubbed) => (scrubbed.text.as_str(), scrubbed.count),
        None => (output, 0),
    };
    if let Some((text, more)) = by_own_patterns(text, &wanted.pattern) {
        return Some(RedactedOutput { output: text, count: count + more, withheld: false });
    }
    // Only counted, so the marks need no digests.
    let counted =
        |text: &str| scrub_json(text, &rules(wanted), Marks::Plain).map_or(0, |scrubbed| scrubbed.count);
    scrubbed.map(|scrubbed| RedactedOutput {
        output: scrubbed.text,
        count: without_copies(output).map_or(count, |once| counted(&once).clamp(1, count.max(1))),
        withheld: false,
    })
}

/// The texts of an output as a list, each once: hosts send what a tool printed for the model and once more for the screen, and what
/// was taken out of both is one thing to whoever reads of it. `None` where no text stands there twice. The texts stay in their escapes,
/// since an output may be as large as memory allows: nothing is copied unless there is a copy.
fn without_copies(output: &str) -> Option<String> {
    /// More texts are no copies for a screen.
    const MOST: usize = 32;
    /// In a shorter text there is nothing to count: an empty `stderr` is no copy.
    const SHORTEST: usize = 8;
    let mut texts: Vec<&str> = Vec::new();
    let mut rest = output;
    while let Some(start) = rest.find('"') {
        let (raw, behind) = rest.get(start..).and_then(|raw| raw.split_at_checked(length_of_string(raw)))?;
        if !behind.trim_start().starts_with(':') {
            let text = without_blank_ends(raw.strip_prefix('"')?.strip_suffix('"')?);
            if text.len() >= SHORTEST {
                if texts.len() == MOST {
                    return None;
                }
                texts.push(text);
            }
        }
        rest = behind;
    }
    let all = texts.len();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut kept: Vec<&str> = Vec::new();
    for text in texts {
        if !kept.iter().any(|longer| longer.contains(text)) {
            kept.push(text);
        }
    }
    (kept.len() < all).then(|| format!("[\"{}\"]", kept.join("\",\"")))
}

/// The text of a JSON string without the blanks around it, written as they are or as escapes.
fn without_blank_ends(mut text: &str) -> &str {
    loop {
        let trimmed = text.trim();
        let blank = |escape: &&str| matches!(*escape, "\\n" | "\\r" | "\\t");
        let front = trimmed.get(..2).filter(blank).map_or(0, str::len);
        let trimmed = trimmed.get(front..).unwrap_or_default();
        // Behind another backslash, the last one is a character of its own.
        let end = trimmed.len().saturating_sub(2);
        let backslashes = trimmed.bytes().take(end).rev().take_while(|byte| *byte == b'\\').count();
        let back = trimmed.get(end..).filter(blank).filter(|_| backslashes % 2 == 0);
        let trimmed = trimmed.get(..trimmed.len() - back.map_or(0, str::len)).unwrap_or_default();
        if trimmed.len() == text.len() {
            return text;
        }
        text = trimmed;
    }
}

/// What two searches after each other have made of a text.
fn joined(first: Option<Scrubbed<String>>, then: Option<Scrubbed<String>>) -> Option<Scrubbed<String>> {
    match (first, then) {
        (Some(first), Some(then)) => Some(Scrubbed { text: then.text, count: first.count + then.count }),
        (first, then) => then.or(first),
    }
}

/// What is secret whatever it looks like: the values of credential-like variables in our own environment, which is that of the agent, and in the
/// files beside the work that nobody may read.
fn known(call: &Call<'_>, world: &dyn World) -> KnownValues {
    const FILES: [&str; 11] = [
        ".env",
        ".env.local",
        ".env.development",
        ".env.production",
        ".env.staging",
        ".flaskenv",
        ".envrc",
        ".npmrc",
        ".pypirc",
        "terraform.tfvars",
        "secrets.tfvars",
    ];
    const LONGEST: usize = 64 * 1024;
    let mut known = KnownValues::default();
    for (name, value) in std::env::vars_os() {
        known.add(name.as_encoded_bytes(), value.as_encoded_bytes());
    }
    for directory in call.cwd.iter().flat_map(|cwd| up_to_the_top(Path::new(&**cwd), world)) {
        for name in FILES {
            if let Ok(text) = world.read(&directory.join(name), LONGEST) {
                known.add_file(&text);
            }
        }
    }
    known
}

/// The directory of a call and those above it, up to the top of its worktree: a program that runs below reads what stands there. Without a
/// worktree, only the directory itself.
fn up_to_the_top<'p>(cwd: &'p Path, world: &dyn World) -> Vec<&'p Path> {
    const MOST: usize = 16;
    let above: Vec<&Path> = cwd.ancestors().take(MOST).collect();
    let top = above.iter().position(|directory| world.stamp(&directory.join(".git")).is_ok());
    above.into_iter().take(top.map_or(1, |top| top + 1)).collect()
}

/// The same by default rules, with marks that tell nothing of which secret stood there: for a call of which nothing but the
/// output is known.
pub fn redacted_plainly(call: &Call<'_>) -> Option<RedactedOutput> {
    let scrubbed = scrub_json(call.output.as_deref()?, &rules(&wanted(&[])), Marks::Plain);
    let changed = scrubbed.map(|scrubbed| RedactedOutput {
        output: scrubbed.text,
        count: scrubbed.count,
        withheld: false,
    });
    shown(call, changed)
}

/// JSON without what fits the settings' own patterns in its strings, and how much that was; `None` where nothing does. Names of
/// members stay, since the host needs them.
fn by_own_patterns(json: &str, patterns: &[policies::OwnPattern]) -> Option<(String, usize)> {
    if patterns.is_empty() {
        return None;
    }
    // A pattern that cannot be read was refused when the settings were.
    let readable =
        |own: &policies::OwnPattern| Some((Regex::new(&own.pattern).ok()?, own.replacement.clone()));
    let patterns: Vec<(Regex, String)> = patterns.iter().filter_map(readable).collect();
    let (mut out, mut rest, mut count) = (String::with_capacity(json.len()), json, 0);
    while let Some(start) = rest.find('"') {
        let Some((before, string)) = rest.split_at_checked(start) else { break };
        out.push_str(before);
        let (raw, behind) = string.split_at_checked(length_of_string(string))?;
        // Half a surrogate pair is not text; such a string stays as it is.
        let Ok(mut text) = serde_json::from_str::<String>(raw) else {
            out.push_str(raw);
            rest = behind;
            continue;
        };
        let mut found = 0;
        if !behind.trim_start().starts_with(':') {
            for (pattern, replacement) in &patterns {
                let fits = pattern.find_iter(&text).filter(|found| !found.is_empty()).count();
                if fits > 0 {
                    found += fits;
                    text = pattern.replace_all(&text, NoExpand(replacement)).into_owned();
                }
            }
        }
        match (found, serde_json::to_string(&text)) {
            (1.., Ok(changed)) => out.push_str(&changed),
            _ => out.push_str(raw),
        }
        count += found;
        rest = behind;
    }
    out.push_str(rest);
    (count > 0).then_some((out, count))
}

/// How long the string is that begins here, its quotes included.
fn length_of_string(json: &str) -> usize {
    let bytes = json.as_bytes();
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(quote_or_escape) {
        at += found + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return at;
        }
        at += 1;
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;

    #[test]
    fn a_text_that_is_sent_twice_counts_once() {
        assert_eq!(without_copies(r#"{"a":"the first","b":"the second"}"#), None);
        assert_eq!(without_copies(r#"{"stdout":"the first","stderr":"","type":"first"}"#), None);
        let copies = r#"{"forModel":"Output: the first\n","metadata":{"output":"the first"},"n":1}"#;
        assert_eq!(without_copies(copies).as_deref(), Some(r#"["Output: the first"]"#));
        assert_eq!(without_copies("no JSON"), None);
        let escaped = r#"{"a":"\n\t the one\\n","b":"the one\\n \n"}"#;
        let once = Some(r#"["the one\\n"]"#);
        assert_eq!(without_copies(escaped).as_deref(), once, "a backslash before an n is no blank");
    }

    #[test]
    fn own_patterns_are_replaced_in_values_only() {
        let own =
            |pattern: &str| policies::OwnPattern { pattern: pattern.into(), replacement: "[$1 ID]".into() };
        let patterns = [own("EMP-(\\d+)")];
        for (json, expected) in [
            (
                r#"{"EMP-1": "EMP-2, EMP-3\n", "n": 1.50}"#,
                Some((r#"{"EMP-1": "[$1 ID], [$1 ID]\n", "n": 1.50}"#, 2)),
            ),
            (r#""a \u0045MP-7""#, Some((r#""a [$1 ID]""#, 1))),
            (r#"["\ud800", "a\\", "EMP-1"]"#, Some((r#"["\ud800", "a\\", "[$1 ID]"]"#, 1))),
            (r#"{"a":"b","c":[1,null,"d\"e"]}"#, None),
        ] {
            let found = by_own_patterns(json, &patterns);
            assert_eq!(found.as_ref().map(|(text, count)| (text.as_str(), *count)), expected, "{json}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test looks at what was left on the disk")]
    fn a_secret_keeps_its_mark_within_a_session() {
        let state = tempfile::tempdir().unwrap();
        let disk = Disk::default();
        let end = |session, secret: &[u8]| Marker::new(&disk, state.path(), Some(session)).end(secret);
        assert_eq!(end("a", b"hunter2"), end("a", b"hunter2"));
        assert_ne!(end("a", b"hunter2"), end("b", b"hunter2"));
        assert_ne!(end("a", b"hunter2"), end("a", b"hunter3"));
        let names: Vec<_> =
            std::fs::read_dir(state.path()).unwrap().map(|name| name.unwrap().file_name()).collect();
        assert_eq!(names, ["marks.key"], "nothing is left lying about");
    }
}
