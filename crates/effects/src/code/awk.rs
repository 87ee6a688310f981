//! awk programs: where their output goes, what they read besides their input, what they run.
//!
//! A program is a list of tokens; the few forms that reach out of it (`print > x`, `x | getline`, `system(x)`) are
//! found among them. A name's value is known where every assignment to it is plain text.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::budget;

use super::{Deed, Path, climbs, note};

const MAX_STEPS: usize = 1_000_000;

/// What a program would do.
pub(crate) fn awk(program: &str) -> Vec<Deed> {
    budget::pay_for(program.len(), budget::SCAN);
    if budget::is_spent() {
        return vec![Deed::Unknown("an awk program that is too long to be followed")];
    }
    let Some(tokens) = tokens(program) else {
        return vec![Deed::Unknown("an awk program that cannot be read")];
    };
    let mut awk = Awk {
        tokens: &tokens,
        names: BTreeMap::new(),
        reset: Vec::new(),
        deeds: Vec::new(),
        budget: Cell::new(MAX_STEPS),
    };
    awk.assignments();
    for at in 0..tokens.len() {
        awk.look(at);
    }
    // What it starts has the environment that it has made.
    let starts = awk.deeds.iter().any(|deed| matches!(deed, Deed::Shell(_)));
    if starts && tokens.contains(&Token::Name("ENVIRON".to_owned())) {
        note(&mut awk.deeds, Deed::Unknown("may change its environment"));
    }
    if awk.budget.get() == 0 {
        note(&mut awk.deeds, Deed::Unknown("an awk program that is too long to be followed"));
    }
    awk.deeds
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number,
    Regex,
    Op(&'static str),
}

/// Longest first.
const OPS: [&str; 47] = [
    "**=", "|&", "||", "&&", ">>", "==", "!=", "<=", ">=", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=",
    "!~", "**", "+", "-", "*", "/", "%", "^", "!", "<", ">", "=", "~", "?", ":", "|", ",", ";", "(", ")",
    "[", "]", "{", "}", "$", "@", "&", "\\", ".", "'",
];

fn tokens(program: &str) -> Option<Vec<Token>> {
    let mut out: Vec<Token> = Vec::new();
    let mut rest = program;
    loop {
        let mut chars = rest.chars();
        let Some(c) = chars.next() else { return Some(out) };
        let after = chars.as_str();
        if c == '\n' {
            // A line goes on behind these.
            let joined = matches!(out.last(), Some(Token::Op("," | "{" | "&&" | "||" | ";" | "\n")) | None)
                || matches!(out.last(), Some(Token::Name(name)) if name == "else" || name == "do");
            if !joined {
                out.push(NEWLINE);
            }
            rest = after;
        } else if c.is_whitespace() {
            rest = after;
        } else if let Some(next) = rest.strip_prefix("\\\n").or_else(|| rest.strip_prefix("\\\r\n")) {
            rest = next;
        } else if c == '#' {
            rest = after.find('\n').and_then(|at| after.get(at..)).unwrap_or_default();
        } else if c == '"' {
            let (text, next) = text(after)?;
            out.push(Token::Text(text));
            rest = next;
        } else if c == '/' && (!ends_operand(out.last()) || ends_condition(&out)) {
            rest = regex(after)?;
            out.push(Token::Regex);
        } else if c.is_ascii_digit() || (c == '.' && after.starts_with(|c: char| c.is_ascii_digit())) {
            rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
            out.push(Token::Number);
        } else if c.is_alphabetic() || c == '_' {
            let end =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
            // `space::name`, but not the colons of `x?y:z`.
            let word = rest.get(..end)?;
            let own = if word.contains("::") { word } else { word.split(':').next()? };
            rest = rest.get(own.len()..)?;
            out.push(Token::Name(own.rsplit("::").next()?.to_owned()));
        } else {
            let op = OPS.iter().find(|op| rest.starts_with(**op))?;
            out.push(Token::Op(op));
            rest = rest.get(op.len()..)?;
        }
    }
}

const NEWLINE: Token = Token::Op("\n");

fn ends_operand(token: Option<&Token>) -> bool {
    match token {
        None => false,
        // `length /x/` is a regular expression to mawk, and a quotient to others.
        Some(Token::Name(name)) => !is_keyword(name) && name != "length",
        Some(Token::Text(_) | Token::Number | Token::Regex) => true,
        Some(Token::Op(op)) => matches!(*op, ")" | "]" | "++" | "--"),
    }
}

/// Whether the last bracket closes what stands behind `if`, `while` or `for`: a statement follows, and may be a regular expression.
fn ends_condition(tokens: &[Token]) -> bool {
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate().rev() {
        match token {
            Token::Op(")") => open += 1,
            Token::Op("(") if open == 1 => {
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                return matches!(before, Some(Token::Name(name)) if matches!(name.as_str(), "if" | "while" | "for" | "switch"));
            }
            Token::Op("(") => open -= 1,
            _ if open == 0 => return false,
            _ => {}
        }
    }
    false
}

fn is_keyword(name: &str) -> bool {
    const KEYWORDS: &str =
        " print printf return getline in if else while for do delete case exit func function BEGIN END ";
    KEYWORDS.split(' ').any(|word| word == name)
}

fn text(mut rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    loop {
        let mut chars = rest.chars();
        match chars.next()? {
            '"' => return Some((text, chars.as_str())),
            '\n' => return None,
            '\\' => {
                let c = chars.next()?;
                let (radix, digits, from) = match c {
                    'x' => (16, 2, chars.as_str()),
                    'u' => (16, 8, chars.as_str()),
                    _ => (8, 3, rest.get(1..)?),
                };
                let length = from.chars().take(digits).take_while(|c| c.is_digit(radix)).count();
                if let Some(code) = from.get(..length).and_then(|code| u32::from_str_radix(code, radix).ok())
                {
                    text.push(char::from_u32(code)?);
                    rest = from.get(length..)?;
                    continue;
                }
                match c {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    '\n' => {}
                    'a' | 'b' | 'f' | 'v' => text.push(' '),
                    other => text.push(other),
                }
            }
            c => text.push(c),
        }
        rest = chars.as_str();
    }
}

/// What stands behind the closing slash.
fn regex(mut rest: &str) -> Option<&str> {
    let mut bracket = false;
    loop {
        let mut chars = rest.chars();
        match chars.next()? {
            '/' if !bracket => return Some(chars.as_str()),
            '\n' => return None,
            '\\' => {
                chars.next()?;
            }
            // Only where it closes: mawk takes a lone `[` as it is.
            '[' if !bracket => {
                let line = chars.as_str().split('\n').next()?;
                let start = line.strip_prefix('^').unwrap_or(line);
                let start = start.strip_prefix(']').unwrap_or(start);
                bracket = start.chars().take(1024).any(|c| c == ']');
                rest = chars.as_str().get(line.len() - start.len()..)?;
                continue;
            }
            ']' => bracket = false,
            _ => {}
        }
        rest = chars.as_str();
    }
}

/// Variables in which awk itself counts.
fn is_counter(name: &str) -> bool {
    matches!(name, "NR" | "FNR" | "NF")
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    /// A number: no name that leads elsewhere.
    Number,
    Unknown,
}

struct Awk<'t> {
    tokens: &'t [Token],
    /// The texts that a name may hold. None at all where one of its values is not known.
    names: BTreeMap<&'t str, Vec<String>>,
    /// Those of `NR`, `FNR` and `NF` that the program may give another value than a number.
    reset: Vec<&'t str>,
    deeds: Vec<Deed>,
    /// Steps that are left, so that no program takes long.
    budget: Cell<usize>,
}

