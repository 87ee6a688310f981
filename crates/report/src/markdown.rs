//! The page as Markdown.

use std::fmt::Write as _;

use toolgate_model::visible;

use crate::document::{Cell, Column, Document, Holds, Table, Tone, grouped};

/// The page as Markdown.
pub fn markdown(page: &Document) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n\n{}\n", page.title, plain(&page.about));
    for (tone, text) in [&page.verdict, &page.proof] {
        let _ = match tone {
            Tone::Plain => writeln!(out, "{}\n", plain(text)),
            tone => writeln!(out, "**{}:** {}\n", tone.word(), plain(text)),
        };
    }
    for number in &page.numbers {
        let _ = writeln!(out, "- {} [{}](#{})", grouped(number.count), number.what, number.rows);
    }
    for section in &page.sections {
        let _ = writeln!(out, "\n<a id=\"{}\"></a>\n\n## {}\n", section.id, section.title);
        for line in &section.text {
            // Written here, not by an agent: it may hold code.
            let _ = writeln!(out, "{line}\n");
        }
        if let Some(found) = &section.table {
            table(&mut out, found);
        }
    }
    out
}

fn table(out: &mut String, table: &Table) {
    if table.rows.is_empty() {
        out.push_str("None.\n");
        return;
    }
    for column in &table.head {
        let _ = write!(out, "| {} ", column.name);
    }
    out.push_str("|\n");
    for column in &table.head {
        out.push_str(if column.holds == Holds::Number { "|---:" } else { "|---" });
    }
    out.push_str("|\n");
    for row in &table.rows {
        for (cell, column) in row.iter().zip(&table.head) {
            let _ = write!(out, "| {} ", shown(cell, *column));
        }
        out.push_str("|\n");
    }
    if let Some(rest) = &table.rest {
        let _ = writeln!(out, "\n{rest}");
    }
}

fn shown(cell: &Cell, column: Column) -> String {
    match (&cell.rows, column.holds) {
        (Some(rows), _) => format!("[{}](#{rows})", plain(&cell.text)),
        (None, Holds::Code) if !cell.text.is_empty() => code(&cell.text),
        _ => plain(&cell.text),
    }
}

/// Text in which nothing is markup.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '\n' => out.push_str(" ⏎ "),
            '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A code span in a cell of a table, with more backticks around it than are in it.
fn code(text: &str) -> String {
    let text = visible(text).replace('\n', " ⏎ ").replace('\t', " ").replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let room = if longest > 0 { " " } else { "" };
    format!("{fence}{room}{text}{room}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_is_no_markup() {
        assert_eq!(
            plain("[x](http://a) <img> **b** \u{1b}[31m"),
            r"\[x\](http://a) &lt;img> \*\*b\*\* \\u{1b}\[31m"
        );
        assert_eq!(code("a | b"), r"`a \| b`");
        assert_eq!(code("echo `id` ``"), "``` echo `id` `` ```");
    }
}
