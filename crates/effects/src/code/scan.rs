//! A look at a program of a large language: which of its calls reach files, programs or the network.
//!
//! No parser: names, texts and brackets are the same in all of these languages. The tokens are walked as a row of
//! expressions; calls whose names are known (see `calls`) act on what is known of their arguments. Names are followed
//! without regard to the order of what happens: a name can be whatever was ever assigned to it.
//!
//! A path that is not known is taken to lie inside only if nothing in the program can lead elsewhere: no text
//! from outside, no `..`, no way to make texts out of numbers. Every absolute path that the program names counts.

use std::collections::{BTreeMap, BTreeSet};

use super::lex::{Piece, Token, lex};
use super::value::Value;
use super::walk::At;
use super::{Deed, Path, climbs, note, operands};
use crate::language::Language;
use Value::{List, Map, Part, Texts, Thing};

/// Longer programs are not looked at.
const MAX_CODE: usize = 256 * 1024;
/// Brackets inside of brackets.
pub(super) const MAX_LEVEL: usize = 160;
/// Code inside of `eval` inside of `eval`.
const MAX_NESTED: usize = 3;
/// Bytes that may be copied, so that no program takes long.
const FUEL: usize = 2_000_000;

pub(super) const RUNS: Deed = Deed::Unknown("runs a program that is only known when it runs");
pub(super) const EVALUATES: Deed = Deed::Unknown("runs code that is only known when it runs");
const TOO_MUCH: Deed = Deed::Unknown("code that is too long or too deep to be followed");

/// What a program would do, as far as a look can tell.
pub(crate) fn scan(language: Language, text: &str) -> Vec<Deed> {
    let mut deeds = Vec::new();
    // Shell code that comes here is only looked through for places.
    let language = if language == Language::Shell { Language::Other } else { language };
    look(language, text, 0, &BTreeMap::new(), &mut deeds);
    deeds
}

pub(super) fn look(
    language: Language,
    text: &str,
    nested: usize,
    names: &BTreeMap<String, Value>,
    deeds: &mut Vec<Deed>,
) {
    if text.len() > MAX_CODE || nested > MAX_NESTED {
        return note(deeds, TOO_MUCH);
    }
    let code = if language == Language::Php { php_code(text) } else { text.to_owned() };
    let Some(tokens) = lex(language, &code) else {
        return note(deeds, Deed::Unknown("code that cannot be read"));
    };
    if operands::may_change(language, &code) {
        note(deeds, Deed::Project);
    }
    let mut scan = Scan::new(language, nested, names.clone());
    scan.texts(&tokens, 0);
    if language == Language::Other {
        scan.other(&tokens);
    } else {
        for pass in 0..6 {
            (scan.pass, scan.changed) = (pass, false);
            scan.walk(&tokens);
            if !scan.changed && pass > 0 {
                break;
            }
        }
        // What still grows is not known.
        scan.source |= scan.changed;
        scan.reports = true;
        scan.walk(&tokens);
        if scan.fuel == 0 || scan.deep {
            note(&mut scan.deeds, TOO_MUCH);
        }
        scan.left_over();
        scan.entered();
    }
    scan.deeds.into_iter().for_each(|deed| note(deeds, deed));
}

