//! Names, texts and expressions of a justfile.

use super::{HOLE, Just, MAX_DEPTH};
use crate::recipes::cursor::Cursor;

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(in_name)
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

pub(super) fn name<'a>(at: &mut Cursor<'a>) -> Option<&'a str> {
    let here = *at;
    let name = at.take_while(|c| in_name(c) || c == ':' && at_module(here.rest));
    if is_name(name.split("::").next().unwrap_or_default()) {
        Some(name)
    } else {
        *at = here;
        None
    }
}

/// `module::recipe`
fn at_module(text: &str) -> bool {
    text.trim_start_matches(in_name).starts_with("::")
}

/// The marks that a text or a backtick may begin with, the long ones first.
const MARKS: [&str; 6] = ["'''", "\"\"\"", "```", "'", "\"", "`"];

/// A text or a backtick: its mark and what stands inside.
fn quoted<'a>(at: &mut Cursor<'a>) -> Option<(&'static str, &'a str)> {
    let mark = MARKS.into_iter().find(|mark| at.eat(mark))?;
    if !mark.starts_with('"') {
        return Some((mark, at.take_until(mark)?));
    }
    let start = at.rest;
    loop {
        at.take_while(|c| !matches!(c, '"' | '\\'));
        let inner = start.len().saturating_sub(at.rest.len());
        if at.eat(mark) {
            return Some((mark, start.get(..inner)?));
        }
        if at.bump()? == '\\' {
            at.bump()?;
        }
    }
}

/// One item of the file: a line, and more of them while a text or a bracket is open.
pub(super) fn item<'a>(at: &mut Cursor<'a>) -> &'a str {
    let start = at.rest;
    let mut depth = 0_usize;
    let mut before = ' ';
    while let Some(c) = at.peek() {
        match c {
            '\n' if depth == 0 && before != '\\' => break,
            '#' if before.is_whitespace() => {
                at.rest_of_line();
                continue;
            }
            '\'' | '"' | '`' => {
                let here = *at;
                if quoted(at).is_none() {
                    *at = here;
                    at.rest_of_line();
                }
                before = c;
                continue;
            }
            '(' | '[' | '{' => depth = depth.saturating_add(1),
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = c;
        at.bump();
    }
    start.get(..start.len().saturating_sub(at.rest.len())).unwrap_or(start)
}

/// The source of one operand: a name, a call, a text, or what stands in brackets.
pub(super) fn operand<'a>(at: &mut Cursor<'a>) -> Option<&'a str> {
    let start = at.rest;
    if matches!(at.rest.chars().nth(1), Some('\'' | '"')) && at.rest.starts_with(['x', 'f']) {
        at.bump();
    }
    if at.rest.starts_with(['\'', '"', '`']) {
        quoted(at)?;
    } else {
        name(at);
        if at.rest.starts_with('(') {
            let mut depth = 0_usize;
            loop {
                match at.peek()? {
                    '\'' | '"' | '`' => {
                        quoted(at)?;
                        continue;
                    }
                    '(' => depth = depth.saturating_add(1),
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                at.bump();
                if depth == 0 {
                    break;
                }
            }
        }
    }
    start.get(..start.len().saturating_sub(at.rest.len())).filter(|text| !text.is_empty())
}

/// Up to the `#` that stands in no text.
pub(super) fn without_comment(text: &str) -> &str {
    split_at(text, "#").0
}

/// Dependencies before and after `&&`.
pub(super) fn split_after(text: &str) -> (&str, &str) {
    split_at(text, "&&")
}

fn split_at<'a>(text: &'a str, sign: &str) -> (&'a str, &'a str) {
    let mut at = Cursor::new(text);
    while let Some(c) = at.peek() {
        let inner = at.rest;
        if at.eat(sign) {
            let head = text.get(..text.len().saturating_sub(inner.len())).unwrap_or(text);
            return (head, at.rest);
        }
        if !matches!(c, '\'' | '"' | '`') || quoted(&mut at).is_none() {
            at.bump();
        }
    }
    (text, "")
}

/// An expression's value; its backticks become steps. Stops at what it does not understand.
pub(super) fn expression(just: &mut Just<'_>, at: &mut Cursor<'_>) -> String {
    if just.depth > MAX_DEPTH || just.burn(1) {
        at.take_while(|_| true);
        return just.lost();
    }
    just.depth = just.depth.saturating_add(1);
    let mut out = operand_value(just, at);
    loop {
        blank(at);
        if at.eat("+") {
            blank(at);
            let right = operand_value(just, at);
            out.push_str(&right);
        } else if at.eat("/") {
            blank(at);
            let right = operand_value(just, at);
            out = format!("{out}/{right}");
        } else if at.eat("&&") || at.eat("||") {
            blank(at);
            operand_value(just, at);
            out = HOLE.to_string();
        } else {
            break;
        }
        if just.burn(out.len()) {
            break;
        }
    }
    just.depth = just.depth.saturating_sub(1);
    out
}

