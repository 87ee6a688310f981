//! Words that are described as plain text, and endings that names get.
//!
//! Against whom: a value that a spec takes for text and the program for a place. `git format-patch --suffix=/../../x` writes
//! elsewhere, `openssl … -pass file:key` reads a file, `cp -b -S .json x .mcp` makes `.mcp.json`. What is really free (a message, a pattern, a
//! format) is `prose` in its spec. In a program whose run is a proof, any other text that looks like a place, or that nobody knows, is
//! doubted.

use toolgate_model::{Access, Doubt, Gap, Reach, base_name};

use super::apply::slot_text;
use super::links::{SETTINGS_DIRECTORIES, SETTINGS_FILES, loose};
use super::places::is_named_secret;
use super::text::{ANY, CLASS, INNER, NAME, ONE, PIECE, STAR, Text, is_mark};
use super::{Interpreter, glob};
use crate::spec::{Heeds, Reading, Slot, Spec, WordKind};

impl Interpreter<'_, '_> {
    /// Doubts a program that is given a place as if it were text.
    pub(super) fn doubt_words(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        if reading.spec.is_plain() {
            self.doubt_unlisted(program, reading, arguments);
        }
        if !is_proof(reading.spec) {
            return;
        }
        for slot in &reading.texts {
            let is_operand = reading.operands.contains(&slot.word);
            // Its own code tells revisions from paths.
            if is_operand && program == "git" {
                continue;
            }
            let text = slot_text(arguments, slot);
            if looks_like_place(&text) || (!is_operand && may_be_place(&text)) {
                self.unknown(Gap::Doubt(Doubt::Words), &format!("{program} {}", text.shown()));
                return;
            }
        }
    }

    /// No option of a plain program writes, runs or connects; but one that nobody listed may read what its value names, and show it in
    /// its own way: `fping -f FILE` asks for the words of a file as for hosts.
    fn doubt_unlisted(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        for at in &reading.plain {
            let Some(option) = arguments.get(*at) else { continue };
            let attached = option.raw().split_once('=').map(|(_, value)| Text::marked(value.to_owned()));
            let is_judged =
                |next: usize| reading.uses.iter().any(|(kind, slot)| kind.is_path() && slot.word == next);
            let next = arguments.get(at + 1).filter(|_| !is_judged(at + 1));
            let value = attached.as_ref().or(next);
            if let Some(value) = value.filter(|value| looks_like_place(value)) {
                self.unknown(
                    Gap::Doubt(Doubt::Words),
                    &format!("{program} {} {}", option.shown(), value.shown()),
                );
                return;
            }
        }
        // What its own options are given as text is no place.
        let of_option = |slot: &&Slot| !reading.operands.contains(&slot.word);
        for slot in reading.texts.iter().filter(of_option) {
            let text = slot_text(arguments, slot);
            if text.raw().len() > 1 && looks_like_place(&text) {
                self.unknown(Gap::Doubt(Doubt::Words), &format!("{program} {}", text.shown()));
                return;
            }
        }
    }

    /// Files whose names are those of the words with an ending: backups, and what is packed or unpacked.
    pub(super) fn suffixed(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        let of_kind = |wanted: fn(WordKind) -> bool| {
            let uses = reading.uses.iter().filter(move |(kind, _)| wanted(*kind));
            uses.map(|(_, slot)| slot_text(arguments, slot)).collect::<Vec<Text>>()
        };
        let written = of_kind(|kind| {
            matches!(kind, WordKind::Write | WordKind::WriteTree | WordKind::Append | WordKind::Beside)
        });
        let sources: Vec<&Text> = reading.operands.iter().filter_map(|at| arguments.get(*at)).collect();
        for suffix in of_kind(|kind| kind == WordKind::Suffix) {
            self.doubts.change_files();
            if may_end_settings(&suffix) {
                self.unknown(Gap::Doubt(Doubt::Members), &format!("{program} {}", suffix.shown()));
            }
            for path in &written {
                let raw = path.raw().trim_end_matches('/');
                self.touch(Access::Write, Reach::Exact, &Text::marked(format!("{raw}{}", suffix.raw())));
                // Without its ending it is what was packed.
                if let Some(base) = raw.strip_suffix(suffix.raw()).filter(|base| *base != raw) {
                    self.touch(Access::Write, Reach::Exact, &Text::marked(base.to_owned()));
                }
                let is_tree = self.one_place(path).is_some_and(|place| self.is_directory(&place));
                for source in sources.iter().filter(|_| is_tree) {
                    let name = base_name(source.raw().trim_end_matches('/'));
                    let beside = format!("{raw}/{name}{}", suffix.raw());
                    self.touch(Access::Write, Reach::Exact, &Text::marked(beside));
                }
            }
        }
    }
}

