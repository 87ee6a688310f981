//! What a squad sets for itself: `.squad/config/policies.json`.
//!
//! Every part may be left out. A member that is misspelt, or of the wrong kind, is an error with its name and place: a setting
//! that is silently passed over is one that its author relies on in vain.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use toolgate_model::plain_name;

use crate::LayerError;
use crate::checks::bounded_regex;

/// The longest file that is read, in bytes.
const LONGEST_FILE: usize = 1 << 20;
/// The most entries of a list. Each pattern is tried on every command or output.
const MOST_ENTRIES: usize = 200;
/// The longest pattern, path or reason, in bytes.
const LONGEST_TEXT: usize = 400;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct PolicyConfig {
    /// Commands that are not run.
    #[serde(deserialize_with = "object")]
    pub shell_blocklist: ShellBlocklist,
    /// What is taken out of outputs.
    #[serde(deserialize_with = "object")]
    pub pii_scrubbing: PiiScrubbing,
    /// How much the user is asked.
    #[serde(deserialize_with = "object")]
    pub ask_user_limits: AskUserLimits,
    /// Who writes where.
    #[serde(deserialize_with = "object")]
    pub file_write_guards: FileWriteGuards,
    /// What follows when a reviewer rejects something.
    #[serde(deserialize_with = "object")]
    pub reviewer_lockout: ReviewerLockout,
}

/// `shellBlocklist`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ShellBlocklist {
    /// Whether commands are looked at. The core of the list stays on all the same.
    pub enabled: bool,
    /// Commands of the squad's own that are not run.
    #[serde(deserialize_with = "objects")]
    pub custom_patterns: Vec<BlockedCommand>,
    /// Whether `git push --force-with-lease` may be run.
    pub allow_force_with_lease: bool,
}

/// An entry of `shellBlocklist.customPatterns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockedCommand {
    /// What the command looks like.
    pub pattern: Pattern,
    /// Why it is not run.
    #[serde(deserialize_with = "reason")]
    pub reason: String,
}

/// `piiScrubbing`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct PiiScrubbing {
    /// Whether outputs are looked through. The core of the search stays on all the same.
    pub enabled: bool,
    /// What of the squad's own is taken out.
    #[serde(deserialize_with = "objects")]
    pub custom_patterns: Vec<ScrubbedText>,
    /// Email addresses (`bot@corp.com`) and domains (`@corp.com`) that stay.
    #[serde(deserialize_with = "exclusions")]
    pub exclude_patterns: Vec<String>,
}

/// An entry of `piiScrubbing.customPatterns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScrubbedText {
    /// What it looks like.
    pub pattern: Pattern,
    /// What stands in its place, letter for letter: `$1` in it brings nothing back.
    #[serde(deserialize_with = "replacement")]
    pub replacement: String,
}

/// `askUserLimits`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct AskUserLimits {
    /// How many questions the user is asked in a session.
    #[serde(deserialize_with = "count")]
    pub max_questions_per_session: u32,
    /// A shorter answer than this, in letters, is an ambiguous one.
    #[serde(deserialize_with = "count")]
    pub min_response_length: u32,
}

/// `fileWriteGuards`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct FileWriteGuards {
    /// Whether it matters who writes where.
    pub enabled: bool,
    /// Where else an agent may write, by its name as [`plain_name`] gives it.
    #[serde(deserialize_with = "paths_by_agent")]
    pub additional_allowed_paths: BTreeMap<String, Vec<String>>,
}

/// `reviewerLockout`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ReviewerLockout {
    /// Whether the author of what was rejected is kept from revising it.
    pub enabled: bool,
    /// After how many lockouts of one artifact the user is told.
    #[serde(deserialize_with = "count")]
    pub escalate_to_user_after_lockout_count: u32,
}

impl Default for ShellBlocklist {
    fn default() -> ShellBlocklist {
        ShellBlocklist { enabled: true, custom_patterns: Vec::new(), allow_force_with_lease: true }
    }
}

impl Default for PiiScrubbing {
    fn default() -> PiiScrubbing {
        PiiScrubbing { enabled: true, custom_patterns: Vec::new(), exclude_patterns: Vec::new() }
    }
}

