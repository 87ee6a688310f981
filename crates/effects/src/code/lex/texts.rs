//! The texts of a program: quotes of every kind, here-documents, patterns, and the code inside of them.

use super::{Lexer, MAX_DEPTH, MAX_PATTERN, Piece, Token};
use crate::language::Language;

#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    /// A backslash stays, and what it stands before does not close.
    Raw,
    /// Only the backslash and the closing sign.
    Single,
    All,
}

#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Nothing,
    /// `{x}`
    Braces,
    /// `${x}`
    Dollar,
    /// `#{x}`
    Hash,
    /// `$x`, `@{[x]}`, `{$x}`
    Sigils,
}

pub(super) struct Heredoc {
    token: usize,
    end: String,
    inside: Inside,
}

impl<'a> Lexer<'a> {
    /// Whether a text stood here.
    pub(super) fn text(&mut self) -> Option<bool> {
        use Language::{Lua, Node, Perl, Php, Python, Ruby};
        let first = self.peek().unwrap_or(' ');
        let prefix = self.language == Python && "rRbBuUfFtT".contains(first);
        if !prefix && !matches!(first, '"' | '\'' | '`' | '[' | '<' | '%' | ':' | '/') {
            return Some(false);
        }
        let operand = matches!(first, '<' | '%' | ':' | '/') && self.operand();
        let pieces = match (self.language, self.peek()) {
            (Python, _) => {
                let prefix: String =
                    self.rest.chars().take(3).take_while(char::is_ascii_alphabetic).collect();
                let after = self.rest.get(prefix.len()..).unwrap_or_default();
                if !after.starts_with(['"', '\''])
                    || prefix.len() > 2
                    || !prefix.chars().all(|c| "rRbBuUfFtT".contains(c))
                {
                    return Some(false);
                }
                self.rest = after;
                let has = |letter: char| prefix.to_ascii_lowercase().contains(letter);
                let escapes = if has('r') { Escapes::Raw } else { Escapes::All };
                let inside = if has('f') || has('t') { Inside::Braces } else { Inside::Nothing };
                let close =
                    ["\"\"\"", "'''", "\"", "'"].into_iter().find(|close| self.rest.starts_with(close))?;
                self.eat(close);
                self.quoted(None, close, escapes, inside)?
            }
            (Node, Some('`')) => self.after(1)?.quoted(None, "`", Escapes::All, Inside::Dollar)?,
            (Lua, Some('[')) if self.rest.starts_with("[[") || self.rest.starts_with("[=") => {
                let before = self.rest;
                let Some(close) = self.long_bracket() else {
                    self.rest = before;
                    return Some(false);
                };
                let (text, rest) = self.rest.split_once(close.as_str())?;
                self.rest = rest;
                vec![Piece::Plain(text.to_owned())]
            }
            (Perl | Ruby | Php, Some('`')) => {
                let inside = if self.language == Ruby { Inside::Hash } else { Inside::Sigils };
                let pieces = self.after(1)?.quoted(None, "`", Escapes::All, inside)?;
                self.out.push(Token::Shell(pieces));
                return Some(true);
            }
            (Perl | Php, Some('"')) => self.after(1)?.quoted(None, "\"", Escapes::All, Inside::Sigils)?,
            (Ruby, Some('"')) => self.after(1)?.quoted(None, "\"", Escapes::All, Inside::Hash)?,
            (Perl | Php | Ruby, Some('\'')) => {
                self.after(1)?.quoted(None, "'", Escapes::Single, Inside::Nothing)?
            }
            (Perl | Php | Ruby, Some('<')) if operand && self.heredoc() => return Some(true),
            (Perl, Some('<')) if operand => return Some(self.angle()),
            (Ruby, Some('%')) if operand => return self.percent(),
            (Ruby, Some(':')) if operand && self.symbol() => return Some(true),
            (Perl | Ruby | Node, Some('/')) if operand => {
                let before = self.rest;
                let flags = self.after(1)?.regex('/');
                if flags.is_none() {
                    self.rest = before;
                }
                return Some(flags.is_some());
            }
            (Language::Other, Some('`')) => {
                self.after(1)?.quoted(None, "`", Escapes::All, Inside::Nothing)?
            }
            (_, Some('"')) => self.after(1)?.quoted(None, "\"", Escapes::All, Inside::Nothing)?,
            (_, Some('\'')) => self.after(1)?.quoted(None, "'", Escapes::All, Inside::Nothing)?,
            _ => return Some(false),
        };
        self.out.push(Token::Text(pieces));
        Some(true)
    }