/// Whether a run of the program counts as proved by its words. A plain one that heeds nothing else has no option that
/// writes, runs or connects.
fn is_proof(spec: &Spec) -> bool {
    match spec.heeds() {
        Heeds::Project => false,
        Heeds::Home => true,
        Heeds::Words => !spec.is_plain(),
    }
}

/// Whether a text is surely more than a word: it climbs, it begins at a root, it is an address of a file, or it names what
/// agents go by.
fn looks_like_place(text: &Text) -> bool {
    let lower = text.raw().to_ascii_lowercase();
    let climbs = lower.split(['/', ':', '=', ',']).any(|name| name == "..");
    let is_name = |name: &str| {
        SETTINGS_FILES.contains(&name) || SETTINGS_DIRECTORIES.contains(&name) || is_named_secret(name)
    };
    lower.starts_with(['/', '~'])
        || climbs
        || ["file:", "%2e", "%2f"].iter().any(|part| lower.contains(part))
        || lower.split(['/', ':', '=', ',']).any(is_name)
}

/// Whether the value of an option may be a place, or may lead to one.
fn may_be_place(text: &Text) -> bool {
    let is_open = |letter: char| matches!(letter, ANY | INNER | PIECE | STAR | ONE | CLASS);
    let raw = text.raw();
    raw.contains(['/', '\\'])
        || raw.contains(is_open)
        || raw.split([':', '=', ',', ';']).any(|part| part.trim_start().starts_with('@'))
}

/// Whether a name with this ending may be one that agents go by.
fn may_end_settings(suffix: &Text) -> bool {
    let lower = suffix.raw().to_ascii_lowercase();
    !suffix.is_known()
        || lower.contains('/')
        || (!lower.is_empty() && SETTINGS_FILES.iter().any(|name| name.ends_with(lower.as_str())))
}

/// Whether a path of which not all is known may be that of a file by which agents go: each of its names is held against theirs. A
/// path that is found on the disk as a whole is none that is made.
pub(super) fn may_make_settings(rest: &str) -> bool {
    let mut names = rest.split('/').filter(|name| !name.is_empty()).peekable();
    while let Some(name) = names.next() {
        let is_last = names.peek().is_none();
        if !name.contains(is_mark) || (name.contains(INNER) && name.chars().all(is_found)) {
            continue;
        }
        let pattern = loose(&name.to_lowercase());
        let files: &[&str] = if is_last { SETTINGS_FILES } else { &[] };
        let mut known = files.iter().chain(SETTINGS_DIRECTORIES);
        if known.any(|known| glob::fits(&pattern, known) != Some(false)) {
            return true;
        }
    }
    false
}

/// A mark for names that are there, or that hold no letter.
fn is_found(letter: char) -> bool {
    is_mark(letter) && letter != NAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_looks_like_a_place_is_told() {
        for text in [
            "../x",
            "/x",
            "~/x",
            "/../../x",
            "policy:file:x",
            "File:x",
            "a/%2E%2e/x",
            "csv:.mcp.json",
            "a=.env",
        ] {
            assert!(looks_like_place(&Text::known(text)), "{text}");
        }
        for text in ["x", "a/b", "1..2", "HEAD~1", "%h %s", "x.json", "DNS:localhost,IP:127.0.0.1"] {
            assert!(!looks_like_place(&Text::known(text)), "{text}");
        }
    }

    #[test]
    fn a_value_that_may_be_a_place_is_told() {
        for text in ["a/b", "@x", "subject=@x", "a\\b"] {
            assert!(may_be_place(&Text::known(text)), "{text}");
        }
        assert!(may_be_place(&Text::any()));
        for text in ["10", "a@b", "never", "DNS:localhost"] {
            assert!(!may_be_place(&Text::known(text)), "{text}");
        }
    }

    #[test]
    fn an_ending_may_make_a_name_that_agents_go_by() {
        assert!(
            [".json", ".JSON", "n", "/x", ".toml"].iter().all(|text| may_end_settings(&Text::known(text)))
        );
        assert!(["~", ".bak", ".orig", ".gz", ""].iter().all(|text| !may_end_settings(&Text::known(text))));
    }

    #[test]
    fn a_name_that_is_made_may_be_one_that_agents_go_by() {
        for rest in [
            format!("{NAME}"),
            format!("toolgat{NAME}.toml"),
            format!(".mcp.json{NAME}"),
            format!("{NAME}/x"),
        ] {
            assert!(may_make_settings(&rest), "{rest:?}");
        }
        for rest in [format!("part-{NAME}"), format!("{NAME}.txt"), format!("{INNER}"), format!("a/{INNER}")]
        {
            assert!(!may_make_settings(&rest), "{rest:?}");
        }
    }
}