impl Default for AskUserLimits {
    fn default() -> AskUserLimits {
        AskUserLimits { max_questions_per_session: 5, min_response_length: 10 }
    }
}

impl Default for FileWriteGuards {
    fn default() -> FileWriteGuards {
        FileWriteGuards { enabled: true, additional_allowed_paths: BTreeMap::new() }
    }
}

impl Default for ReviewerLockout {
    fn default() -> ReviewerLockout {
        ReviewerLockout { enabled: true, escalate_to_user_after_lockout_count: 3 }
    }
}

impl PolicyConfig {
    /// Reads and checks the file.
    pub fn read(text: &str) -> Result<PolicyConfig, LayerError> {
        if text.len() > LONGEST_FILE {
            let what = format!("the file has {} bytes, and at most {LONGEST_FILE} are read", text.len());
            return Err(LayerError { at: None, what });
        }
        let json = text.strip_prefix('\u{feff}').unwrap_or(text);
        let skipped = text.len() - json.len();
        let mut reader = serde_json::Deserializer::from_str(json);
        let mut track = serde_path_to_error::Track::new();
        let read = object(serde_path_to_error::Deserializer::new(&mut reader, &mut track));
        let config = read.map_err(|error| located(json, skipped, &error, &track.path().to_string()))?;
        reader.end().map_err(|error| located(json, skipped, &error, "."))?;
        Ok(config)
    }

    /// The file that sets everything to what it is without a file.
    pub fn default_text() -> String {
        let text = serde_json::to_string_pretty(&PolicyConfig::default());
        // INVARIANT: numbers, texts and maps with texts for keys can always be written; a test does.
        text.unwrap_or_default() + "\n"
    }

    /// What of it cannot be followed, since no file can set it.
    pub fn notes(&self) -> Vec<String> {
        let core = |member: &str, what: &str| {
            format!(
                "`{member}.enabled` is false, and that changes nothing: {what} stays on whatever a file says"
            )
        };
        let mut notes = Vec::new();
        if !self.shell_blocklist.enabled {
            notes.push(core("shellBlocklist", "the list of destructive commands"));
        }
        if !self.pii_scrubbing.enabled {
            notes.push(core("piiScrubbing", "the search for secrets"));
        }
        for (index, excluded) in self.pii_scrubbing.exclude_patterns.iter().enumerate() {
            if !names_email(excluded) {
                notes.push(format!(
                    "`piiScrubbing.excludePatterns[{index}]` is neither an address (`bot@corp.com`) nor a domain (`@corp.com`), and \
                     nothing else is left in an output"
                ));
            }
        }
        notes
    }
}

/// An error with the name of the member and its place.
fn located(json: &str, skipped: usize, error: &serde_json::Error, member: &str) -> LayerError {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let what = match (error.is_data(), member) {
        (true, ".") => message.to_owned(),
        (true, member) => format!("`{member}`: {message}"),
        (false, _) => format!("this is not JSON: {message}"),
    };
    let line: usize = json.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = json.floor_char_boundary(line + error.column().saturating_sub(1));
    LayerError { at: Some(skipped + at), what }
}

/// Whether it is an address or a domain, and no pattern for them.
fn names_email(text: &str) -> bool {
    let Some((_, domain)) = text.split_once('@') else { return false };
    let usual =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | '+' | '@');
    domain.contains('.') && !domain.contains('@') && !domain.starts_with('.') && text.chars().all(usual)
}

/// A regular expression, of those that JavaScript has, that is checked and can be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pattern, D::Error> {
        let what = "a regular expression in quotes";
        deserializer
            .deserialize_str(Text { what, may_be_empty: false, check: check_foreign_pattern })
            .map(Pattern)
    }
}

/// Says what is wrong with a pattern that was written for JavaScript.
fn check_foreign_pattern(pattern: &str) -> Result<(), String> {
    unlike_javascript(pattern)?;
    let regex = bounded_regex(pattern).map_err(|error| format!("cannot be read: {error}"))?;
    if regex.is_match("") {
        return Err("fits an empty text and so every one: say what must be there".to_owned());
    }
    Ok(())
}