    /// `[[` or `[==[` of lua, and what closes it.
    pub(super) fn long_bracket(&mut self) -> Option<String> {
        let inner = self.rest.strip_prefix('[')?;
        let start = inner.trim_start_matches('=');
        let level = inner.len() - start.len();
        self.rest = start.strip_prefix('[')?;
        Some(format!("]{}]", "=".repeat(level)))
    }

    /// A pattern up to its end and its letters. Code inside of it counts as `eval`.
    fn regex(&mut self, close: char) -> Option<String> {
        let mut bracket = false;
        let start = self.rest;
        loop {
            if start.len() - self.rest.len() > MAX_PATTERN {
                return None;
            }
            match self.bump()? {
                '\\' => {
                    self.bump();
                }
                '\n' if close == '/' && self.language != Language::Perl => return None,
                '[' => bracket = self.language == Language::Node,
                ']' => bracket = false,
                c if c == close && !bracket => break,
                _ => {}
            }
        }
        let body = start.get(..start.len() - self.rest.len()).unwrap_or_default();
        if self.language == Language::Perl
            && (body.contains("(?{") || body.contains("(??{") || body.contains("@{"))
        {
            self.evaluated();
        }
        let letters: String = self.rest.chars().take_while(char::is_ascii_alphabetic).collect();
        self.rest = self.rest.get(letters.len()..)?;
        self.out.push(Token::Regex);
        Some(letters)
    }

    /// Code that is made when it runs.
    pub(super) fn evaluated(&mut self) {
        let call = [
            Token::Op(";"),
            Token::Name("eval".into()),
            Token::Op("("),
            Token::Name("$".into()),
            Token::Op(")"),
        ];
        self.out.extend(call);
    }

    /// `<<EOF`, `<<~'EOF'`, `<<<EOF`: the body comes with the next line.
    fn heredoc(&mut self) -> bool {
        let before = self.rest;
        let found = self.eat(if self.language == Language::Php { "<<<" } else { "<<" });
        let _indented = self.eat("~") || self.eat("-") || self.language == Language::Php && self.eat(" ");
        let quote = self.peek().filter(|c| matches!(c, '"' | '\''));
        if quote.is_some() {
            self.bump();
        }
        let end: String = self.rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let named =
            end.starts_with(|c: char| c.is_alphabetic() && (quote.is_some() || c.is_uppercase()) || c == '_');
        if !found || !named {
            self.rest = before;
            return false;
        }
        self.rest = self.rest.get(end.len()..).unwrap_or_default();
        if quote.is_some() {
            self.bump();
        }
        let inside = match self.language {
            _ if quote == Some('\'') => Inside::Nothing,
            Language::Ruby => Inside::Hash,
            _ => Inside::Sigils,
        };
        self.heredocs.push(Heredoc { token: self.out.len(), end, inside });
        self.out.push(Token::Text(Vec::new()));
        true
    }

