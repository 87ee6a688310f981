//! The page for a terminal.

use std::fmt::Write as _;

use toolgate_model::visible;

use crate::document::{Column, Document, Holds, Table, Tone, grouped};

/// No column of text is narrower, however little room there is.
const NARROW: usize = 10;
/// A bar of the busiest hour is so long.
const LONGEST_BAR: usize = 40;
/// So many rows of a table are printed.
const MOST_ROWS: usize = 20;
/// What stands below a row is set in by so much.
const INDENT: usize = 8;
/// So many hours or days are drawn, the last ones.
const MOST_BARS: usize = 24;

/// The page for a terminal of this width, with colours or without.
pub fn terminal(page: &Document, width: usize, colour: bool) -> String {
    let paint = |tone: Tone, text: &str| match (colour, code_of(tone)) {
        (true, Some(code)) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        _ => text.to_owned(),
    };
    let mut out = String::new();
    let _ = writeln!(out, "{}", wrapped(&flat(&page.about), width));
    for (tone, text) in [&page.verdict, &page.proof] {
        let word = tone.word();
        let word = if colour || word.is_empty() { String::new() } else { format!("{word}: ") };
        let _ = writeln!(out, "\n{}", paint(*tone, &wrapped(&format!("{word}{}", flat(text)), width)));
    }
    out.push('\n');
    let longest = page.numbers.iter().map(|number| grouped(number.count).len()).max().unwrap_or(0);
    for number in &page.numbers {
        let count = format!("{:>longest$}", grouped(number.count));
        let _ = writeln!(out, "{}  {}", paint(number.tone, &count), number.what);
    }
    bars(&mut out, page, &paint);
    for section in &page.sections {
        let title =
            if colour { format!("\u{1b}[1m{}\u{1b}[0m", section.title) } else { section.title.to_owned() };
        let _ = writeln!(out, "\n{title}");
        for line in &section.text {
            let _ = writeln!(out, "{}", wrapped(&flat(line), width));
        }
        if let Some(found) = &section.table {
            table(&mut out, found, width);
        }
    }
    out
}

fn code_of(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("32"),
        Tone::Unsure => Some("33"),
        Tone::Bad => Some("31"),
    }
}

fn bars(out: &mut String, page: &Document, paint: &dyn Fn(Tone, &str) -> String) {
    let bars = page.times.get(page.times.len().saturating_sub(MOST_BARS)..).unwrap_or_default();
    let most = bars.iter().map(|bar| bar.calls).max().unwrap_or(0);
    if bars.len() < 2 || most == 0 {
        return;
    }
    out.push('\n');
    for bar in bars {
        let part = |count: u64| {
            let length = (count * LONGEST_BAR as u64).div_ceil(most);
            usize::try_from(length).unwrap_or(LONGEST_BAR)
        };
        let denied = part(bar.denied);
        let rest = part(bar.calls).saturating_sub(denied);
        let drawn = format!("{}{}", paint(Tone::Bad, &"#".repeat(denied)), "=".repeat(rest));
        let _ = writeln!(out, "{:<13}  {drawn} {}", bar.from, grouped(bar.calls));
    }
    out.push_str("= calls  # denied\n");
}

