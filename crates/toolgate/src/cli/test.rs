//! `toolgate test`: runs case files.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Out;
use crate::cases;

/// Run case files
#[derive(Debug, Args)]
pub(super) struct Test {
    /// Case files: JSON lines, or TOML with [[case]]
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Cases that are not followed on purpose, each with its reason; cases/disagreements.toml where that is
    #[arg(long, value_name = "TOML")]
    disagreements: Option<PathBuf>,
}

impl Test {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, String> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let usual = PathBuf::from("cases/disagreements.toml");
        let listed = self.disagreements.or_else(|| usual.is_file().then_some(usual));
        let disagreements = listed.as_ref().map(read).transpose()?;
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for file in &self.files {
            let toml = file.extension().is_some_and(|extension| extension == "toml");
            let outcome = cases::run(&read(file)?, toml, disagreements.as_deref())
                .map_err(|error| format!("{}: {}", file.display(), error.0))?;
            for failure in &outcome.failed {
                out.line(format!("{} {failure}", out.paint("31", "FAIL")))?;
            }
            for disagreement in &outcome.disagreed {
                out.line(format!("{} {disagreement}", out.paint("33", "not followed")))?;
            }
            for (why, count) in &outcome.skipped {
                out.line(format!("{} {count}: {why}", out.paint("33", "skipped")))?;
            }
            passed += outcome.passed;
            failed += outcome.failed.len();
            skipped += outcome.skipped.values().sum::<usize>() + outcome.disagreed.len();
        }
        out.line(format!("{passed} passed, {failed} failed, {skipped} skipped"))?;
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