    /// The bodies of the here-documents that began on the line before.
    pub(super) fn bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let start = self.rest;
            let mut length = 0;
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                let after = line.trim().strip_prefix(heredoc.end.as_str());
                if after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
                    // `EOT;` and `EOT, 5)` of php go on behind the word.
                    self.rest = self.rest.split_once(heredoc.end.as_str()).map_or(rest, |(_, rest)| rest);
                    break;
                }
                length = start.len() - rest.len();
                self.rest = rest;
            }
            let body = start.get(..length).unwrap_or_default();
            let escapes = if heredoc.inside == Inside::Nothing { Escapes::Raw } else { Escapes::All };
            let mut lexer = Lexer {
                rest: body,
                language: self.language,
                depth: self.depth + 1,
                out: Vec::new(),
                heredocs: Vec::new(),
            };
            let pieces = lexer.quoted(None, "", escapes, heredoc.inside);
            if let Some(token) = self.out.get_mut(heredoc.token) {
                // What cannot be read is a text that nobody knows.
                *token = Token::Text(pieces.unwrap_or_else(|| vec![Piece::Code(Vec::new())]));
            }
        }
    }

    /// `<STDIN>`, `<$f>`, `<*.txt>` of perl.
    fn angle(&mut self) -> bool {
        let plain = |c: &char| !matches!(c, '>' | '\n' | ' ' | ';' | '(' | '=' | '<');
        let inner: String = self.rest.chars().skip(1).take(MAX_PATTERN).take_while(plain).collect();
        let Some(rest) = self.rest.get(1 + inner.len()..).and_then(|rest| rest.strip_prefix('>')) else {
            return false;
        };
        self.rest = rest;
        if inner.contains(['/', '*', '~', '.']) {
            let pieces = vec![Piece::Plain(inner)];
            self.out.extend([
                Token::Name("glob".into()),
                Token::Op("("),
                Token::Text(pieces),
                Token::Op(")"),
            ]);
        } else {
            self.out.push(Token::Name("STDIN".into()));
        }
        true
    }

    /// `%w[a b]`, `%x(ls)`, `%q(a)`, `%(a)` of ruby.
    fn percent(&mut self) -> Option<bool> {
        let mut chars = self.rest.chars().skip(1);
        let first = chars.next().unwrap_or(' ');
        let (kind, open) =
            if "wWiIxqQrs".contains(first) { (first, chars.next().unwrap_or(' ')) } else { ('Q', first) };
        if open.is_alphanumeric() || open.is_whitespace() || open == '=' {
            return Some(false);
        }
        self.after(if kind == first { 3 } else { 2 })?;
        self.quote_like(kind, open)?;
        Some(true)
    }

    /// What stands behind `q(`, `%w[` and the like.
    pub(super) fn quote_like(&mut self, kind: char, open: char) -> Option<()> {
        let close = closing(open);
        let nested = (close != open).then_some(open);
        let inside = if self.language == Language::Ruby { Inside::Hash } else { Inside::Sigils };
        let mut letter = [0; 4];
        let end: &str = close.encode_utf8(&mut letter);
        let pieces = match kind {
            'q' | 'w' | 'i' | 's' => self.quoted(nested, end, Escapes::Single, Inside::Nothing)?,
            _ => self.quoted(nested, end, Escapes::All, inside)?,
        };
        match kind {
            'w' | 'i' | 'W' | 'I' => {
                // A list of perl is a list of arguments.
                let perl = self.language == Language::Perl;
                self.out.push(Token::Op(if perl { "(" } else { "[" }));
                if let [Piece::Plain(words)] = pieces.as_slice() {
                    for word in words.split_whitespace() {
                        self.out.extend([Token::Text(vec![Piece::Plain(word.to_owned())]), Token::Op(",")]);
                    }
                } else {
                    self.out.push(Token::Text(pieces));
                }
                self.out.push(Token::Op(if perl { ")" } else { "]" }));
            }
            'x' => self.out.push(Token::Shell(pieces)),
            'r' => self.out.push(Token::Regex),
            _ => self.out.push(Token::Text(pieces)),
        }
        Some(())
    }

    /// `q(…)`, `qw[…]`, `s/…/…/e` and their kin.
    pub(super) fn quote_word(&mut self, name: &str) -> Option<bool> {
        if !matches!(name, "q" | "qq" | "qw" | "qx" | "qr" | "m" | "s" | "tr" | "y")
            || matches!(self.out.last(), Some(Token::Op("->" | "-")))
        {
            return Some(false);
        }
        let before = self.rest;
        self.rest = self.rest.trim_start();
        let spaced = self.rest.len() < before.len();
        let open = self.peek().unwrap_or(',');
        if open.is_alphanumeric()
            || matches!(open, ',' | ';' | ')' | '=' | '}' | '_' | '>')
            || (spaced && !matches!(open, '{' | '(' | '[' | '/'))
        {
            self.rest = before;
            return Some(false);
        }
        self.bump();
        match name {
            "q" => self.quote_like('q', open)?,
            "qq" => self.quote_like('Q', open)?,
            "qw" => self.quote_like('w', open)?,
            "qx" => self.quote_like('x', open)?,
            _ => {
                let close = closing(open);
                let nested = (close != open).then_some(open);
                let mut letter = [0; 4];
                let end: &str = close.encode_utf8(&mut letter);
                let start = self.rest;
                let pattern = self.quoted(nested, end, Escapes::Raw, Inside::Nothing)?;
                let body = start.get(..start.len() - self.rest.len()).unwrap_or_default();
                let mut evaluates = body.contains("(?{")
                    || body.contains("(??{")
                    || (name != "tr" && name != "y" && body.contains("@{"));
                drop(pattern);
                self.out.push(Token::Regex);
                if matches!(name, "s" | "tr" | "y") {
                    if nested.is_some() {
                        self.rest = self.rest.trim_start();
                        let open = self.bump()?;
                        let close = closing(open);
                        let end: &str = close.encode_utf8(&mut letter);
                        let start = self.rest;
                        self.quoted((close != open).then_some(open), end, Escapes::Raw, Inside::Nothing)?;
                        evaluates |= self.replacement(name, start, end.len())?;
                    } else {
                        let start = self.rest;
                        let end: &str = close.encode_utf8(&mut letter);
                        self.quoted(None, end, Escapes::Raw, Inside::Nothing)?;
                        evaluates |= self.replacement(name, start, end.len())?;
                    }
                } else {
                    self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_lowercase());
                }
                if evaluates {
                    self.evaluated();
                }
            }
        }
        Some(true)
    }

    /// The right side of `s///`: code where the letter `e` says so. Whether it is code that is made when it runs.
    fn replacement(&mut self, name: &str, start: &'a str, closing: usize) -> Option<bool> {
        let body = start.get(..(start.len() - self.rest.len()).checked_sub(closing)?)?;
        let letters: String = self.rest.chars().take_while(char::is_ascii_lowercase).collect();
        self.rest = self.rest.get(letters.len()..)?;
        if name != "s" {
            return Some(false);
        }
        if letters.contains('e') {
            // The closing sign needs no backslash in what is run.
            let sign = start.get(body.len()..body.len() + closing)?;
            let code = body.replace(&format!("\\{sign}"), sign);
            let mut lexer = Lexer {
                rest: &code,
                language: self.language,
                depth: self.depth + 1,
                out: Vec::new(),
                heredocs: Vec::new(),
            };
            if lexer.depth > MAX_DEPTH {
                return None;
            }
            lexer.run(None)?;
            self.out.push(Token::Text(vec![Piece::Code(lexer.out)]));
        }
        Some(letters.contains("ee") || body.contains("@{") || body.contains("${\\"))
    }

    /// A text up to what closes it; an empty `close` is the end of all.
    fn quoted(
        &mut self,
        nested: Option<char>,
        close: &str,
        escapes: Escapes,
        inside: Inside,
    ) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut open = 0_usize;
        loop {
            if open == 0 && !close.is_empty() && self.eat(close) {
                break;
            }
            let before = self.rest;
            let Some(c) = self.bump() else {
                if close.is_empty() {
                    break;
                }
                return None;
            };
            let next = self.peek().unwrap_or(' ');
            let code = match (inside, c) {
                (Inside::Braces, '{') if !self.eat("{") => Some(self.code()?),
                (Inside::Braces, '}') => {
                    self.eat("}");
                    None
                }
                (Inside::Dollar, '$') | (Inside::Hash, '#') if self.eat("{") => Some(self.code()?),
                (Inside::Sigils, '$' | '@') if next == '{' => {
                    self.bump();
                    Some(self.code()?)
                }
                (Inside::Sigils, '{') if next == '$' && self.language == Language::Php => Some(self.code()?),
                (Inside::Sigils, '$') if next.is_alphanumeric() || next == '_' || next == '&' => {
                    Some(self.variable()?)
                }
                (Inside::Sigils, '@')
                    if self.language == Language::Perl && (next.is_alphabetic() || next == '_') =>
                {
                    let length = self
                        .rest
                        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                        .unwrap_or(self.rest.len());
                    let name = self.rest.get(..length)?;
                    self.rest = self.rest.get(length..)?;
                    Some(vec![Token::Name(format!("${name}"))])
                }
                _ => None,
            };
            if let Some(mut code) = code {
                if !plain.is_empty() {
                    pieces.push(Piece::Plain(std::mem::take(&mut plain)));
                }
                // `${name}` of a text is a variable.
                if let (Inside::Sigils, [Token::Name(name)]) = (inside, code.as_mut_slice())
                    && !name.starts_with('$')
                {
                    name.insert(0, '$');
                }
                pieces.push(Piece::Code(code));
                continue;
            }
            match c {
                '\\' => match escapes {
                    Escapes::Raw => {
                        plain.push('\\');
                        plain.extend(self.bump());
                    }
                    Escapes::Single => match self.bump()? {
                        c if c == '\\' || close.starts_with(c) => plain.push(c),
                        c => plain.extend(['\\', c]),
                    },
                    Escapes::All => self.escape(&mut plain)?,
                },
                c if Some(c) == nested => {
                    open += 1;
                    plain.push(c);
                }
                c if open > 0 && close.starts_with(c) => {
                    open -= 1;
                    plain.push(c);
                }
                c => {
                    debug_assert!(before.starts_with(c));
                    plain.push(c);
                }
            }
        }
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Plain(plain));
        }
        Some(pieces)
    }

    /// `$x` of a text, and `$x{key}`.
    fn variable(&mut self) -> Option<Vec<Token>> {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = self.rest.find(|c| !word(c)).unwrap_or(self.rest.len()).max(1);
        let mut tokens = vec![Token::Name(format!("${}", self.rest.get(..length)?))];
        self.rest = self.rest.get(length..)?;
        for (open, close) in [("{", "}"), ("[", "]")] {
            let inner = self.rest.strip_prefix(open).map(|rest| rest.trim_start_matches(['"', '\'', '-']));
            let key: String = inner.unwrap_or_default().chars().take(64).take_while(|&c| word(c)).collect();
            let after = inner
                .and_then(|inner| inner.get(key.len()..))
                .map(|rest| rest.trim_start_matches(['"', '\'']));
            if let Some(after) = after.and_then(|after| after.strip_prefix(close)) {
                self.rest = after;
                tokens.extend([Token::Op(open), Token::Text(vec![Piece::Plain(key)]), Token::Op(close)]);
            }
        }
        Some(tokens)
    }

    /// What stands behind a backslash.
    fn escape(&mut self, plain: &mut String) -> Option<()> {
        let before = self.rest;
        let c = self.bump()?;
        let lua = self.language == Language::Lua;
        let braced = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let code = match (c, braced) {
            ('x' | 'u' | 'o', Some((digits, rest))) => {
                self.rest = rest;
                u32::from_str_radix(digits.trim(), if c == 'o' { 8 } else { 16 }).ok()
            }
            ('x', _) => self.digits(2, 16),
            ('u', _) => self.digits(4, 16),
            ('U', _) => self.digits(8, 16),
            // A character by its name is whatever it is.
            ('N', Some((_, rest))) => {
                self.rest = rest;
                Some(u32::from('/'))
            }
            ('0'..='9', _) if lua => {
                self.rest = before;
                self.digits(3, 10)
            }
            ('0'..='7', _) => {
                self.rest = before;
                self.digits(3, 8)
            }
            _ => None,
        };
        if let Some(c) = code {
            plain.push(char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER));
            return Some(());
        }
        match c {
            'n' => plain.push('\n'),
            't' => plain.push('\t'),
            'r' => plain.push('\r'),
            'a' | 'b' | 'f' | 'v' | 'e' => plain.push('\u{1}'),
            '\n' => {}
            '\\' | '\'' | '"' | '`' => plain.push(c),
            c if self.language == Language::Python => plain.extend(['\\', c]),
            c => plain.push(c),
        }
        Some(())
    }

    fn digits(&mut self, most: usize, radix: u32) -> Option<u32> {
        let digits: String = self.rest.chars().take(most).take_while(|c| c.is_digit(radix)).collect();
        let code = u32::from_str_radix(&digits, radix).ok()?;
        self.rest = self.rest.get(digits.len()..)?;
        Some(code)
    }
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    }
}
