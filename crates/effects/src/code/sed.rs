//! sed programs, by GNU's grammar.

use crate::budget;

use super::{Deed, Path, note};

/// What a program would do: every `r`, `w`, `e` and their kin, wherever they stand.
pub(crate) fn sed(program: &str) -> Vec<Deed> {
    budget::pay_for(program.len(), budget::SCAN);
    if budget::is_spent() {
        return vec![Deed::Unknown("a sed program that is too long to be followed")];
    }
    let mut sed = Sed { rest: program, deeds: Vec::new() };
    if sed.script().is_none() {
        note(&mut sed.deeds, Deed::Unknown("a sed program that cannot be read"));
    }
    sed.deeds
}

struct Sed<'a> {
    rest: &'a str,
    deeds: Vec<Deed>,
}

/// `None` is a program that sed would not take, or that we cannot read.
impl<'a> Sed<'a> {
    fn script(&mut self) -> Option<()> {
        let mut open = 0_usize;
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.rest.is_empty() {
                return (open == 0).then_some(());
            }
            if self.address()? {
                self.blanks();
                if self.eat(',') {
                    self.blanks();
                    if self.eat('+') || self.eat('~') {
                        self.number()?;
                    } else if !self.address()? {
                        return None;
                    }
                }
            }
            self.skip(|c| c == '!' || c == ' ' || c == '\t');
            match self.next()? {
                '{' => {
                    open += 1;
                    continue;
                }
                '}' => open = open.checked_sub(1)?,
                '#' => {
                    self.line();
                    continue;
                }
                ':' | 'b' | 't' | 'T' => {
                    self.blanks();
                    self.skip(|c| !c.is_whitespace() && c != ';' && c != '}');
                }
                'a' | 'i' | 'c' => {
                    self.text();
                    continue;
                }
                'r' | 'R' => {
                    let file = self.file()?;
                    if file != "/dev/stdin" {
                        note(&mut self.deeds, Deed::Read(Path::Known(file)));
                    }
                    continue;
                }
                'w' | 'W' => {
                    self.write()?;
                    continue;
                }
                'e' => {
                    let command = self.line().trim().to_owned();
                    note(&mut self.deeds, if command.is_empty() { INPUT } else { Deed::Shell(command) });
                    continue;
                }
                's' => {
                    if self.substitute()? {
                        continue;
                    }
                }
                'y' => {
                    let close = self.next()?;
                    self.pattern(close, false)?;
                    self.pattern(close, false)?;
                }
                'q' | 'Q' | 'l' | 'L' | 'v' => self.skip(|c| !matches!(c, '\n' | ';' | '}' | '#')),
                '=' | 'd' | 'D' | 'F' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' => {}
                _ => return None,
            }
            // What may follow a command.
            self.blanks();
            if !(self.rest.is_empty() || self.rest.starts_with([';', '\n', '}', '#', '\r'])) {
                return None;
            }
        }
    }

    /// Whether there was one.
    fn address(&mut self) -> Option<bool> {
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.number()?;
            if self.eat('~') {
                self.skip(|c| c.is_ascii_digit());
            }
            return Some(true);
        }
        if self.eat('$') {
            return Some(true);
        }
        let close = if self.eat('/') {
            '/'
        } else if self.eat('\\') {
            self.next()?
        } else {
            return Some(false);
        };
        self.pattern(close, true)?;
        self.skip(|c| c == 'I' || c == 'M');
        Some(true)
    }

    /// Whether the line ended with it.
    fn substitute(&mut self) -> Option<bool> {
        let close = self.next().filter(|&c| c != '\n' && c != '\\')?;
        self.pattern(close, true)?;
        self.pattern(close, false)?;
        loop {
            let before = self.rest;
            match self.next() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {}
                Some('e') => note(&mut self.deeds, INPUT),
                Some('w') => {
                    self.write()?;
                    return Some(true);
                }
                _ => {
                    self.rest = before;
                    return Some(false);
                }
            }
        }
    }

    /// Up to the closing character. Within `[…]` of a pattern it does not close.
    fn pattern(&mut self, close: char, brackets: bool) -> Option<()> {
        loop {
            match self.next()? {
                c if c == close => return Some(()),
                '\\' => {
                    self.next()?;
                }
                '[' if brackets => {
                    let inside = self.rest;
                    if !self.bracket() {
                        self.rest = inside;
                    }
                }
                _ => {}
            }
        }
    }

    /// The rest of `[…]`, if it closes on this line.
    fn bracket(&mut self) -> bool {
        self.eat('^');
        self.eat(']');
        loop {
            match self.next() {
                Some(']') => return true,
                Some('[') => {
                    if let Some(kind) = self.rest.chars().next().filter(|c| matches!(c, ':' | '.' | '=')) {
                        self.next();
                        let Some((_, rest)) = self.rest.split_once(kind) else { return false };
                        self.rest = rest;
                        if !self.eat(']') {
                            return false;
                        }
                    }
                }
                None | Some('\n') => return false,
                Some(_) => {}
            }
        }
    }

    /// The text of `a`, `i`, `c`: to the end of the line, further where a backslash ends it.
    fn text(&mut self) {
        self.blanks();
        if self.eat('\\') {
            self.blanks();
            self.eat('\n');
        }
        while let Some(c) = self.next() {
            match c {
                '\n' => break,
                '\\' => {
                    self.next();
                }
                _ => {}
            }
        }
    }

    fn file(&mut self) -> Option<String> {
        self.blanks();
        Some(self.line()).filter(|name| !name.is_empty()).map(str::to_owned)
    }

    fn write(&mut self) -> Option<()> {
        let file = self.file()?;
        if file != "/dev/stdout" && file != "/dev/stderr" {
            note(&mut self.deeds, Deed::Write(Path::Known(file)));
        }
        Some(())
    }

    fn line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    fn number(&mut self) -> Option<()> {
        let before = self.rest.len();
        self.skip(|c| c.is_ascii_digit());
        (self.rest.len() < before).then_some(())
    }

    fn blanks(&mut self) {
        self.skip(|c| c == ' ' || c == '\t');
    }

    fn skip(&mut self, of: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(of);
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }
}

