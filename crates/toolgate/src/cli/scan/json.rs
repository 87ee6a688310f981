//! Findings as one JSON object, written while they come. It is what `--baseline` reads.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::super::JSON_VERSION;
use super::Report;
use super::search::{Finding, Totals};

pub(super) struct Json<'o> {
    out: &'o mut dyn Write,
    separator: &'static str,
}

/// Places count from 1, columns in characters; the end is behind the last one.
#[derive(Serialize)]
struct ReportedFinding<'f> {
    path: Cow<'f, str>,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    pattern: &'f str,
    about: &'f str,
    text: &'f str,
    fingerprint: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'f str>,
}

impl<'o> Json<'o> {
    pub(super) fn begin(out: &'o mut dyn Write) -> io::Result<Json<'o>> {
        write!(out, "{{\"version\":{JSON_VERSION},\"findings\":[")?;
        Ok(Json { out, separator: "\n" })
    }
}

impl Report for Json<'_> {
    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let reported = ReportedFinding {
            path: finding.path.to_string_lossy(),
            line: finding.from.line,
            column: finding.from.column,
            end_line: finding.to.line,
            end_column: finding.to.column,
            pattern: finding.pattern,
            about: finding.about,
            text: &finding.text,
            fingerprint: &finding.fingerprint,
            commit: finding.commit.as_deref(),
        };
        write!(self.out, "{}{}", self.separator, serde_json::to_string(&reported)?)?;
        self.separator = ",\n";
        Ok(())
    }

    fn end(&mut self, totals: &Totals) -> io::Result<()> {
        writeln!(self.out, "\n],\"files\":{},\"bytes\":{}}}", totals.files, totals.bytes)
    }
}
