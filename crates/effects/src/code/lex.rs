//! The words of a program in any of the large languages: names, texts, numbers, signs.
//!
//! One reader for all of them, by what they have in common. Code inside of texts (`f"{x}"`, `"#{x}"`) is read too.

mod texts;

use crate::language::Language;
use texts::Heredoc;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// With its sigil: `$x`. A list or hash of perl goes by the name of the scalar.
    Name(String),
    Text(Vec<Piece>),
    /// Backticks and their kin.
    Shell(Vec<Piece>),
    Number(Option<u32>),
    Op(&'static str),
    Regex,
    Line,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Plain(String),
    Code(Vec<Token>),
}

/// A pattern between slashes that is longer than this is none.
const MAX_PATTERN: usize = 1024;

/// Code inside of code inside of texts.
const MAX_DEPTH: usize = 12;

/// More words than this are too many.
const MAX_TOKENS: usize = 20_000;

/// Longest first.
const OPS: [&str; 41] = [
    "===", "!==", "<=>", "**=", "...", "||=", "&&=", "??=", "//=", ">>>", "==", "!=", "<=", ">=", "=>", "->",
    "::", "&&", "||", "??", "?.", "..", "+=", "-=", "*=", "/=", "%=", ".=", "|=", "&=", "^=", ":=", "**",
    "=~", "!~", "<<", ">>", "++", "--", "~=", "//",
];
const SIGNS: &str = "()[]{},;:=<>+-*/%.!?&|^~@\\$#";

/// `None` where a text does not end.
pub(super) fn lex(language: Language, code: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer { rest: code, language, depth: 0, out: Vec::new(), heredocs: Vec::new() };
    lexer.run(None)?;
    Some(lexer.out)
}

struct Lexer<'a> {
    rest: &'a str,
    language: Language,
    depth: usize,
    out: Vec<Token>,
    heredocs: Vec<Heredoc>,
}

