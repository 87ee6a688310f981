//! The table: a line a client, a column a promise.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use toolgate_rehearsal::clients::Client;

use crate::rows::{ROWS, Row, Truth};

/// Around the table in a document.
const MARKERS: (&str, &str) = ("<!-- e2e -->", "<!-- /e2e -->");

/// Whether a finding is the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Fail,
    Skip,
}

/// What one rehearsal found.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) host: &'static str,
    pub(crate) row: Row,
    pub(crate) truth: Truth,
    pub(crate) expected: Truth,
    pub(crate) took: Duration,
}

impl Cell {
    pub(crate) fn verdict(&self) -> Verdict {
        match &self.truth {
            Truth::Skipped(_) => Verdict::Skip,
            truth if *truth == self.expected => Verdict::Pass,
            Truth::OpenIn(_) if self.expected == Truth::Open => Verdict::Pass,
            _ => Verdict::Fail,
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "host": self.host, "row": self.row.id(), "found": words(self.row, &self.truth),
            "expected": words(self.row, &self.expected), "verdict": format!("{:?}", self.verdict()).to_lowercase(),
            "seconds": self.took.as_secs_f32(),
        })
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict() {
            Verdict::Pass => "pass",
            Verdict::Fail => "FAIL",
            Verdict::Skip => "SKIP",
        };
        let (row, seconds) = (self.row.id(), self.took.as_secs_f32());
        write!(f, "{verdict} {:12} {row:14} {seconds:5.1} s  {}", self.host, words(self.row, &self.truth))?;
        if self.verdict() != Verdict::Fail {
            return Ok(());
        }
        write!(f, "\n  expected: {}", words(self.row, &self.expected))
    }
}

/// A finding in the words of the table.
fn words(row: Row, truth: &Truth) -> String {
    let off = matches!(row, Row::Off | Row::OffManaged);
    let shows = row.shows_planted() || row == Row::Long;
    match truth {
        Truth::Runs => "runs",
        Truth::Denied if off => "holds",
        Truth::Denied => "denied",
        Truth::Rewritten => "rewritten",
        Truth::Redacted => "redacted",
        Truth::Contained => "contained",
        Truth::Once => "runs once",
        Truth::Complete => "complete",
        Truth::Open if row == Row::Reconciled => "not complete",
        Truth::Answered => "answered by the gate",
        Truth::Told => "told",
        Truth::Untold => "not told",
        Truth::Hint => "denied, with a hint",
        Truth::Fails => "does not run",
        Truth::Waits => "waits, does not run",
        Truth::Refuses => "does not start",
        Truth::Open if off => "off",
        Truth::Open if shows => "shown",
        Truth::Open => "open: runs",
        Truth::OpenIn(mode) => return format!("open in the mode {mode}"),
        Truth::None => "has none",
        Truth::Skipped(why) => return format!("not rehearsed: {why}"),
        Truth::Broken(why) => return format!("broken: {why}"),
    }
    .to_owned()
}

/// The whole table. The administrator's registration is told beside the person's, where that one does not hold.
pub(crate) fn markdown(clients: &[&'static dyn Client], versions: &[String], cells: &[Cell]) -> String {
    let find = |host: &str, row: Row| cells.iter().find(|cell| cell.host == host && cell.row == row);
    let rows: Vec<Row> = ROWS.into_iter().filter(|row| *row != Row::OffManaged).collect();
    let titles: Vec<&str> = rows.iter().map(|row| row.title()).collect();
    let mut table = format!("| client | {} |\n|---|{}\n", titles.join(" | "), "---|".repeat(rows.len()));
    for (client, version) in clients.iter().zip(versions) {
        table.push_str(&format!("| {} {version} |", client.name()));
        for row in &rows {
            let mut text = find(client.host(), *row).map_or_else(|| "not rehearsed".to_owned(), short);
            let managed =
                find(client.host(), Row::OffManaged).filter(|_| *row == Row::Off && text != "holds");
            if let Some(managed) = managed {
                text.push_str(&match managed.truth {
                    Truth::None => " (no managed settings)".to_owned(),
                    Truth::Skipped(_) => " (managed not rehearsed)".to_owned(),
                    _ => format!(" (managed {})", short(managed)),
                });
            }
            table.push_str(&format!(" {text} |"));
        }
        table.push('\n');
    }
    table
}

fn short(cell: &Cell) -> String {
    let text = words(cell.row, &cell.truth);
    let text = text.lines().next().unwrap_or_default();
    if cell.verdict() == Verdict::Fail { format!("**not as expected:** {text}") } else { text.to_owned() }
}

/// Writes the table into a document, between its markers.
pub(crate) fn update(file: &Path, table: &str) -> Result<(), String> {
    let at = |what: &dyn fmt::Display| format!("`{}`: {what}", file.display());
    let text = fs::read_to_string(file).map_err(|error| at(&error))?;
    let (begin, end) = MARKERS;
    let parts = text.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.ok_or_else(|| at(&format!("no `{begin}` and `{end}`")))?;
    fs::write(file, format!("{before}{begin}\n\n{table}\n{end}{after}")).map_err(|error| at(&error))
}

#[cfg(test)]
mod tests {
    use toolgate_rehearsal::clients::CLIENTS;

    use super::*;
    use crate::expected::expected;

    fn cell(row: Row, truth: Truth) -> Cell {
        let expected = expected("claude-code", row);
        Cell { host: "claude-code", row, truth, expected, took: Duration::ZERO }
    }

    #[test]
    fn a_table_has_a_line_a_client_and_goes_between_the_markers() {
        let client: Vec<_> =
            CLIENTS.iter().copied().filter(|client| client.host() == "claude-code").collect();
        let cells = [
            cell(Row::Write, Truth::Denied),
            cell(Row::Shell, Truth::Open),
            cell(Row::Off, Truth::Open),
            cell(Row::OffManaged, Truth::Denied),
        ];
        let table = markdown(&client, &["1.2.3".to_owned()], &cells);
        let line = table.lines().nth(2).unwrap();
        assert!(
            line.starts_with(
                "| Claude Code 1.2.3 | not rehearsed | denied | **not as expected:** open: runs |"
            )
        );
        assert!(line.ends_with("| off (managed holds) |"), "{line}");
        let columns = table.lines().map(|line| line.matches('|').count()).collect::<Vec<_>>();
        assert_eq!(columns, [ROWS.len() + 1; 3]);

        let file = std::env::temp_dir().join(format!("e2e-table-{}.md", std::process::id()));
        fs::write(&file, "before\n<!-- e2e -->\nold\n<!-- /e2e -->\nafter\n").unwrap();
        update(&file, &table).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("before\n<!-- e2e -->\n\n{table}\n<!-- /e2e -->\nafter\n"));
        fs::write(&file, "no markers").unwrap();
        assert!(update(&file, &table).is_err());
        fs::remove_file(&file).unwrap();
    }
}