/// What JavaScript knows and is not supported, and what is written alike and means something else.
fn unlike_javascript(pattern: &str) -> Result<(), String> {
    let unsupported = |what: &str, mark: &str| Err(format!("uses {what} (`{mark}`), which is not supported"));
    let differs = |mark: &str, instead: &str| Err(format!("uses `{mark}`: write {instead}"));
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        match letter {
            '\\' => {
                let escaped = rest.chars().nth(1).unwrap_or_default();
                length += escaped.len_utf8();
                let mark = format!("\\{escaped}");
                match escaped {
                    '1'..='9' if !in_class => return unsupported("a back reference", &mark),
                    'k' if !in_class => return unsupported("a back reference", &mark),
                    'p' | 'P' => return unsupported("a Unicode class", &mark),
                    '0' => return differs(&mark, "`\\x00`"),
                    'c' => return differs(&mark, "the letter's number, as in `\\x03`"),
                    'b' if in_class => return differs("[\\b]", "`\\x08`"),
                    'a' | 'A' | 'z' | '<' | '>' => {
                        return differs(&mark, &format!("`{escaped}` without the `\\`"));
                    }
                    _ => {}
                }
            }
            '(' if !in_class => {
                for (mark, what) in [
                    ("(?=", "look-ahead"),
                    ("(?!", "look-ahead"),
                    ("(?<=", "look-behind"),
                    ("(?<!", "look-behind"),
                ] {
                    if rest.starts_with(mark) {
                        return unsupported(what, mark);
                    }
                }
            }
            '[' if !in_class => {
                in_class = true;
                if rest.starts_with("[]") || rest.starts_with("[^]") {
                    return unsupported("an empty class", "[]");
                }
            }
            '[' => return differs("[", "`\\[` in a class"),
            ']' => in_class = false,
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// Reads an object, and not the list of its values, which would do for a struct as well.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object `{ … }`")
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(Object)
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let objects = deserializer.deserialize_seq(List(PhantomData::<Object<T>>))?;
    Ok(objects.into_iter().map(|Object(value)| value).collect())
}

/// A list of bounded length.
struct List<S>(S);

impl<'de, S: DeserializeSeed<'de> + Clone> Visitor<'de> for List<S> {
    type Value = Vec<S::Value>;
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a list `[ … ]` of at most {MOST_ENTRIES} entries")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed(self.0.clone())? {
            if list.len() == MOST_ENTRIES {
                return Err(A::Error::custom(format_args!("the list has more than {MOST_ENTRIES} entries")));
            }
            list.push(entry);
        }
        Ok(list)
    }
}

/// A text of bounded length that can be shown, and has to pass a check.
#[derive(Clone, Copy)]
struct Text {
    what: &'static str,
    may_be_empty: bool,
    check: fn(&str) -> Result<(), String>,
}

impl Visitor<'_> for Text {
    type Value = String;
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.what)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        let wrong = if text.is_empty() && !self.may_be_empty {
            Err(format!("is empty, where {} is wanted", self.what))
        } else if text.len() > LONGEST_TEXT {
            Err(format!("has {} bytes, and at most {LONGEST_TEXT} are read", text.len()))
        } else if text.chars().any(char::is_control) {
            Err("holds a control character: write it as an escape, or leave it out".to_owned())
        } else {
            (self.check)(text)
        };
        wrong.map(|()| text.to_owned()).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Text {
    type Value = String;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Text { what: "a reason in quotes", may_be_empty: false, check: |_| Ok(()) }.deserialize(deserializer)
}

fn replacement<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Text { what: "a text in quotes", may_be_empty: true, check: |_| Ok(()) }.deserialize(deserializer)
}

fn exclusions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let what = "an address or a domain in quotes";
    deserializer.deserialize_seq(List(Text { what, may_be_empty: false, check: |_| Ok(()) }))
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    struct Count;
    impl Visitor<'_> for Count {
        type Value = u32;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "a whole number from 0 to {}", u32::MAX)
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
            u32::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
        }
    }
    deserializer.deserialize_u32(Count)
}

