//! Headings and pipe tables of a Markdown text: all that is read of one.
//!
//! As GitHub shows them: what stands in a fenced block or in a comment is an example and no table. Nothing is refused; what is
//! no table is passed over. A text costs what it is long, whatever stands in it.

use toolgate_model::plain_name;

/// A heading, and the tables between it and the next one.
pub(super) struct Section<'t> {
    /// How many `#`; 0 before the first heading.
    pub(super) level: usize,
    pub(super) heading: &'t str,
    pub(super) tables: Vec<Table>,
}

pub(super) struct Table {
    columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    fn new(header: &str) -> Table {
        let columns = cells(header).iter().map(|cell| plain_name(&undressed(cell))).collect();
        Table { columns, rows: Vec::new() }
    }

    /// Where the column of this name stands, as [`plain_name`] gives it.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// What a row says in a column. In a row with more cells than there are columns somebody forgot to escape a `|`, and what
    /// stands behind its first cell may belong anywhere: there it says nothing.
    pub(super) fn cell<'r>(&self, row: &'r [String], column: usize) -> &'r str {
        let shifted = row.len() > self.columns.len() && column > 0;
        row.get(column).filter(|_| !shifted).map_or("", String::as_str)
    }
}

/// The sections of a text, in their order.
pub(super) fn sections(text: &str) -> Vec<Section<'_>> {
    let mut section = Section { level: 0, heading: "", tables: Vec::new() };
    let mut sections = Vec::new();
    let mut lines = shown(text).peekable();
    while let Some(line) = lines.next() {
        if let Some((level, heading)) = heading(line) {
            sections.push(std::mem::replace(&mut section, Section { level, heading, tables: Vec::new() }));
        } else if lines.next_if(|next| begins_table(line, next)).is_some() {
            let mut table = Table::new(line);
            while let Some(row) = lines.next_if(|row| !row.trim().is_empty() && heading(row).is_none()) {
                if row.contains('|') {
                    table.rows.push(cells(row));
                }
            }
            section.tables.push(table);
        }
    }
    sections.push(section);
    sections
}

/// A text without what marks it up: no code marks, no emphasis, of a link its words only.
pub(super) fn undressed(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, target)) = rest.split_once("](") {
        plain.push_str(before);
        rest = target.split_once(')').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain.retain(|letter| !matches!(letter, '`' | '*' | '[' | ']'));
    plain
}

/// Whether one of these words stands in a text, in either case.
pub(super) fn says(text: &str, words: &[&str]) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric())
        .any(|word| words.iter().any(|wanted| word.eq_ignore_ascii_case(wanted)))
}

/// What readers are not shown as text.
#[derive(Clone, Copy)]
enum Hidden {
    Fence { mark: char, length: usize },
    Comment,
}

impl Hidden {
    fn begun_by(line: &str) -> Option<Hidden> {
        let (mark, length, info) = fence(line).unwrap_or_default();
        let fenced = length > 0 && !(mark == '`' && info.contains('`'));
        let comment = || line.trim_start().starts_with("<!--").then_some(Hidden::Comment);
        if fenced { Some(Hidden::Fence { mark, length }) } else { comment() }
    }

    fn ended_by(self, line: &str) -> bool {
        match self {
            Hidden::Fence { mark, length } => fence(line)
                .is_some_and(|(closing, run, info)| closing == mark && run >= length && info.is_empty()),
            Hidden::Comment => line.contains("-->"),
        }
    }
}

/// The lines that a reader sees as text; in the place of others stand empty ones.
fn shown(text: &str) -> impl Iterator<Item = &str> {
    let mut hidden: Option<Hidden> = None;
    text.trim_start_matches('\u{feff}').lines().map(move |line| {
        if let Some(block) = hidden {
            hidden = (!block.ended_by(line)).then_some(block);
            return "";
        }
        match Hidden::begun_by(line) {
            None => line,
            Some(block) => {
                let ended = matches!(block, Hidden::Comment) && block.ended_by(line);
                hidden = (!ended).then_some(block);
                ""
            }
        }
    })
}

/// The mark of a fence, how often it stands there, and what follows.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim();
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    (length >= 3 && !is_code(line)).then_some((mark, length, info))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim();
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    let apart = rest.is_empty() || rest.starts_with([' ', '\t']);
    let heading = (1..=6).contains(&level) && apart && !is_code(line);
    heading.then(|| (level, rest.trim_end_matches('#').trim()))
}

