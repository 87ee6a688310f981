//! A look at a program of a large language: which of its calls reach files, programs or the network.
//!
//! No parser: names, texts and brackets are the same in all of these languages. The tokens are walked as a row of
//! expressions; calls whose names are known (see `calls`) act on what is known of their arguments. Names are followed
//! without regard to the order of what happens: a name can be whatever was ever assigned to it.
//!
//! A path that is not known is taken to lie inside only if nothing in the program can lead elsewhere: no text
//! from outside, no `..`, no way to make texts out of numbers. Every absolute path that the program names counts.

use std::collections::BTreeMap;

use super::bindings::Bindings;
use super::bounds::{Bounds, MAX_LEVEL};
use super::doubts::Doubts;
use super::lex::{Piece, Token, lex};
use super::report::Report;
use super::value::Value;
use super::walk::At;
use super::{Deed, climbs, note, operands};
use crate::budget;
use crate::language::Language;

/// Longer programs are not looked at.
const MAX_CODE: usize = 256 * 1024;
/// Code inside of `eval` inside of `eval`.
const MAX_NESTED: usize = 3;

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
    budget::pay_for(text.len(), budget::SCAN);
    if text.len() > MAX_CODE || nested > MAX_NESTED || budget::is_spent() {
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
            scan.bindings.begin_pass(pass);
            scan.walk(&tokens);
            if !scan.bindings.have_changed() && pass > 0 {
                break;
            }
        }
        // What still grows is not known.
        let still_grow = scan.bindings.have_changed();
        scan.doubts.unknown_texts(still_grow);
        scan.report.open();
        scan.walk(&tokens);
        if scan.bounds.were_exceeded() {
            scan.report.add(TOO_MUCH);
        }
        scan.report.left_over(&scan.doubts);
        // What stands before a change of directory may be done after it, where there are functions or loops.
        if scan.doubts.has_loops() || scan.bindings.have_functions() {
            scan.report.repeat_in_last_directory();
        }
    }
    scan.report.into_deeds().into_iter().for_each(|deed| note(deeds, deed));
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

/// A program that is being walked.
///
/// It is made of parts with rules of their own: bounds, bindings, doubts and the report. Each has a file, and no other file
/// touches its fields.
pub(super) struct Scan {
    language: Language,
    nested: usize,
    pub(super) bounds: Bounds,
    pub(super) bindings: Bindings,
    pub(super) doubts: Doubts,
    pub(super) report: Report,
}

impl Scan {
    fn new(language: Language, nested: usize, names: BTreeMap<String, Value>) -> Scan {
        Scan {
            language,
            nested,
            bounds: Bounds::new(),
            bindings: Bindings::new(names),
            doubts: Doubts::default(),
            report: Report::default(),
        }
    }

    /// The language that the program is written in.
    pub(super) fn language(&self) -> Language {
        self.language
    }

    pub(super) fn is(&self, languages: &[Language]) -> bool {
        languages.contains(&self.language)
    }

    /// Notes something that the program does.
    pub(super) fn note(&mut self, deed: Deed) {
        self.doubts.look_at(&deed);
        self.report.note(deed);
    }

    /// Looks at code that the program itself runs, with the names that it has by then.
    pub(super) fn look_inside(&mut self, text: &str) {
        look(self.language, text, self.nested + 1, self.bindings.values(), self.report.deeds_mut());
    }

    /// Gathers the texts that look like paths.
    pub(super) fn texts(&mut self, tokens: &[Token], depth: usize) {
        for token in tokens {
            match token {
                Token::Text(pieces) | Token::Shell(pieces) => {
                    for (at, piece) in pieces.iter().enumerate() {
                        match piece {
                            Piece::Plain(text) => {
                                self.doubts.climbing(!text.contains([' ', '\n']) && climbs(text));
                                if at == 0 && matches!(token, Token::Text(_)) {
                                    self.report.look_at_text(text);
                                }
                            }
                            Piece::Code(code) if depth < MAX_LEVEL => self.texts(code, depth + 1),
                            Piece::Code(_) => {}
                        }
                    }
                }
                Token::Name(word) => {
                    // `$^I` edits in place.
                    self.doubts.acting(word == "$^");
                    self.doubts.loops(matches!(
                        word.as_str(),
                        "while" | "for" | "foreach" | "loop" | "until" | "times" | "forEach"
                    ));
                }
                _ => {}
            }
        }
    }

    pub(super) fn walk(&mut self, tokens: &[Token]) {
        self.bindings.leave_function();
        self.report.restart();
        self.bounds.restart();
        self.block(&mut At { tokens, at: 0 }, "");
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
                    self.report.add(EVALUATES);
                }
            }
        }
        self.report.write_all_outside();
    }
}