fn paths_by_agent<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    struct Agents;
    impl<'de> Visitor<'de> for Agents {
        type Value = BTreeMap<String, Vec<String>>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object with a list of paths for each agent's name")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut agents: A) -> Result<Self::Value, A::Error> {
            let mut paths = BTreeMap::new();
            while let Some(agent) = agents.next_key::<String>()? {
                let name = plain_name(&agent);
                if name.is_empty() || name.len() > LONGEST_TEXT || paths.contains_key(&name) {
                    let what = "a name of at most 400 bytes, and of no agent that was named before";
                    return Err(A::Error::invalid_value(Unexpected::Str(&agent), &what));
                }
                if paths.len() == MOST_ENTRIES {
                    return Err(A::Error::custom(format_args!("there are more than {MOST_ENTRIES} agents")));
                }
                paths.insert(name, agents.next_value_seed(Paths)?);
            }
            Ok(paths)
        }
    }
    deserializer.deserialize_map(Agents)
}

struct Paths;

impl<'de> DeserializeSeed<'de> for Paths {
    type Value = Vec<String>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<String>, D::Error> {
        let check = |path: &str| {
            let climbs = path.split(['/', '\\']).any(|name| name == "..");
            if climbs { Err("holds `..`: name the place itself".to_owned()) } else { Ok(()) }
        };
        deserializer.deserialize_seq(List(Text { what: "a path in quotes", may_be_empty: false, check }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The line of an error, and what it says.
    fn wrong(text: &str) -> (usize, String) {
        let LayerError { at, what } = PolicyConfig::read(text).unwrap_err();
        let line = at.map_or(0, |at| text.get(..at).unwrap().matches('\n').count() + 1);
        (line, what)
    }

    fn pattern(pattern: &str) -> Result<PolicyConfig, LayerError> {
        let pattern = serde_json::to_string(pattern).unwrap();
        PolicyConfig::read(&format!(
            r#"{{"piiScrubbing": {{"customPatterns": [{{"pattern": {pattern}, "replacement": ""}}]}}}}"#
        ))
    }

    #[test]
    fn missing_members_have_their_default_values() {
        let usual = PolicyConfig::default();
        for text in [
            "{}",
            "\u{feff} {}\r\n",
            r#"{"askUserLimits": {}}"#,
            r#"{"askUserLimits": {"minResponseLength": 10}}"#,
        ] {
            assert_eq!(PolicyConfig::read(text).unwrap(), usual, "{text}");
        }
        assert_eq!(PolicyConfig::read(&PolicyConfig::default_text()).unwrap(), usual);
        assert!(usual.notes().is_empty());
    }

    #[test]
    fn the_default_file_has_every_member() {
        let wanted = r#"{
  "shellBlocklist": {
    "enabled": true,
    "customPatterns": [],
    "allowForceWithLease": true
  },
  "piiScrubbing": {
    "enabled": true,
    "customPatterns": [],
    "excludePatterns": []
  },
  "askUserLimits": {
    "maxQuestionsPerSession": 5,
    "minResponseLength": 10
  },
  "fileWriteGuards": {
    "enabled": true,
    "additionalAllowedPaths": {}
  },
  "reviewerLockout": {
    "enabled": true,
    "escalateToUserAfterLockoutCount": 3
  }
}
"#;
        assert_eq!(PolicyConfig::default_text(), wanted);
    }

    #[test]
    fn every_member_can_be_set() {
        let text = r#"{
            "shellBlocklist": {
                "enabled": true, "allowForceWithLease": false,
                "customPatterns": [{"pattern": "make\\s+deploy", "reason": "people deploy"}]
            },
            "piiScrubbing": {
                "customPatterns": [{"pattern": "(?<id>CUST-\\d{6})", "replacement": "[CUSTOMER]"}],
                "excludePatterns": ["@corp.test", "bot@corp.test"]
            },
            "askUserLimits": {"maxQuestionsPerSession": 0, "minResponseLength": 3},
            "fileWriteGuards": {"enabled": false, "additionalAllowedPaths": {"@Night Watch": ["docs/", "a.md"]}},
            "reviewerLockout": {"enabled": false, "escalateToUserAfterLockoutCount": 1}
        }"#;
        let config = PolicyConfig::read(text).unwrap();
        assert!(!config.shell_blocklist.allow_force_with_lease && config.pii_scrubbing.enabled);
        assert_eq!(config.shell_blocklist.custom_patterns[0].pattern.as_str(), r"make\s+deploy");
        assert_eq!(config.pii_scrubbing.custom_patterns[0].replacement, "[CUSTOMER]");
        assert_eq!(config.ask_user_limits.max_questions_per_session, 0);
        assert_eq!(config.file_write_guards.additional_allowed_paths["night-watch"], ["docs/", "a.md"]);
        assert_eq!(config.reviewer_lockout.escalate_to_user_after_lockout_count, 1);
        assert!(config.notes().is_empty());
        assert_eq!(PolicyConfig::read(&serde_json::to_string(&config).unwrap()).unwrap(), config);
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let entry = r#"{"pattern": "x", "replacement": "é"}"#;
        let many = format!("{{\"piiScrubbing\": {{\n\"customPatterns\": [{}]}}}}", [entry; 201].join(","));
        for (text, line, words) in [
            ("", 1, &["not JSON"][..]),
            ("{\n\"shellBlocklist\": {},\n}", 3, &["not JSON"]),
            ("{} x", 1, &["not JSON"]),
            ("[]", 1, &["an object"]),
            ("{\n\"shelBlocklist\": {}}", 2, &["shelBlocklist", "expected one of `shellBlocklist`"]),
            ("{\n\n\"shellBlocklist\": null}", 3, &["`shellBlocklist`", "null", "an object"]),
            ("{\n\"askUserLimits\": [5, 10]}", 2, &["`askUserLimits`", "an object"]),
            (
                "{\"shellBlocklist\": {\n\"enabled\": \"no\"\n}}",
                2,
                &["`shellBlocklist.enabled`", "a boolean"],
            ),
            ("{\"shellBlocklist\": {\n\"enable\": false\n}}", 2, &["`shellBlocklist.enable`", "`enabled`"]),
            (
                "{\"shellBlocklist\": {\n\"enabled\": true,\n\"enabled\": false}}",
                3,
                &["duplicate", "enabled"],
            ),
            (
                "{\"askUserLimits\": {\n\"minResponseLength\": -1\n}}",
                2,
                &["minResponseLength", "a whole number"],
            ),
            (
                "{\"askUserLimits\": {\n\"minResponseLength\": 4294967296\n}}",
                2,
                &["a whole number from 0 to"],
            ),
            ("{\"askUserLimits\": {\n\"minResponseLength\": 2.5\n}}", 2, &["2.5", "a whole number"]),
            (
                "{\"shellBlocklist\": {\"customPatterns\": [{\"pattern\": \"a\", \"reason\": \"b\"},\n{\"pattern\":\n\"(?=a)\"\n}\n]}}",
                3,
                &["`shellBlocklist.customPatterns[1].pattern`", "look-ahead", "not supported"],
            ),
            (
                "{\"shellBlocklist\": {\"customPatterns\": [\n{\"pattern\": \"a\"}\n]}}",
                2,
                &["`shellBlocklist.customPatterns[0]", "missing", "`reason`"],
            ),
            (
                "{\"shellBlocklist\": {\"customPatterns\": [\n[\"a\", \"b\"]\n]}}",
                2,
                &["`shellBlocklist.customPatterns[0]`", "an object"],
            ),
            ("{\"shellBlocklist\": {\"customPatterns\":\n{}}}", 2, &["customPatterns`", "a list"]),
            (
                "{\"piiScrubbing\": {\"excludePatterns\": [\"@a.b\",\n\"\"]}}",
                2,
                &["excludePatterns[1]`", "empty"],
            ),
            ("{\"piiScrubbing\": {\"excludePatterns\": [\n7]}}", 2, &["excludePatterns[0]`", "an address"]),
            (&many, 2, &["`piiScrubbing.customPatterns", "more than 200"]),
            (
                "{\"fileWriteGuards\": {\"additionalAllowedPaths\": {\"Kane\": [\"a\",\n\"b/../c\"]}}}",
                2,
                &["`fileWriteGuards.additionalAllowedPaths.Kane[1]`", "`..`"],
            ),
            (
                "{\"fileWriteGuards\": {\"additionalAllowedPaths\": {\"Kane\": [],\n\"@kane\": []}}}",
                2,
                &["@kane", "named before"],
            ),
            (
                "{\"fileWriteGuards\": {\"additionalAllowedPaths\":\n[]}}",
                2,
                &["additionalAllowedPaths`", "each agent's name"],
            ),
            (
                "{\"shellBlocklist\": {\"customPatterns\": [{\"pattern\": \"a\", \"reason\":\n\"a\\u001bc\"}]}}",
                2,
                &["reason`", "control"],
            ),
        ] {
            let (at, what) = wrong(text);
            assert_eq!(at, line, "{text}: {what}");
            for word in words {
                assert!(what.contains(word), "{text}: {what}");
            }
        }
    }

    #[test]
    fn a_file_or_a_pattern_that_is_too_long_is_refused() {
        let (line, what) = wrong(&" ".repeat(LONGEST_FILE + 1));
        assert!(line == 0 && what.contains("1048577 bytes"), "{what}");
        assert!(pattern(&"x".repeat(400)).is_ok());
        let error = pattern(&"x".repeat(401)).unwrap_err();
        assert!(error.what.contains("401 bytes"), "{error:?}");
        let deep = PolicyConfig::read(&"[".repeat(LONGEST_FILE)).unwrap_err();
        assert!(deep.what.contains("an object"), "{deep:?}");
    }

    #[test]
    fn a_pattern_that_javascript_reads_differently_is_refused() {
        for good in [
            r"git\s+push",
            r"^npm publish$",
            r"[\w.+-]+@corp\.test",
            r"\/etc\/x",
            r"a{2,3}?",
            r"(?:a|b)c",
            r"\(?=",
            r"[(?=]",
            r"[\]\[]",
            "é",
        ] {
            assert!(pattern(good).is_ok(), "{good}: {:?}", pattern(good));
        }
        for (bad, word) in [
            ("(?=a)b", "look-ahead"),
            ("x(?!a)", "look-ahead"),
            ("(?<=a)b", "look-behind"),
            ("(?<!a)b", "look-behind"),
            (r"(a)\1", "a back reference"),
            (r"(?<n>a)\k<n>", "a back reference"),
            (r"\p{L}", "a Unicode class"),
            (r"\0", r"\x00"),
            (r"\cC", r"\x03"),
            (r"[\b]", r"\x08"),
            (r"\<b\>", "without"),
            (r"a\z", "without"),
            ("[]a]", "an empty class"),
            ("[^]", "an empty class"),
            ("[[:alpha:]]", r"`\[` in a class"),
            ("(a", "cannot be read"),
            ("a\\", "cannot be read"),
            ("(x{999}){999}", "cannot be read"),
            ("a*", "an empty text"),
            ("", "empty"),
        ] {
            let error = pattern(bad).unwrap_err();
            assert!(error.what.contains(word), "{bad}: {error:?}");
            assert!(error.what.starts_with("`piiScrubbing.customPatterns[0].pattern`: "), "{bad}: {error:?}");
        }
    }

    #[test]
    fn settings_against_the_floor_are_noted() {
        let text = r#"{"shellBlocklist": {"enabled": false}, "piiScrubbing": {"enabled": false,
            "excludePatterns": ["@corp.test", "corp.test", ".*@corp.test", "a@b@c.test", "@.test", "x"]}}"#;
        let notes = PolicyConfig::read(text).unwrap().notes();
        let begin: Vec<_> = notes.iter().map(|note| note.split('`').nth(1).unwrap()).collect();
        let excluded = |index| format!("piiScrubbing.excludePatterns[{index}]");
        let wanted = ["shellBlocklist.enabled".to_owned(), "piiScrubbing.enabled".to_owned()];
        assert_eq!(begin, wanted.into_iter().chain((1..6).map(excluded)).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn an_error_in_any_text_has_a_place_at_a_character(text in "[\\[\\]{}\",:a-c0-9.\\-\\\\ \né]{0,200}") {
            if let Err(LayerError { at, .. }) = PolicyConfig::read(&text) {
                prop_assert!(at.is_none_or(|at| text.is_char_boundary(at)));
            }
        }

        #[test]
        fn any_accepted_pattern_compiles(text in "[\\[\\]{}()?<>=!|*+.^$:,a-ckpbz0-9\\\\\\-é]{0,60}") {
            if check_foreign_pattern(&text).is_ok() {
                prop_assert!(regex_lite::Regex::new(&text).is_ok());
            }
        }
    }
}
