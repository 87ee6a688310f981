//! Arithmetic, which runs what stands in it: bash expands a subscript in the value of a variable.

use toolgate_model::Gap;
use toolgate_shell::{Arithmetic, Part, parse_arithmetic, parse_word};

use super::Mode;
use crate::shell::Interpreter;
use crate::shell::evaluated::Evaluator;
use crate::shell::text::{NUMBER, Text};
use crate::shell::variables::{Given, is_last_words, is_name};

impl<'t> Interpreter<'t, '_> {
    /// Walks an expression for what it runs. Its value is a number; which one is known only for a plain numeral.
    pub(in crate::shell) fn arithmetic(&mut self, arithmetic: &'t Arithmetic<'t>) -> Text {
        let choices = self.joined(&arithmetic.parts, Mode::Single);
        for text in &choices {
            self.evaluates(text, Evaluator::Arithmetic);
            let text = text.unglobbed();
            self.evaluate_names(text.raw(), 0);
            if text.raw().contains(['$', '`']) {
                self.evaluate(text.raw());
            }
        }
        match choices.as_slice() {
            [text] => match text.whole().map(str::trim) {
                Some(number) if number.parse::<i64>().is_ok() => Text::known(number),
                Some("") => Text::default(),
                Some(name) if is_name(name) => match self.variable_texts(name).as_slice() {
                    [text] if text.whole().is_some_and(|text| text.parse::<i64>().is_ok()) => text.clone(),
                    _ => Text::mark(NUMBER),
                },
                // An associative array's key.
                _ => Text::mark(NUMBER),
            },
            _ => Text::mark(NUMBER),
        }
    }

    /// Evaluates a text as arithmetic: `let`, `[[ -eq`, a subscript inside of a value.
    pub(in crate::shell) fn evaluate(&mut self, text: &str) {
        self.deeper(|shell| shell.evaluate_text(text));
    }

    fn evaluate_text(&mut self, text: &str) {
        if self.spent_on_arithmetic() {
            return;
        }
        let Some(text) = self.paid_text(text) else { return };
        match parse_arithmetic(text) {
            Ok(arithmetic)
                if arithmetic.parts.iter().any(|part| !matches!(part, Part::Bare(_) | Part::Quoted(_))) =>
            {
                let arithmetic = self.store.arithmetics.alloc(arithmetic);
                self.deeper(|shell| shell.arithmetic(arithmetic));
            }
            Ok(_) => self.evaluate_names(text, 0),
            Err(_) => self.unknown(Gap::Syntax, "arithmetic"),
        }
    }

    /// bash evaluates a variable's value as an expression again, and a subscript in it is expanded: `x='a[$(cmd)]'`. What
    /// is assigned here is a number from now on.
    fn evaluate_names(&mut self, text: &str, depth: u32) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            while bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                at += 1;
            }
            if at == start {
                at += 1;
                continue;
            }
            let Some(name) = text.get(start..at).filter(|name| is_name(name)) else { continue };
            let (behind, is_element) = behind_subscript(text.get(at..).unwrap_or_default().trim_start());
            let before = text.get(..start).unwrap_or_default().trim_end();
            let assigned = ["++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]
                .iter()
                .any(|op| behind.starts_with(op))
                || before.ends_with("++")
                || before.ends_with("--");
            if self.spent_on_arithmetic() {
                return;
            }
            // What is only assigned is not looked at.
            let is_set = behind.starts_with('=') && !behind.starts_with("==");
            if is_set && !before.ends_with("++") && !before.ends_with("--") {
                let index = is_element.then(|| Text::mark(NUMBER));
                self.set_named(name, index.as_ref(), Given::Number, None);
                continue;
            }
            // The environment's own were set before the session.
            let is_ours = self.state.variables.get(name).is_some() || is_last_words(name);
            let values = if is_element { self.held_texts(name) } else { self.variable_texts(name) };
            for value in values {
                if is_ours {
                    self.evaluates(&value, Evaluator::Arithmetic);
                }
                let value = value.unglobbed();
                if value.raw().contains(['[', '$', '`']) {
                    self.evaluate(value.raw());
                } else if value.raw().contains(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && self.may_evaluate(depth)
                {
                    self.evaluate_names(value.raw(), depth + 1);
                }
            }
            if assigned {
                let index = is_element.then(|| Text::mark(NUMBER));
                self.set_named(name, index.as_ref(), Given::Number, None);
            }
        }
    }

    /// Text that is expanded once more when it is used: arithmetic values, files that variables name.
    pub(in crate::shell) fn expand_again(&mut self, text: &str) {
        if !text.contains(['$', '`']) {
            return;
        }
        let Some(text) = self.paid_text(text) else { return };
        match parse_word(text) {
            Ok(word) => {
                let word = self.store.words.alloc(word);
                self.deeper(|shell| shell.single(word));
            }
            Err(_) => self.unknown(Gap::Syntax, "a value that is expanded again"),
        }
    }

    /// A prompt is decoded first: `\044(x)` becomes `$(x)`, and is run.
    pub(in crate::shell) fn expand_prompt(&mut self, text: &Text) {
        self.evaluates(text, Evaluator::Words);
        let text = text.unglobbed();
        let text = text.raw();
        self.expand_again(text);
        let decoded = without_octal(text);
        if decoded != text {
            self.expand_again(&decoded);
        }
    }
}

/// A prompt with the characters that it names by their numbers.
fn without_octal(prompt: &str) -> String {
    let mut decoded = String::with_capacity(prompt.len());
    let mut rest = prompt;
    while let Some((before, behind)) = rest.split_once('\\') {
        decoded.push_str(before);
        let count = behind.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        let (digits, after) = behind.split_at_checked(count).unwrap_or((behind, ""));
        match u32::from_str_radix(digits, 8) {
            // As bash does, a byte: `\444` is `$` too.
            Ok(number) => decoded.extend(char::from_u32(number & 0xff)),
            Err(_) => decoded.push('\\'),
        }
        // A backslash behind a backslash begins nothing.
        rest = after;
        if let Some(after) = behind.strip_prefix('\\') {
            decoded.push('\\');
            rest = after;
        }
    }
    decoded.push_str(rest);
    decoded
}

/// What stands behind the subscript of a name, and whether there is one.
fn behind_subscript(text: &str) -> (&str, bool) {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return (text.get(at + 1..).unwrap_or_default().trim_start(), true),
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => break,
            _ => {}
        }
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::without_octal;

    #[test]
    fn a_prompt_names_letters_by_their_numbers() {
        for (prompt, decoded) in [
            (r"\044(x)", "$(x)"),
            (r"\140x\140", "`x`"),
            (r"\444(x)", "$(x)"),
            (r"\0445", "$5"),
            (r"\\044", r"\\044"),
            (r"\w \$", r"\w \$"),
            (r"\", r"\"),
            ("", ""),
        ] {
            assert_eq!(without_octal(prompt), decoded, "{prompt}");
        }
    }
}