impl<'t> Awk<'t> {
    fn at(&self, at: usize) -> Option<&'t Token> {
        budget::pay(4);
        self.budget.set(self.budget.get().saturating_sub(1));
        self.tokens.get(at).filter(|_| self.budget.get() > 0)
    }

    fn is(&self, at: usize, op: &str) -> bool {
        matches!(self.at(at), Some(Token::Op(own)) if *own == op)
    }

    /// All assignments, in the order in which they stand: a name's own value may be made of earlier ones.
    fn assignments(&mut self) {
        let mut unknown: Vec<&'t str> = Vec::new();
        let symtab = self.tokens.contains(&Token::Name("SYMTAB".into()));
        let mut parameters = false;
        for at in 0..self.tokens.len() {
            let Some(Token::Name(name)) = self.at(at) else {
                parameters = parameters && !self.is(at, ")");
                continue;
            };
            if name == "function" || name == "func" {
                parameters = true;
                continue;
            }
            let before = at.checked_sub(1).and_then(|before| self.at(before));
            let other = |token: Option<&Token>| {
                matches!(
                    token,
                    Some(Token::Op("++" | "--" | "+=" | "-=" | "*=" | "/=" | "%=" | "^=" | "**="))
                )
            };
            let read = matches!(before, Some(Token::Name(word)) if word == "getline");
            let looped = matches!(before, Some(Token::Op("(")))
                && matches!(self.at(at + 1), Some(Token::Name(word)) if word == "in");
            let replaced = matches!(before, Some(Token::Op(",")))
                && self.is(at + 1, ")")
                && self
                    .tokens
                    .iter()
                    .any(|token| matches!(token, Token::Name(word) if word.ends_with("sub")));
            let is_unknown = symtab || parameters || read || looped || replaced;
            if is_counter(name)
                && !self.reset.contains(&name.as_str())
                && (is_unknown || (self.is(at + 1, "=") && !self.computes(at + 2)))
            {
                self.reset.push(name);
            }
            if is_unknown || other(before) || other(self.at(at + 1)) {
                unknown.push(name);
            } else if self.is(at + 1, "=") {
                let end = self.expression_end(at + 2);
                let pieces = self.pieces(at + 2, end, 0);
                match whole(&pieces).filter(|_| !self.refers(at + 2, end, name)) {
                    Some(text) => {
                        let texts = self.names.entry(name).or_default();
                        if !texts.contains(&text) {
                            texts.push(text);
                        }
                    }
                    None => unknown.push(name),
                }
            }
        }
        for name in unknown {
            self.names.remove(name);
        }
        // A name with several values is followed where it stands alone only.
        self.names.retain(|_, texts| texts.len() <= 16);
    }

    /// Whether an expression is of numbers alone.
    fn computes(&self, from: usize) -> bool {
        let end = self.expression_end(from);
        self.tokens.get(from..end).unwrap_or_default().iter().all(|token| match token {
            Token::Number => true,
            Token::Name(name) => is_counter(name),
            Token::Op(op) => matches!(*op, "+" | "-" | "*" | "/" | "%" | "(" | ")"),
            Token::Text(_) | Token::Regex => false,
        })
    }

    fn refers(&self, from: usize, to: usize, name: &str) -> bool {
        self.tokens
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .any(|token| matches!(token, Token::Name(own) if own == name))
    }

    /// Where the expression ends that begins here: at what closes its brackets, or ends its statement.
    fn expression_end(&self, from: usize) -> usize {
        let mut open = 0_usize;
        for at in from..self.tokens.len() {
            match self.at(at) {
                None => return at,
                Some(Token::Op("(" | "[")) => open += 1,
                Some(Token::Op(")" | "]")) if open == 0 => return at,
                Some(Token::Op(")" | "]")) => open -= 1,
                Some(Token::Op(";" | "\n" | "{" | "}")) => return at,
                Some(Token::Op(",")) if open == 0 => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The texts that are joined here.
    fn pieces(&self, from: usize, to: usize, depth: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut at = from;
        if depth > 8 {
            return vec![Piece::Unknown];
        }
        while at < to {
            let piece = match self.at(at) {
                Some(Token::Text(text)) => Piece::Text(text.clone()),
                Some(Token::Number) => Piece::Number,
                Some(Token::Op("(")) => {
                    let end = self.expression_end(at + 1);
                    let inner = self.pieces(at + 1, end, depth + 1);
                    pieces.extend(inner);
                    if !self.is(end, ")") {
                        return vec![Piece::Unknown];
                    }
                    at = end + 1;
                    continue;
                }
                Some(Token::Name(name)) if name == "sprintf" && self.is(at + 1, "(") => {
                    let end = self.expression_end(at + 2);
                    match whole(&self.pieces(at + 2, end, depth + 1)) {
                        Some(format) => pieces.extend(formatted(&format)),
                        None => pieces.push(Piece::Unknown),
                    }
                    at = self.closing(end).min(to) + 1;
                    continue;
                }
                Some(Token::Name(name))
                    if matches!(name.as_str(), "int" | "length" | "systime") && self.is(at + 1, "(") =>
                {
                    at = self.closing(at + 2).min(to);
                    Piece::Number
                }
                Some(Token::Name(name)) if is_counter(name) && !self.reset.contains(&name.as_str()) => {
                    Piece::Number
                }
                Some(Token::Name(name)) if !self.is(at + 1, "(") && !self.is(at + 1, "[") => {
                    match self.names.get(name.as_str()).map(Vec::as_slice) {
                        Some([text]) => Piece::Text(text.clone()),
                        _ => Piece::Unknown,
                    }
                }
                _ => return vec![Piece::Unknown],
            };
            pieces.push(piece);
            at += 1;
        }
        pieces
    }

    /// The bracket that closes the one which stands open here.
    fn closing(&self, from: usize) -> usize {
        let mut at = self.expression_end(from);
        while self.is(at, ",") {
            at = self.expression_end(at + 1);
        }
        at
    }

    /// Every text that an expression may have.
    fn texts(&self, from: usize, to: usize) -> Option<Vec<String>> {
        if let (Some(Token::Name(name)), true) = (self.at(from), to == from + 1) {
            return self.names.get(name.as_str()).cloned();
        }
        whole(&self.pieces(from, to, 0)).map(|text| vec![text])
    }

    fn look(&mut self, at: usize) {
        match self.at(at) {
            Some(Token::Name(name)) => match name.as_str() {
                "print" | "printf" => self.print(at + 1),
                "getline" => self.getline(at),
                "system" if self.is(at + 1, "(") => {
                    let end = self.expression_end(at + 2);
                    self.run(at + 2, end);
                }
                "ARGV" => self.argument(at),
                "ENVIRON" if self.is(at + 1, "[") && self.is(self.closing(at + 2) + 1, "=") => {
                    note(&mut self.deeds, Deed::Unknown("changes its environment"));
                }
                _ => {}
            },
            Some(Token::Op("@")) => match (self.at(at + 1), self.at(at + 2)) {
                (Some(Token::Name(word)), _) if word == "namespace" => {}
                (Some(Token::Name(word)), Some(Token::Text(file))) if word == "include" => {
                    note(&mut self.deeds, Deed::Read(Path::Known(file.clone())));
                    note(&mut self.deeds, Deed::Unknown("runs code of another file"));
                }
                (Some(Token::Name(word)), _) if word == "load" => {
                    note(&mut self.deeds, Deed::Unknown("loads an extension"));
                }
                _ => note(&mut self.deeds, Deed::Unknown("calls a function that is only known when it runs")),
            },
            _ => {}
        }
    }

    /// `print … > file`, `print … | command`: only outside of brackets.
    fn print(&mut self, from: usize) {
        let mut at = from;
        loop {
            at = self.expression_end_or(at, &[">", ">>", "|", "|&"]);
            match self.at(at) {
                Some(Token::Op(",")) => at += 1,
                Some(Token::Op(">" | ">>")) => {
                    let end = self.expression_end(at + 1);
                    return self.file(at + 1, end, Deed::Write);
                }
                Some(Token::Op("|" | "|&")) => {
                    let end = self.expression_end(at + 1);
                    return self.run(at + 1, end);
                }
                _ => return,
            }
        }
    }

    fn expression_end_or(&self, from: usize, ops: &[&str]) -> usize {
        let mut open = 0_usize;
        let end = self.expression_end(from);
        for at in from..end {
            match self.at(at) {
                Some(Token::Op("(" | "[")) => open += 1,
                Some(Token::Op(")" | "]")) => open = open.saturating_sub(1),
                Some(Token::Op(op)) if open == 0 && ops.contains(op) => return at,
                _ => {}
            }
        }
        end
    }

    fn getline(&mut self, at: usize) {
        // `command | getline`
        if let Some(pipe) = at.checked_sub(1).filter(|&pipe| self.is(pipe, "|") || self.is(pipe, "|&")) {
            let mut from = pipe;
            let mut open = 0_usize;
            while let Some(before) = from.checked_sub(1) {
                match self.at(before) {
                    Some(Token::Op(")" | "]")) => open += 1,
                    Some(Token::Op("(" | "[")) if open > 0 => open -= 1,
                    Some(Token::Op("$") | Token::Text(_) | Token::Number) => {}
                    Some(Token::Name(name)) if open > 0 || !is_keyword(name) => {}
                    _ if open > 0 => {}
                    _ => break,
                }
                from = before;
            }
            return self.run(from, pipe);
        }
        // `getline [variable] < file`
        let mut from = at + 1;
        while matches!(self.at(from), Some(Token::Name(_) | Token::Number | Token::Op("$"))) {
            from += 1;
        }
        if self.is(from, "[") {
            from = self.closing(from + 1) + 1;
        }
        if self.is(from, "<") {
            let end = self
                .expression_end_or(from + 1, &["&&", "||", ">", "<", "==", "!=", ">=", "<=", "?", "+", "-"]);
            self.file(from + 1, end, Deed::Read);
        }
    }

    /// `ARGV[1] = "file"` is read as input.
    fn argument(&mut self, at: usize) {
        if !self.is(at + 1, "[") {
            // The whole list is given to a function that may fill it.
            let deleted = matches!(at.checked_sub(1).and_then(|at| self.at(at)), Some(Token::Name(word)) if word == "delete" || word == "in");
            if !deleted {
                note(&mut self.deeds, Deed::Read(Path::Unknown));
            }
            return;
        }
        let equals = self.closing(at + 2) + 1;
        if self.is(equals, "=") {
            let end = self.expression_end(equals + 1);
            self.file(equals + 1, end, Deed::Read);
        }
    }

    fn run(&mut self, from: usize, to: usize) {
        match self.texts(from, to) {
            Some(texts) => {
                for text in texts {
                    let deed = if text.starts_with("/inet") { Deed::Connect } else { Deed::Shell(text) };
                    note(&mut self.deeds, deed);
                }
            }
            None => note(&mut self.deeds, Deed::Unknown("runs a command that is only known when it runs")),
        }
    }

    fn file(&mut self, from: usize, to: usize, deed: fn(Path) -> Deed) {
        if let Some(texts) = self.texts(from, to) {
            for text in texts.into_iter().filter(|text| !text.is_empty()) {
                match text.as_str() {
                    "-" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" => {}
                    _ if text.starts_with("/inet") => note(&mut self.deeds, Deed::Connect),
                    _ => note(&mut self.deeds, deed(Path::Known(text))),
                }
            }
            return;
        }
        let pieces = self.pieces(from, to, 0);
        let numbered = pieces.iter().all(|piece| match piece {
            Piece::Text(text) => !climbs(text) && !text.starts_with("/inet"),
            Piece::Number => true,
            Piece::Unknown => false,
        });
        let start = match pieces.first() {
            Some(Piece::Text(text)) => text.clone(),
            _ => ".".to_owned(),
        };
        note(&mut self.deeds, deed(if numbered { Path::Below(start) } else { Path::Unknown }));
    }
}

/// The text, where all of it is known.
fn whole(pieces: &[Piece]) -> Option<String> {
    let texts = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        Piece::Number | Piece::Unknown => None,
    });
    texts.collect::<Option<String>>().filter(|_| !pieces.is_empty())
}

