//! The rules of a team, written for it by `toolgate init --profile squad` where it has none.

use std::fs;
use std::path::Path;

use toolgate_policies::squad::PolicyConfig;

use super::Out;
use toolgate_model::{TEAM_DIRECTORIES, visible};
use toolgate_setup::compile::team_rules;

/// Writes `config/policies.json` into the team's directory, or says what is to be said about the one that is there.
pub(super) fn write(out: &mut Out, project: &Path, dry_run: bool) -> Result<(), String> {
    let team = TEAM_DIRECTORIES.map(|name| project.join(name)).into_iter().find(|team| team.is_dir());
    let team = team.unwrap_or_else(|| project.join(".squad"));
    let file = team.join("config/policies.json");
    let shown = file.display().to_string();
    let failed = |error: std::io::Error| format!("{shown}: {error}");
    if file.exists() {
        let bytes = fs::read(&file).map_err(failed)?;
        let config = team_rules(&file, &bytes).map_err(|error| error.to_string())?;
        for note in config.notes() {
            out.line(visible(&format!("{} {shown}: {note}", out.paint("33", "note:"))))?;
        }
        return out.line(format!("{shown} is there and is followed"));
    }
    if dry_run {
        return out.line(format!("{shown} would be written, with what holds without it"));
    }
    // A link would have us write somewhere else.
    if [&team, &team.join("config")].iter().any(|path| path.is_symlink()) {
        return Err(format!("{shown} is behind a link; write it yourself"));
    }
    fs::create_dir_all(team.join("config")).map_err(failed)?;
    fs::write(&file, PolicyConfig::default_text()).map_err(failed)?;
    out.line(format!("{shown}: written; what it loosens counts once a person has run `toolgate trust`"))
}