const INPUT: Deed = Deed::Unknown("runs its input as a command");

#[cfg(test)]
mod tests {
    use super::*;

    fn deeds_of(program: &str) -> Vec<String> {
        sed(program)
            .into_iter()
            .map(|deed| match deed {
                Deed::Read(Path::Known(path)) => format!("read {path}"),
                Deed::Write(Path::Known(path)) => format!("write {path}"),
                Deed::Shell(text) => format!("shell {text}"),
                Deed::Unknown(_) => "unknown".into(),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn plain_sed_programs_have_no_effects() {
        for program in [
            "",
            "p",
            "s/a/b/",
            "s/a/b/g;s|c|d|2gp",
            "s,^\\./\\.,,",
            "s~\\([^)]*\\)/\\([^()]*\\)$~\\1_\\2~",
            "s/[/w]/x/",
            "s/[]/]/x/;s/[^]/]/y/;s/[[:space:]/]*/z/",
            "s/[/x/",
            "1,5p",
            "$!N;$d",
            "/a/,/b/d",
            "\\|/etc|d",
            "\\cwfilecd",
            "0,/re/s//x/",
            "2~2G",
            "/x/,+3d",
            "5,~4p",
            "/a/I,/b/Md",
            "1!G;h;$!d",
            "/a/ ! s/x/y/",
            ":a;N;$!ba;s/\\n/ /g",
            ": top\n n; b top",
            "/a/{/b/{p;d};n}",
            "/x/{s/a/b/\n}\n# w /etc/x\np",
            "y/abc/xyz/",
            "y,/w,abc,",
            "a hello w /etc/x",
            "i\\\nw /etc/x\\\nr /etc/y\n",
            "$ a #art_test",
            "1c\\  w /etc/x",
            "/a/i\\\n  e rm\\\n  x\n",
            "q",
            "10q5",
            "l 80;=;F;z",
            "v 4.2",
            "#n",
            "w /dev/stdout",
            "s/a/b/w /dev/stderr",
            "r /dev/stdin",
            "s/x/w \\/etc\\/x/",
            "s/\\t\\t\\tswitch stop {/\\t\\t\\tswitch stop { \\/\\/nolint:exhaustive/",
            "1{a foo\n}",
        ] {
            assert_eq!(deeds_of(program), Vec::<String>::new(), "{program}");
        }
    }

    #[test]
    fn files_and_commands_of_sed_programs_are_found() {
        for (program, expected) in [
            ("w /etc/x", vec!["write /etc/x"]),
            ("1w /etc/x", vec!["write /etc/x"]),
            ("/a/,/b/w out;txt}", vec!["write out;txt}"]),
            ("s/a/b/w /etc/x", vec!["write /etc/x"]),
            ("s/a/b/gpw/etc/x\np", vec!["write /etc/x"]),
            ("s,[,],w,w ../x", vec!["write ../x"]),
            ("sxaxbxwfile", vec!["write file"]),
            ("W ~/x", vec!["write ~/x"]),
            ("{w a\nW b\n}", vec!["write a", "write b"]),
            ("r /etc/passwd", vec!["read /etc/passwd"]),
            ("/x/R /etc/shadow", vec!["read /etc/shadow"]),
            ("e rm -rf /", vec!["shell rm -rf /"]),
            ("1e touch /etc/x", vec!["shell touch /etc/x"]),
            ("e", vec!["unknown"]),
            ("s/.*/rm/e", vec!["unknown"]),
            ("s/a/b/ge", vec!["unknown"]),
            ("s/a/b/ew x", vec!["unknown", "write x"]),
            ("a x\nw /etc/x", vec!["write /etc/x"]),
            ("a\\\nx\nw /etc/x", vec!["write /etc/x"]),
            ("a x\\\ny\nw /etc/x", vec!["write /etc/x"]),
            ("s/[/]/x/;w /etc/x", vec!["write /etc/x"]),
            ("\\cxc w /etc/x", vec!["write /etc/x"]),
            (":a;w /etc/x", vec!["write /etc/x"]),
            ("ba;w /etc/x", vec!["write /etc/x"]),
            ("q;w /etc/x", vec!["write /etc/x"]),
            ("}", vec!["unknown"]),
            ("{p", vec!["unknown"]),
            ("s/a/b", vec!["unknown"]),
            ("k", vec!["unknown"]),
            ("w", vec!["unknown"]),
            ("pp", vec!["unknown"]),
            ("1,p", vec!["unknown"]),
        ] {
            assert_eq!(deeds_of(program), expected, "{program}");
        }
    }
}