/// What stands between `<?php` and `?>`; all of it where there is no such mark.
fn php_code(text: &str) -> String {
    if !text.contains("<?") {
        return text.to_owned();
    }
    let parts = text.split("<?").skip(1).map(|part| {
        let part = part.strip_prefix("php").unwrap_or(part);
        let part = part.strip_prefix('=').unwrap_or(part);
        part.split("?>").next().unwrap_or_default()
    });
    parts.collect::<Vec<_>>().join(";")
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the program")]
pub(super) struct Scan {
    pub(super) language: Language,
    pub(super) nested: usize,
    pub(super) names: BTreeMap<String, Value>,
    /// Parameters of the program's own functions.
    pub(super) functions: BTreeMap<String, Vec<String>>,
    pub(super) parameters: BTreeSet<String>,
    /// The function whose body is walked.
    pub(super) function: String,
    /// Modules all of whose names were imported.
    pub(super) stars: Vec<String>,
    pub(super) pass: usize,
    pub(super) changed: bool,
    /// The last walk, which says what is done.
    pub(super) reports: bool,
    pub(super) deeds: Vec<Deed>,
    /// The name that is being assigned, and whether its own value was asked for.
    pub(super) assigned: Option<String>,
    pub(super) own_value: bool,
    /// Texts come from outside, or are made of numbers.
    pub(super) source: bool,
    /// A text has `..`.
    pub(super) dots: bool,
    /// Something is written, deleted or run.
    pub(super) acts: bool,
    /// Something is written at a place that is only taken to lie inside.
    pub(super) loose: bool,
    pub(super) loops: bool,
    /// Texts that look like paths leading outside, and how often they stand there.
    pub(super) outside: BTreeMap<String, usize>,
    /// How often such a text is used where it can do nothing.
    pub(super) harmless: BTreeMap<String, usize>,
    pub(super) level: usize,
    pub(super) deep: bool,
    pub(super) fuel: usize,
}

impl Scan {
    pub(super) fn new(language: Language, nested: usize, names: BTreeMap<String, Value>) -> Scan {
        Scan {
            language,
            nested,
            names,
            functions: BTreeMap::new(),
            parameters: BTreeSet::new(),
            function: String::new(),
            stars: Vec::new(),
            pass: 0,
            changed: false,
            reports: false,
            deeds: Vec::new(),
            assigned: None,
            own_value: false,
            source: false,
            dots: false,
            acts: false,
            loose: false,
            loops: false,
            outside: BTreeMap::new(),
            harmless: BTreeMap::new(),
            level: 0,
            deep: false,
            fuel: FUEL,
        }
    }

    pub(super) fn is(&self, languages: &[Language]) -> bool {
        languages.contains(&self.language)
    }

    pub(super) fn note(&mut self, deed: Deed) {
        if matches!(deed, Deed::Unknown(_) | Deed::Run(_) | Deed::Shell(_) | Deed::Project) {
            self.acts = true;
        }
        if self.reports {
            note(&mut self.deeds, deed);
        }
    }

    /// Gathers the texts that look like paths.
    pub(super) fn texts(&mut self, tokens: &[Token], depth: usize) {
        for token in tokens {
            match token {
                Token::Text(pieces) | Token::Shell(pieces) => {
                    for (at, piece) in pieces.iter().enumerate() {
                        match piece {
                            Piece::Plain(text) => {
                                self.dots |= !text.contains([' ', '\n']) && climbs(text);
                                if at == 0 && matches!(token, Token::Text(_)) && leads_outside(text) {
                                    *self.outside.entry(text.clone()).or_default() += 1;
                                }
                            }
                            Piece::Code(code) if depth < MAX_LEVEL => self.texts(code, depth + 1),
                            Piece::Code(_) => {}
                        }
                    }
                }
                Token::Name(word) => {
                    // `$^I` edits in place.
                    self.acts |= word == "$^";
                    self.loops |= matches!(
                        word.as_str(),
                        "while" | "for" | "foreach" | "loop" | "until" | "times" | "forEach"
                    );
                }
                _ => {}
            }
        }
    }

    pub(super) fn walk(&mut self, tokens: &[Token]) {
        self.function.clear();
        self.harmless.clear();
        self.level = 0;
        self.block(&mut At { tokens, at: 0 }, "");
    }

    pub(super) fn spend(&mut self, value: &Value) {
        fn size(value: &Value) -> usize {
            match value {
                Texts(texts) => texts.iter().map(|text| text.len() + 16).sum(),
                List(items) => items.iter().map(size).sum::<usize>() + 16,
                Map(pairs) => pairs.iter().map(|(key, value)| size(key) + size(value)).sum::<usize>() + 16,
                Part(text, _) | Thing(text) => text.len() + 16,
                _ => 16,
            }
        }
        self.fuel = self.fuel.saturating_sub(size(value));
    }

    /// Paths that the program names and that no call explains.
    pub(super) fn left_over(&mut self) {
        let connects = self.deeds.contains(&Deed::Connect);
        for (text, count) in std::mem::take(&mut self.outside) {
            let used = self.harmless.get(&text).copied().unwrap_or(0);
            let plain = text.strip_prefix("file://").unwrap_or(&text);
            let explained = self.deeds.iter().any(|deed| match deed {
                Deed::Write(path) | Deed::Delete(path) | Deed::Enter(path) => path.begins(plain),
                Deed::Read(path) | Deed::List(path) => !self.loose && path.begins(plain),
                Deed::Shell(command) => command.contains(plain),
                Deed::Run(words) => words.iter().any(|word| word.contains(plain)),
                Deed::Connect | Deed::Project | Deed::Unknown(_) => false,
            });
            // `'/users'` behind an address.
            let route = connects && !is_root(plain);
            if !explained && used < count && !route {
                let path = Path::Known(plain.to_owned());
                note(
                    &mut self.deeds,
                    if self.acts || self.loose { Deed::Write(path) } else { Deed::Read(path) },
                );
            }
        }
    }

    /// What stands before a change of directory may be done after it, where there are functions or loops.
    fn entered(&mut self) {
        let last = self.deeds.iter().rposition(|deed| matches!(deed, Deed::Enter(_)));
        if let Some(last) =
            last.filter(|_| self.loops || !self.parameters.is_empty() || !self.functions.is_empty())
        {
            for deed in self.deeds.get(..last).unwrap_or_default().to_vec() {
                note(&mut self.deeds, deed);
            }
        }
    }

    /// A language that we do not know: its texts, and words that sound like deeds.
    pub(super) fn other(&mut self, tokens: &[Token]) {
        const WORDS: [&str; 14] = [
            "system", "exec", "unlink", "remove", "open", "delete", "write", "spawn", "popen", "eval",
            "rename", "shell", "run", "fork",
        ];
        for token in tokens {
            if let Token::Name(name) = token {
                let name = name.to_ascii_lowercase();
                if WORDS.iter().any(|word| name.contains(word)) {
                    note(&mut self.deeds, EVALUATES);
                }
            }
        }
        for text in self.outside.keys() {
            note(&mut self.deeds, Deed::Write(Path::Known(text.clone())));
        }
    }
}

impl Path {
    fn begins(&self, text: &str) -> bool {
        match self {
            Path::Known(path) | Path::Below(path) => {
                path.starts_with(text)
                    || (path.len() > 1 && text.starts_with(path.as_str()) && matches!(self, Path::Below(_)))
            }
            Path::Unknown => false,
        }
    }
}

/// Looks like a path that leads out of the directory, and like nothing else.
fn leads_outside(text: &str) -> bool {
    const ODD: [char; 19] =
        ['<', '>', '|', '(', ')', '^', '$', '"', '\'', ';', '&', '#', '`', '!', '\n', '\t', '\\', '\r', '\0'];
    if text.len() > 300 || text.contains(ODD) {
        return false;
    }
    if text.starts_with("file://") {
        return true;
    }
    if text == "/dev/null" || text.contains("://") || (text.contains('?') && text.contains('=')) {
        return false;
    }
    let named =
        |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~'));
    let absolute = text.strip_prefix('/').is_some_and(named);
    let home =
        text == "~" || text.strip_prefix('~').is_some_and(|rest| rest.starts_with('/') || rest.contains('/'));
    let spaces = text.contains(' ') && !is_root(text);
    (absolute || home || climbs(text)) && !spaces
}

/// Begins with a directory that is at the top of most machines.
fn is_root(path: &str) -> bool {
    const ROOTS: &str = "bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var Users Volumes private Library Applications data work workspace";
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    path.starts_with("~/") || climbs(path) || ROOTS.split(' ').any(|root| root == first)
}