/// `out/%03d.txt`
fn formatted(format: &str) -> Vec<Piece> {
    let mut parts = format.split('%');
    let mut pieces = vec![Piece::Text(parts.next().unwrap_or_default().to_owned())];
    for part in parts {
        let spec =
            part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | ' '));
        match spec.strip_prefix(['d', 'i', 'x', 'u', 'o']) {
            Some(rest) => pieces.extend([Piece::Number, Piece::Text(rest.to_owned())]),
            None => pieces.push(Piece::Unknown),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deeds_of(program: &str) -> Vec<String> {
        let path = |path: Path| match path {
            Path::Known(path) => path,
            Path::Below(path) => format!("{path}*"),
            Path::Unknown => "?".into(),
        };
        awk(program)
            .into_iter()
            .map(|deed| match deed {
                Deed::Read(file) => format!("read {}", path(file)),
                Deed::Write(file) => format!("write {}", path(file)),
                Deed::Shell(text) => format!("shell {text}"),
                Deed::Unknown(_) => "unknown".into(),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn plain_awk_programs_have_no_effects() {
        for program in [
            "",
            "{print}",
            "{print $2}",
            "{sum += $1} END {print \"Lines changed: \" sum}",
            "{split($3,p,\"/\"); k=p[1]\"/\"p[2]; add[k]+=$1} END {for (i in add) printf \"%8d %s\\n\", add[i], i}",
            "$1 ~ /^g[34567]$/ {if (!($2 in seen)) {seen[$2]=$1; print $1, $2}}",
            "{print $5/1024/1024\" MB\"}",
            "NR>=139 && NR<=146 {print NR\": \"length($0)}",
            "/\\) Enabled\\(\\) bool \\{/,/^\\}/",
            "{print (a > b), (\"x\" > \"/etc/x\")}",
            "{print($1 > 5)}",
            "{x = $1 > 5 ? \"a\" : \"b\"; print x}",
            "# print > \"/etc/x\"\n{print}",
            "{print \"a > /etc/x | sh\"}",
            "/system(\"rm\")/ {n++}",
            "/[/]system/ {n++}",
            "{gsub(/\\//, \"_\"); print}",
            "{n = $1 / 2; m = n / 3 > \"1\"}",
            "{print > \"/dev/stderr\"}",
            "{printf \"x\" > \"/dev/stdout\"}",
            "{print \"x\" > \"-\"}",
            "{getline; print}",
            "{getline line; print line}",
            "{while ((getline line) > 0) n++}",
            "BEGIN {print ENVIRON[\"HOME\"]}",
            "BEGIN {for (i = 0; i < ARGC; i++) print ARGV[i]}",
            "function f(a,b) {return a/b}\n{print f($1,\n $2)}",
            "a||b{print}",
            "{print $1,\n$2}",
            "NR==FNR { array[$1,$2]=$8; next } ($1,$2) in array { print $0 \";\" array[$1,$2] }",
            "{ printf(\"%s\\n\", $1) }",
            "{ close(\"x\"); fflush() }",
            "{ $3 = \"x\"; print }",
        ] {
            assert_eq!(deeds_of(program), Vec::<String>::new(), "{program}");
        }
    }

    #[test]
    fn files_and_commands_of_awk_programs_are_found() {
        for (program, expected) in [
            ("BEGIN{print \"x\" >> \"/home/a/.bashrc\"}", vec!["write /home/a/.bashrc"]),
            ("{print > \"out.txt\"}", vec!["write out.txt"]),
            ("{print($1,$2) > \"/etc/x\"}", vec!["write /etc/x"]),
            ("{print $1, $2 > \"/etc/\" \"x\"}", vec!["write /etc/x"]),
            ("{print > (\"/etc\" \"/x\")}", vec!["write /etc/x"]),
            ("{print > \"/\\145tc/\\x78\"}", vec!["write /etc/x"]),
            ("{if (a) print > \"a\"; else print > \"b\"}", vec!["write a", "write b"]),
            ("{if (a) print > \"a\"\nelse print > \"b\"}", vec!["write a", "write b"]),
            ("BEGIN{f=\"/etc/x\"; printf \"x\" > f; close(f)}", vec!["write /etc/x"]),
            ("BEGIN{d=\"/etc\"; f=d \"/x\"; print > f}", vec!["write /etc/x"]),
            ("BEGIN{f=\"a\"} /x/{f=\"/etc/x\"} {print > f}", vec!["write a", "write /etc/x"]),
            ("{f=\"a\"; f=f \"/../..\"; print > f}", vec!["write ?"]),
            ("{f=$1; print > f}", vec!["write ?"]),
            ("BEGIN{f=\"a\"}{getline f; print > f}", vec!["write ?"]),
            ("BEGIN{f=\"a\"}{sub(/a/, \"/etc\", f); print > f}", vec!["write ?"]),
            ("{print > f}", vec!["write ?"]),
            ("{print > $1\".txt\"}", vec!["write ?"]),
            ("{print > \"out/\" $1}", vec!["write ?"]),
            ("{print > \"out/\" NR \".txt\"}", vec!["write out/*"]),
            ("{print > \"out/\" NR \"/../../x\"}", vec!["write ?"]),
            ("{print > sprintf(\"out/%03d.txt\", NR)}", vec!["write out/*"]),
            ("{NF = NF - 1; print > (\"out/\" NF \".txt\")}", vec!["write out/*"]),
            ("{NR++; FNR = 0; print > (\"out/\" NR FNR)}", vec!["write out/*"]),
            ("BEGIN{FNR=\".\"; print \"q\" > (FNR FNR \"/y\")}", vec!["write ../y"]),
            ("BEGIN{NR=\".\" \".\"; print > (\"a/\" NR \"/y\")}", vec!["write a/../y"]),
            ("BEGIN{NF=$1; print > (\"a/\" NF)}", vec!["write ?"]),
            ("BEGIN{x = NR = \"..\"; print > (\"a/\" NR)}", vec!["write a/.."]),
            ("{sub(/1/, \"..\", FNR); print > (\"a/\" FNR \"/y\")}", vec!["write ?"]),
            ("{gsub(/1/, \".\", NR); print > (\"a/\" NR)}", vec!["write ?"]),
            ("BEGIN{SYMTAB[\"NR\"]=\"..\"; print > (\"a/\" NR)}", vec!["write ?"]),
            ("function f(NR) {print > (\"a/\" NR)}\nBEGIN{f(\"..\")}", vec!["write ?"]),
            ("BEGIN{a[\"..\"]; for (NR in a) print > (\"a/\" NR)}", vec!["write ?"]),
            ("BEGIN{getline NR < \"l.txt\"; print \"q\" > NR}", vec!["read l.txt", "write ?"]),
            ("BEGIN{\"pwd\" | getline FNR; print > (\"a\" FNR)}", vec!["shell pwd", "write ?"]),
            ("{print > sprintf(\"out/%s.txt\", $1)}", vec!["write ?"]),
            ("{print > ENVIRON[\"HOME\"] \"/x\"}", vec!["write ?"]),
            ("{print > \"/etc/x\" $1}", vec!["write ?"]),
            ("BEGIN{print \"x\" | \"cat > /etc/x\"}", vec!["shell cat > /etc/x"]),
            ("BEGIN{print \"x\" |& \"sh\"}", vec!["shell sh"]),
            ("{print $0 | $1}", vec!["unknown"]),
            ("{c = \"sort -k2\"; print | c}", vec!["shell sort -k2"]),
            ("BEGIN{system(\"rm -rf /\")}", vec!["shell rm -rf /"]),
            ("{system(\"rm \" $1)}", vec!["unknown"]),
            ("{awk::system(\"rm\")}", vec!["shell rm"]),
            ("{ x = system ( \"rm\" ) }", vec!["shell rm"]),
            ("BEGIN{\"date\" | getline d}", vec!["shell date"]),
            ("BEGIN{while ((\"ls \" \"/\" | getline f) > 0) n++}", vec!["shell ls /"]),
            ("BEGIN{cmd = \"touch /etc/x\"; cmd | getline; close(cmd)}", vec!["shell touch /etc/x"]),
            ("{$0 | getline}", vec!["unknown"]),
            ("{(\"ls \" $1) | getline x}", vec!["unknown"]),
            ("BEGIN{\"sh\" |& getline}", vec!["shell sh"]),
            ("BEGIN{while ((getline l < \"/etc/shadow\") > 0) print l}", vec!["read /etc/shadow"]),
            ("BEGIN{getline < \"/etc/shadow\"; print}", vec!["read /etc/shadow"]),
            ("BEGIN{getline a[1] < \"/etc/shadow\"}", vec!["read /etc/shadow"]),
            ("{getline x < $1}", vec!["read ?"]),
            ("BEGIN{getline x < \"-\"}", vec![]),
            ("BEGIN{ARGV[1]=\"/etc/shadow\"; ARGC=2}", vec!["read /etc/shadow"]),
            ("BEGIN{ARGV[ARGC++]=$1}", vec!["read ?"]),
            ("BEGIN{split(\"a /etc/x\", ARGV)}", vec!["read ?"]),
            ("BEGIN{s=\"/inet/tcp/0/host/80\"; print \"x\" |& s}", vec!["Connect"]),
            ("BEGIN{print \"x\" > \"/inet/udp/0/h/1\"}", vec!["Connect"]),
            ("@include \"../x.awk\"\n{print}", vec!["read ../x.awk", "unknown"]),
            ("@load \"filefuncs\"", vec!["unknown"]),
            ("{f=\"system\"; @f(\"rm\")}", vec!["unknown"]),
            ("BEGIN{ENVIRON[\"PATH\"]=\".\"}", vec!["unknown"]),
            ("BEGIN{SYMTAB[\"f\"]=\"/etc/x\"; f=\"a\"; print > f}", vec!["write ?"]),
            ("BEGIN{if (1) /\"/; system(\"rm\"); x=\"/\"}", vec!["shell rm"]),
            ("{ while ((a+b)/2 > c) n++; $/\"/; system(\"rm\"); x=\"/\"}", vec!["shell rm"]),
            ("{ length /\"/; system(\"rm\"); x=\"/\"}", vec!["shell rm"]),
            ("{ sub(/a/, \"b\", ENVIRON[\"PATH\"]); system(\"ls\") }", vec!["shell ls", "unknown"]),
            ("BEGIN{print \"a", vec!["unknown"]),
            ("BEGIN{x = /a", vec!["unknown"]),
            ("{print \"x\" > \"a\" ; print \"y\" >> \"b\"}", vec!["write a", "write b"]),
            ("/x/ {print > \"a\"} # > \"c\"\n!/y/ {print > \"b\"}", vec!["write a", "write b"]),
        ] {
            assert_eq!(deeds_of(program), expected, "{program}");
        }
    }
}