fn blank(at: &mut Cursor<'_>) {
    at.take_while(char::is_whitespace);
}

fn operand_value(just: &mut Just<'_>, at: &mut Cursor<'_>) -> String {
    blank(at);
    if at.rest.starts_with('/') {
        return String::new();
    }
    if at.eat("(") {
        let value = expression(just, at);
        blank(at);
        return if at.eat(")") { value } else { just.lost() };
    }
    // `x'$HOME'` is expanded, `f'{…}'` holds expressions.
    if at.rest.starts_with(['x', 'f']) && matches!(at.rest.chars().nth(1), Some('\'' | '"')) {
        let formatted = at.bump() == Some('f');
        let known = quoted(at).filter(|(_, text)| !formatted && !text.contains(['$', '~', '\\']));
        return match known {
            Some((mark, text)) => string(mark, text),
            None if formatted => just.lost(),
            None => HOLE.to_string(),
        };
    }
    if at.rest.starts_with(['\'', '"', '`']) {
        return match quoted(at) {
            Some((mark, text)) if mark.starts_with('`') => {
                just.shell_text(&dedented(mark, text));
                HOLE.to_string()
            }
            Some((mark, text)) => string(mark, text),
            None => just.lost(),
        };
    }
    let Some(word) = name(at) else { return just.lost() };
    if matches!(word, "if" | "assert") && !at.rest.starts_with('(') {
        return condition(just, at);
    }
    if !at.eat("(") {
        return just.variable(word);
    }
    let mut values = Vec::new();
    loop {
        blank(at);
        if at.eat(")") {
            break;
        }
        // `assert(a == b, 'message')`
        values.push(expression(just, at));
        blank(at);
        if !(at.eat(",") || at.eat("==") || at.eat("!=") || at.eat("=~") || at.rest.starts_with(')')) {
            return just.lost();
        }
    }
    // `shell('command $1', x)` runs it.
    if word == "shell"
        && let Some(command) = values.first()
    {
        just.shell_text(command);
    }
    HOLE.to_string()
}

/// `if a == b { c } else { d }`: both are evaluated.
fn condition(just: &mut Just<'_>, at: &mut Cursor<'_>) -> String {
    let mut values = Vec::new();
    loop {
        expression(just, at);
        blank(at);
        if !(at.eat("==") || at.eat("!=") || at.eat("=~") || at.eat("!~")) {
            return just.lost();
        }
        expression(just, at);
        blank(at);
        if !at.eat("{") {
            return just.lost();
        }
        values.push(expression(just, at));
        blank(at);
        if !at.eat("}") {
            return just.lost();
        }
        blank(at);
        if !at.eat("else") {
            return just.lost();
        }
        blank(at);
        if at.eat("{") {
            values.push(expression(just, at));
            blank(at);
            if !at.eat("}") {
                return just.lost();
            }
            values.dedup();
            return if values.len() == 1 { values.pop().unwrap_or_default() } else { HOLE.to_string() };
        }
        if !at.eat("if ") {
            return just.lost();
        }
    }
}

fn string(mark: &str, text: &str) -> String {
    let text = dedented(mark, text);
    if !mark.starts_with('"') {
        return text;
    }
    let mut out = String::new();
    let mut at = Cursor::new(&text);
    loop {
        out.push_str(at.take_while(|c| c != '\\'));
        if at.bump().is_none() {
            return out;
        }
        match at.bump() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\n') | None => {}
            Some('u') => {
                let code =
                    at.take_until("}").and_then(|code| u32::from_str_radix(code.strip_prefix('{')?, 16).ok());
                out.push(code.and_then(char::from_u32).unwrap_or(HOLE));
            }
            Some(c) => out.push(c),
        }
    }
}

/// A long text without its first line end and without the indentation that its lines share.
fn dedented(mark: &str, text: &str) -> String {
    if mark.len() != 3 {
        return text.to_owned();
    }
    let text = text.strip_prefix('\n').unwrap_or(text);
    let depth = |line: &str| line.len().saturating_sub(line.trim_start_matches([' ', '\t']).len());
    let indent = text.split('\n').filter(|line| !line.trim().is_empty()).map(depth).min().unwrap_or(0);
    let lines = text.split('\n').map(|line| line.get(indent..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}
