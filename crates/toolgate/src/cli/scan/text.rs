//! Findings for people: two lines each, the first as compilers write it.

use std::io::{self, Write};
use std::path::Path;

use super::super::Out;
use super::Report;
use super::search::{Finding, Totals};
use toolgate_model::visible;

pub(super) struct Text<'o> {
    out: &'o mut Out,
}

impl<'o> Text<'o> {
    pub(super) fn new(out: &'o mut Out) -> Text<'o> {
        Text { out }
    }
}

impl Report for Text<'_> {
    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let place = format!("{}:{}:{}", name(&finding.path), finding.from.line, finding.from.column);
        let place = self.out.paint("1", &place);
        let pattern = self.out.paint("31", finding.pattern);
        let commit =
            finding.commit.as_ref().map(|commit| format!(", in commit {commit}")).unwrap_or_default();
        writeln!(self.out.stdout, "{place}: {pattern}: {}{commit}\n    {}", finding.about, finding.text)
    }

    fn end(&mut self, totals: &Totals) -> io::Result<()> {
        self.out.stdout.flush()?;
        let things =
            |count: usize, thing: &str| format!("{count} {thing}{}", if count == 1 { "" } else { "s" });
        let (findings, files) = (things(totals.findings, "finding"), things(totals.files, "file"));
        let _ = writeln!(io::stderr(), "{findings} in {files} ({})", size(totals.bytes));
        Ok(())
    }
}

/// A path on one line, whatever is in it.
fn name(path: &Path) -> String {
    visible(&path.to_string_lossy()).replace('\n', "\\n").replace('\t', "\\t")
}

fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = bytes / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_short() {
        let sizes = [0, 999, 1_000, 1_250_000, 999_999_999, 3_000_000_000].map(size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "1.2 MB", "999.9 MB", "3.0 GB"]);
    }

    #[test]
    fn a_file_name_is_printed_on_one_line() {
        assert_eq!(name(Path::new("a\nb\t\u{1b}c")), "a\\nb\\t\\u{1b}c");
    }
}