/// A table that keeps to the width. What does not fit into it beside a command or a path stands on a line of its own below.
fn table(out: &mut String, table: &Table, width: usize) {
    if table.rows.is_empty() {
        out.push_str("none\n");
        return;
    }
    let shown = table.rows.get(..table.rows.len().min(MOST_ROWS)).unwrap_or_default();
    let mut rows: Vec<Vec<String>> =
        shown.iter().map(|row| row.iter().map(|cell| flat(&cell.text)).collect()).collect();
    let mut columns: Vec<&Column> = table.head.iter().collect();
    if needed(&widths_of(&columns, &rows)) > width {
        without_zeros(&mut columns, &mut rows);
    }
    let mut widths = widths_of(&columns, &rows);
    let fits = needed(&widths) <= width;
    let code = columns.iter().position(|column| column.holds == Holds::Code);
    let is_listed =
        !fits && code.is_some_and(|code| columns.iter().skip(code + 1).all(|column| is_text(column)));
    let beside = code.filter(|_| is_listed).map_or(widths.len(), |code| code + 1);
    widths.truncate(beside);
    shrink(&mut widths, &columns, width);
    let head: Vec<String> = columns.iter().take(beside).map(|column| column.name.to_owned()).collect();
    for row in std::iter::once(&head).chain(&rows) {
        let mut line = String::new();
        for ((cell, width), column) in row.iter().zip(&widths).zip(&columns) {
            let cell = cut(cell, *width);
            let _ = match column.holds {
                Holds::Number => write!(line, "{cell:>width$}  "),
                Holds::Text | Holds::Time | Holds::Code => write!(line, "{cell:<width$}  "),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
        let below: Vec<&str> =
            row.iter().skip(beside).map(String::as_str).filter(|text| !text.is_empty()).collect();
        if let Some((first, rest)) = below.split_first() {
            let mut text = (*first).to_owned();
            for more in rest {
                let _ = write!(text, " [{more}]");
            }
            let text = wrapped(&text, width.saturating_sub(INDENT));
            let _ = writeln!(out, "{}", indented(&text));
        }
    }
    let left_out = table.rows.len() - shown.len();
    if left_out > 0 {
        let _ = writeln!(out, "and {left_out} more: `--format html` has them");
    }
    if let Some(rest) = &table.rest {
        let _ = writeln!(out, "{}", wrapped(&flat(rest), width));
    }
}

fn widths_of(columns: &[&Column], rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.name.chars().count()).collect();
    for row in rows {
        for (cell, width) in row.iter().zip(&mut widths) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

/// Leaves out the numbers that are zero in every row: where there is no room, they say least.
fn without_zeros(columns: &mut Vec<&Column>, rows: &mut [Vec<String>]) {
    let is_zero =
        |at: usize| rows.iter().all(|row| row.get(at).is_none_or(|cell| cell == "0" || cell.is_empty()));
    let said: Vec<bool> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| column.holds != Holds::Number || !is_zero(at))
        .collect();
    let mut kept = said.iter();
    columns.retain(|_| kept.next().is_none_or(|said| *said));
    for row in rows {
        let mut kept = said.iter();
        row.retain(|_| kept.next().is_none_or(|said| *said));
    }
}

fn is_text(column: &Column) -> bool {
    column.holds == Holds::Text
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("{:INDENT$}{line}", "")).collect();
    lines.join("\n")
}

fn needed(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * 2
}

/// Takes from the widest column until all fit; numbers and times stay whole.
fn shrink(widths: &mut [usize], head: &[&Column], width: usize) {
    while needed(widths) > width {
        let soft = widths.iter_mut().zip(head);
        let soft = soft.filter(|(_, column)| matches!(column.holds, Holds::Text | Holds::Code));
        let Some((widest, _)) = soft.max_by_key(|(width, _)| **width) else { return };
        if *widest <= NARROW {
            return;
        }
        *widest -= 1;
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn flat(text: &str) -> String {
    visible(text).replace('\n', " ⏎ ").replace('\t', " ")
}

fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_to_the_width_and_numbers_stay_whole() {
        let mut widths = vec![6, 16, 90, 40];
        let head =
            [Holds::Number, Holds::Time, Holds::Code, Holds::Text].map(|holds| Column { name: "", holds });
        shrink(&mut widths, &head.iter().collect::<Vec<_>>(), 80);
        assert_eq!(widths.iter().sum::<usize>() + 6, 80);
        assert_eq!((widths.first(), widths.get(1)), (Some(&6), Some(&16)));
        assert_eq!(cut("abcdef", 4), "abc…");
    }

    #[test]
    fn numbers_that_are_all_zero_make_room() {
        let head = [Holds::Code, Holds::Number, Holds::Number].map(|holds| Column { name: "", holds });
        let mut columns: Vec<&Column> = head.iter().collect();
        let mut rows = vec![
            vec!["a".to_owned(), "0".to_owned(), "0".to_owned()],
            ["b", "0", "7"].map(str::to_owned).into(),
        ];
        without_zeros(&mut columns, &mut rows);
        assert_eq!(columns.len(), 2);
        assert_eq!(rows, [["a", "0"], ["b", "7"]]);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_printed() {
        assert_eq!(flat("a\u{1b}[31m\nb"), "a\\u{1b}[31m ⏎ b");
    }
}