impl Lexer<'_> {
    /// Reads to the end, or to the closing brace of the text that this code stands in.
    fn run(&mut self, close: Option<char>) -> Option<()> {
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            if self.out.len() > MAX_TOKENS {
                return None;
            }
            match c {
                '\n' => {
                    self.bump();
                    self.out.push(Token::Line);
                    self.bodies();
                    if matches!(self.language, Language::Perl | Language::Ruby)
                        && ["__END__\n", "__DATA__\n"].iter().any(|end| self.rest.starts_with(end))
                    {
                        self.rest = "";
                    }
                }
                _ if c.is_whitespace() => {
                    self.bump();
                }
                '\\' if self.eat("\\\n") => {}
                _ if self.comment() => {}
                _ if self.text()? => {}
                _ if c.is_alphabetic() || c == '_' || matches!(c, '$' | '@' | '%' | '&') && self.sigil() => {
                    if !self.name()? {
                        return None;
                    }
                }
                _ if c.is_ascii_digit() => self.number(),
                _ => {
                    if Some(c) == close && open == 0 {
                        self.bump();
                        return Some(());
                    }
                    match c {
                        '{' => open += 1,
                        '}' => open = open.saturating_sub(1),
                        _ => {}
                    }
                    self.sign(c);
                }
            }
        }
        close.is_none().then_some(())
    }

    fn sign(&mut self, c: char) {
        let next = self.rest.chars().nth(1).unwrap_or(' ');
        let long = "=.&|?>:*<+-~/".contains(next);
        let long = if long { OPS.iter().find(|op| self.rest.starts_with(**op)).copied() } else { None };
        let op = long.or_else(|| SIGNS.find(c).and_then(|at| SIGNS.get(at..=at)));
        match op {
            Some(op) => {
                self.eat(op);
                self.out.push(Token::Op(op));
            }
            None => {
                self.bump();
            }
        }
    }

    /// The code up to the closing brace.
    fn code(&mut self) -> Option<Vec<Token>> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let outer = std::mem::take(&mut self.out);
        let done = self.run(Some('}'));
        self.depth -= 1;
        let code = std::mem::replace(&mut self.out, outer);
        done.map(|()| code)
    }

    fn comment(&mut self) -> bool {
        use Language::{Lua, Node, Other, Perl, Php, Python, Ruby};
        let hash = matches!(self.language, Python | Perl | Ruby | Php) || self.rest.starts_with("#!");
        let slashes = matches!(self.language, Node | Php);
        if slashes && self.eat("/*") {
            self.to("*/");
        } else if self.language == Lua && self.eat("--") {
            if let Some(close) = self.long_bracket() {
                self.to(&close);
            } else {
                self.line();
            }
        } else if matches!(self.language, Ruby | Perl)
            && self.rest.starts_with('=')
            && matches!(self.out.last(), None | Some(Token::Line))
            && self.rest.chars().nth(1).is_some_and(|c| c.is_ascii_lowercase())
        {
            let end = if self.language == Ruby { "\n=end" } else { "\n=cut" };
            self.to(end);
            self.line();
        } else if (hash && self.rest.starts_with('#')) || (slashes && self.rest.starts_with("//")) {
            // `#[Attribute]` of php is none, but what follows is code either way.
            self.line();
        } else {
            return self.language == Other && self.rest.starts_with("#!") && {
                self.line();
                true
            };
        }
        true
    }

    fn line(&mut self) {
        self.rest = self.rest.find('\n').and_then(|at| self.rest.get(at..)).unwrap_or_default();
    }

    fn to(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map(|(_, rest)| rest).unwrap_or_default();
    }

    /// Whether an operand may begin here, so that a slash begins a pattern.
    fn operand(&self) -> bool {
        const WORDS: &str = "return print puts p in of and or not if unless when while until typeof case split grep map join push else elsif then do yield await delete new";
        match self.out.last() {
            Some(Token::Name(name)) => {
                let space = self.rest.starts_with("/ ") || self.rest.starts_with("/=");
                WORDS.split(' ').any(|word| word == name)
                    || (self.language == Language::Perl && !name.starts_with('$'))
                    || (self.language == Language::Ruby && !space && !name.starts_with('$') && self.spaced())
            }
            Some(Token::Number(_) | Token::Text(_) | Token::Shell(_) | Token::Regex) => false,
            Some(Token::Op(op)) => !matches!(*op, ")" | "]" | "}"),
            Some(Token::Line) | None => true,
        }
    }

    /// `puts /x/`, `puts <<~X`: a sign right before its word, as nobody writes a division.
    fn spaced(&self) -> bool {
        self.rest.chars().nth(1).is_some_and(|c| !c.is_whitespace())
    }

    /// `:name` of ruby is the text `name`.
    fn symbol(&mut self) -> bool {
        let name: String =
            self.rest.chars().skip(1).take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        self.rest = self.rest.get(name.len() + 1..).unwrap_or_default();
        self.out.push(Token::Text(vec![Piece::Plain(name)]));
        true
    }

    /// Whether a sigil begins a name here.
    fn sigil(&self) -> bool {
        let mut chars = self.rest.chars();
        let (sigil, next) = (chars.next(), chars.next().unwrap_or(' '));
        let named = next.is_alphabetic() || next == '_';
        match (self.language, sigil) {
            (Language::Node, Some('$')) => true,
            (Language::Perl, Some('$')) => !next.is_whitespace() && next != ')',
            (Language::Perl, Some('@')) => named || next == '$' || next == '{',
            (Language::Perl, Some('%')) => self.operand() && (named || next == '$' || next == '+'),
            (Language::Perl, Some('&')) => self.operand() && (named || next == '$'),
            (Language::Php, Some('$')) => named || next == '$' || next == '{',
            (Language::Ruby, Some('$')) => !next.is_whitespace(),
            (Language::Ruby, Some('@')) => named || next == '@',
            _ => false,
        }
    }

    fn name(&mut self) -> Option<bool> {
        let sigils = matches!(self.language, Language::Perl | Language::Php | Language::Ruby);
        let mut name = String::new();
        if sigils && self.rest.starts_with(['$', '@', '%', '&']) {
            if !self.eat("&") || self.rest.starts_with('$') {
                name.push('$');
            }
            self.rest = self.rest.trim_start_matches(['$', '@', '%']);
            self.eat("#");
            if self.eat("{") {
                // `@{$x}`, `${x}`: by the first name inside.
                let code = self.code()?;
                let inner = code.iter().find_map(|token| match token {
                    Token::Name(name) => Some(name.trim_start_matches('$').to_owned()),
                    _ => None,
                });
                // What is done inside is done.
                if code.len() > 1 {
                    self.out.push(Token::Text(vec![Piece::Code(code)]));
                    return Some(true);
                }
                name.push_str(&inner.unwrap_or_default());
                self.out.push(Token::Name(name));
                return Some(true);
            }
        }
        let inside =
            |c: char| c.is_alphanumeric() || c == '_' || (c == '$' && self.language == Language::Node);
        let mut length = self.rest.find(|c| !inside(c)).unwrap_or(self.rest.len());
        // `File::Path` of perl is one name.
        while self.language == Language::Perl
            && self.rest.get(length..).is_some_and(|rest| {
                rest.strip_prefix("::").is_some_and(|rest| rest.starts_with(char::is_alphabetic))
            })
        {
            let rest = self.rest.get(length + 2..)?;
            length += 2 + rest.find(|c| !inside(c)).unwrap_or(rest.len());
        }
        let word = self.rest.get(..length)?;
        self.rest = self.rest.get(length..)?;
        name.push_str(word);
        if name == "$" && length == 0 {
            // `$!`, `$/`, `$@`
            name.extend(self.bump());
        }
        if self.language == Language::Ruby
            && self.rest.starts_with(['?', '!'])
            && !self.rest.get(1..)?.starts_with('=')
        {
            self.bump();
        }
        if self.language == Language::Perl && self.quote_word(&name)? {
            return Some(true);
        }
        self.out.push(Token::Name(name));
        Some(true)
    }

    fn number(&mut self) {
        let alnum = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !alnum(c)).unwrap_or(self.rest.len());
        let digits: String = self.rest.get(..end).unwrap_or_default().replace('_', "");
        self.rest = self.rest.get(end..).unwrap_or_default();
        let mut value = match digits.get(..2) {
            Some("0x" | "0X") => u32::from_str_radix(digits.get(2..).unwrap_or_default(), 16).ok(),
            Some("0o" | "0O") => u32::from_str_radix(digits.get(2..).unwrap_or_default(), 8).ok(),
            _ => digits.parse().ok(),
        };
        if self.rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            self.bump();
            self.rest = self.rest.trim_start_matches(alnum);
            value = None;
        }
        self.out.push(Token::Number(value));
    }

    fn after(&mut self, count: usize) -> Option<&mut Self> {
        for _ in 0..count {
            self.bump()?;
        }
        Some(self)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
