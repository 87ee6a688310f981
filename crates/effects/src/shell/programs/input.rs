//! Programs whose input is code of their own: editors, databases, interpreters.

use toolgate_model::{Access, Gap, Reach};

use crate::code;
use crate::language::Language;
use crate::shell::Interpreter;
use crate::shell::apply::slot_text;
use crate::shell::text::{Flow, Text, is_mark};
use crate::spec::{Reading, WordKind};

impl Interpreter<'_, '_> {
    /// `sed -f file`
    pub(super) fn read_by_sed(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        for given in reading.options.iter().filter(|given| matches!(given.name, "-f" | "--file")) {
            let Some(slot) = given.value else { continue };
            let file = slot_text(arguments, &slot);
            let flow = if file.raw() == "-" { self.streams.stdin().clone() } else { self.content(&file) };
            match flow.whole() {
                Some(script) => {
                    let deeds = code::sed(script);
                    self.deeds(program, deeds);
                }
                None => self.unknown(Gap::Code, "sed -f"),
            }
        }
        self.backed_up(reading, arguments);
    }

    /// `ed`, `ex -s`, `vim -es` read commands: `w file`, `r file`, `!command`.
    pub(super) fn editor_input(&mut self, program: &str) {
        match self.streams.stdin().clone() {
            Flow::Nothing => {}
            Flow::Text(text) => {
                for line in text.raw().lines() {
                    let line = line.trim_start_matches(|c: char| {
                        c.is_ascii_digit() || matches!(c, ',' | '$' | '%' | '.' | ':' | ' ')
                    });
                    self.editor_command(program, line);
                }
            }
            Flow::Lines(_) | Flow::Any | Flow::Built => {
                if self.streams.is_fed() {
                    self.unknown(Gap::Code, program);
                }
            }
        }
    }

    /// One command of an editor.
    pub(super) fn editor_command(&mut self, program: &str, line: &str) {
        let line = line.trim();
        if let Some((_, command)) = line.split_once('!') {
            let text = Text::marked(command.to_owned());
            self.forked(|shell| shell.text(&text, program));
            return;
        }
        let Some((verb, path)) = line.split_once(char::is_whitespace) else { return };
        let path = Text::marked(path.trim().to_owned());
        let access = match verb.trim_end_matches('!') {
            "w" | "wq" | "W" | "write" | "sav" | "saveas" | "wn" => Access::Write,
            "r" | "e" | "f" | "E" | "read" | "edit" | "sp" | "split" | "so" | "source" => Access::Read,
            "py" | "py3" | "python" | "python3" | "lua" | "perl" | "ruby" | "call" | "exe" | "execute"
            | "normal" | "norm" => {
                self.unknown(Gap::Code, &format!("{program} {line}"));
                return;
            }
            _ => return,
        };
        let path = self.tilde_marked(path.raw());
        self.touch(access, Reach::Exact, &path);
    }

    /// Commands for a program that has a language of its own: what names a place outside, or a way to a shell, is an effect.
    pub(super) fn commands_on_input(&mut self, program: &str, text: &Text) {
        // Words of commands, one by one.
        for word in text.raw().split_whitespace() {
            self.guess_paths(&[Text::known(program), Text::marked(word.to_owned())]);
        }
        let shells = [
            "system(",
            "system ",
            "\n!",
            ".shell",
            ".system",
            "\\!",
            "esyscmd",
            "popen",
            "to program",
            "edit(",
        ];
        if text.raw().starts_with('!') || shells.iter().any(|word| text.raw().contains(word)) {
            self.unknown(Gap::Code, program);
        }
    }

    /// `ruby -e 'puts gets' file`
    pub(super) fn read_by_ruby(&mut self, reading: &Reading, arguments: &[Text]) {
        let codes = reading.uses.iter().filter(|(kind, _)| matches!(kind, WordKind::Code(Language::Ruby)));
        if codes.into_iter().any(|(_, slot)| crate::code::reads_operands(slot_text(arguments, slot).raw())) {
            for at in &reading.operands {
                if let Some(file) = arguments.get(*at) {
                    self.touch(Access::Read, Reach::Exact, file);
                }
            }
        }
    }

    /// Perl opens its files as a shell would: `command|` is run, `>file` is written.
    pub(super) fn opened_by_perl(&mut self, reading: &Reading, arguments: &[Text]) {
        let files = reading.uses.iter().filter(|(kind, _)| matches!(kind, WordKind::Read | WordKind::Write));
        for (_, slot) in files.filter(|(_, slot)| reading.operands.contains(&slot.word)) {
            let file = slot_text(arguments, slot);
            let raw = file.raw();
            if let Some(command) = raw.trim_end().strip_suffix('|') {
                let command = Text::marked(command.to_owned());
                self.forked(|shell| shell.text(&command, "perl"));
            }
            let odd = |letter: char| is_mark(letter) || letter.is_whitespace();
            let opens = |letter: char| odd(letter) || matches!(letter, '<' | '>' | '|' | '&' | '+');
            if raw.starts_with(opens) || raw.ends_with(|letter: char| odd(letter) || letter == '|') {
                self.unknown(Gap::Project, &format!("perl opens {}", file.shown()));
            }
        }
    }
}

/// Whether this command prints the files that it is given, as they are, in pieces or encoded.
pub(in crate::shell) fn prints_files(words: &[Text]) -> bool {
    const PRINTERS: [&str; 30] = [
        "cat", "head", "tail", "bat", "batcat", "nl", "tac", "more", "less", "xxd", "od", "hexdump",
        "strings", "base64", "base32", "basenc", "uuencode", "rev", "sort", "uniq", "cut", "paste", "fold",
        "fmt", "pr", "column", "expand", "unexpand", "zcat", "zless",
    ];
    /// These print what their scripts say, unless they change the files in their places.
    const SCRIPTED: [&str; 6] = ["sed", "gsed", "awk", "gawk", "mawk", "perl"];
    let Some((program, arguments)) = words.split_first() else { return false };
    let changes = |word: &Text| {
        let letters = word.raw().strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| letters.contains('i')) || word.raw().starts_with("--in-place")
    };
    program.whole().map(toolgate_model::base_name).is_some_and(|program| {
        PRINTERS.contains(&program) || (SCRIPTED.contains(&program) && !arguments.iter().any(changes))
    })
}