/// A line that far in is code.
fn is_code(line: &str) -> bool {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    spaces > 3 || line.trim_start_matches(' ').starts_with('\t')
}

fn begins_table(header: &str, ruler: &str) -> bool {
    let drawn = |cell: &String| {
        let dashes = cell.strip_prefix(':').unwrap_or(cell);
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    };
    // Most lines are no ruler at the first glance: they need not be taken apart.
    let likely =
        header.contains('|') && ruler.bytes().all(|byte| matches!(byte, b'|' | b':' | b'-' | b' ' | b'\t'));
    likely && !is_code(header) && {
        let ruler = cells(ruler);
        ruler.iter().all(drawn) && ruler.len() == cells(header).len()
    }
}

/// The cells of a line. A `|` divides them, in code too; `\|` is one that does not.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let mut letters = line.strip_prefix('|').unwrap_or(line).chars().peekable();
    let mut cells = Vec::new();
    let mut cell = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next_if_eq(&'|').is_some() => cell.push('|'),
            '|' => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            _ => cell.push(letter),
        }
    }
    if !cell.trim().is_empty() {
        cells.push(cell.trim().to_owned());
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(text: &str) -> Vec<Table> {
        sections(text).into_iter().flat_map(|section| section.tables).collect()
    }

    #[test]
    fn a_table_is_read_however_it_is_drawn() {
        for text in [
            "| Name | Role |\n|---|---|\n| a | b |\n",
            "|Name|Role|\r\n|:--|--:|\r\n|a|b|\r\n",
            "Name | Role\n--- | :-:\na | b",
            "   | **Name** | `Role` |\n|-|-|\n      |  a  |  b  |",
            "\u{feff}| name | ROLE |\n|---|---|\na stray line\n| a | b |\n\n| c | d |\n",
        ] {
            let tables = tables(text);
            assert_eq!(tables.len(), 1, "{text}");
            assert_eq!((tables[0].column("name"), tables[0].column("role")), (Some(0), Some(1)), "{text}");
            assert_eq!(tables[0].rows, [["a", "b"]], "{text}");
        }
    }

    #[test]
    fn a_table_in_code_or_in_a_comment_is_not_read() {
        let table = "| Name | Role |\n|---|---|\n| a | b |\n";
        for text in [
            format!("```\n{table}```\n"),
            format!("~~~~ text\n~~~\n{table}~~~~\n"),
            format!("````md\n```\n{table}```\n{table}\n"),
            format!("<!--\n{table}-->\n"),
            "    | Name | Role |\n    |---|---|\n    | a | b |\n".to_owned(),
            "| Name | Role |\n|---|---|---|\n| a | b |\n".to_owned(),
            "| Name | Role |\n| a | b |\n".to_owned(),
            "Name\n---\na\n".to_owned(),
        ] {
            assert!(tables(&text).is_empty(), "{text}");
        }
        for text in [
            format!("```\nx\n```\n{table}"),
            format!("```js x``` is code\n\n{table}"),
            format!("<!-- one line -->\n{table}"),
            format!("<!--\n-->\n{table}"),
        ] {
            assert_eq!(tables(&text).len(), 1, "{text}");
        }
    }

    #[test]
    fn an_escaped_bar_is_kept_in_its_cell_and_a_bare_one_empties_the_row() {
        let table = tables("|File|Status|Note|\n|--|--|--|\n|`a\\|b`|c|d|\n|a|b|c|d|\n|a|\n").remove(0);
        let row = |at: usize| [0, 1, 2].map(|column| table.cell(&table.rows[at], column));
        assert_eq!(row(0), ["`a|b`", "c", "d"]);
        assert_eq!(row(1), ["a", "", ""]);
        assert_eq!(row(2), ["a", "", ""]);
    }

    #[test]
    fn headings_are_read_with_their_levels() {
        let levels =
            |text: &str| sections(text).iter().skip(1).map(|section| section.level).collect::<Vec<_>>();
        assert_eq!(levels("# a\n##b\n ###  c ###\n    # d\n####### e\n##\n"), [1, 3, 2]);
        assert_eq!(sections(" ###  c d ###\n")[1].heading, "c d");
    }

    #[test]
    fn markdown_marks_are_removed_from_names() {
        assert_eq!(undressed("**[Kane](agents/kane.md)** of `x`"), "Kane of x");
        assert_eq!(undressed("[a](b"), "a");
        assert!(says("\u{1f464} Human (PM)", &["human"]) && !says("Humanizer", &["human"]));
    }
}
