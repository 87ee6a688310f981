//! Making a workspace: all of it, with its inputs and its record, or nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_workspace::{Declaration, Dots, Pattern, Quota, Store, WorkspaceFile};

use super::progress::Shown;
use super::{Common, Failure, Out};
use crate::cli::people::person;
use crate::register::visible;

/// Make a workspace from a declaration, and copy its inputs in
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(super) struct Create {
    /// Whose workspace: letters, digits, `.`, `_` and `-`; may be left out with --file
    #[arg(required_unless_present = "file")]
    agent: Option<String>,
    /// The declaration, as TOML: agent, inputs, outputs, temp, quota, dots, base, from
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "output", "temp", "quota_bytes", "quota_files", "dots"])]
    file: Option<PathBuf>,
    /// What may be read: a file (`a/b.txt`), a directory (`a/`) or a glob (`a/**/*.md`); may be given often
    #[arg(long, value_name = "PATTERN")]
    input: Vec<String>,
    /// What may be written, likewise
    #[arg(long, value_name = "PATTERN")]
    output: Vec<String>,
    /// Also let it write below `temp/`, which no snapshot holds
    #[arg(long)]
    temp: bool,
    /// Outputs and temporary files have at most so many bytes
    #[arg(long, value_name = "N")]
    quota_bytes: Option<u64>,
    /// There are at most so many of them
    #[arg(long, value_name = "N")]
    quota_files: Option<u64>,
    /// Which `..` is refused: two dots anywhere (substring), or as a name of its own (component)
    #[arg(long, value_parser = ["substring", "component"])]
    dots: Option<String>,
    /// Copy the declared inputs from this directory
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What the arguments, or the file that they name, ask for.
struct Wanted {
    agent: String,
    declaration: Declaration,
    from: Option<PathBuf>,
    /// With the file's base, where the arguments name none.
    common: Common,
}

impl Create {
    /// The agent, as far as the arguments name it.
    pub(super) fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or_default()
    }

    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let Wanted { agent, declaration, from, common } = self.wanted()?;
        let keeper = common.keeper()?;
        let (workspaces, store) = (common.workspaces()?, Store::open(&keeper.store())?);
        let workspace = match &from {
            Some(from) => {
                let progress = Shown::new("copying inputs");
                workspaces.create_from(&agent, declaration, from, &store, &progress)?
            }
            None => workspaces.create(&agent, declaration)?,
        };
        let path = workspace.path().to_path_buf();
        let shown = path.display().to_string();
        let about = [("name", agent.as_str()), ("directory", shown.as_str())];
        if let Err(error) = keeper.done("workspace-create", &person(), &about) {
            workspace.cleanup()?;
            store.unpin(&path)?;
            return Err(Failure::Other(error.to_string()));
        }
        let named = workspace.declaration().inputs.iter().filter_map(Pattern::exact);
        let missing: Vec<&str> =
            named.filter(|input| from.is_some() && !path.join(input).is_file()).collect();
        if common.json {
            out.json(&json!({
                "agent": workspace.agent(),
                "path": path,
                "declaration": workspace.declaration(),
                "missing": missing,
            }))?;
        } else {
            out.line(visible(&format!("{agent} has a workspace: {shown}")))?;
            for input in missing {
                out.line(visible(&format!("{input} is declared, and was not there to be copied")))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn wanted(&self) -> Result<Wanted, Failure> {
        let mut common = self.common.clone();
        let Some(file) = &self.file else {
            let agent = self.agent().to_owned();
            return Ok(Wanted { agent, declaration: self.declaration()?, from: self.from.clone(), common });
        };
        let file = WorkspaceFile::read(file)?;
        let agent = file.agent.to_string();
        if self.agent.as_ref().is_some_and(|named| *named != agent) {
            return Err(Failure::Declaration(format!(
                "the file declares the workspace of `{agent}`, not of `{}`; leave the name out, or change it in one of them",
                self.agent()
            )));
        }
        common.base.get_or_insert(file.base);
        Ok(Wanted { agent, declaration: file.declaration, from: self.from.clone().or(file.from), common })
    }

    fn declaration(&self) -> Result<Declaration, Failure> {
        let parse = |texts: &[String]| {
            let parsed = texts.iter().map(|text| {
                Pattern::parse(text)
                    .map_err(|fault| Failure::Declaration(format!("`{}` {fault}", text.escape_debug())))
            });
            parsed.collect::<Result<Vec<_>, _>>()
        };
        Ok(Declaration {
            inputs: parse(&self.input)?,
            outputs: parse(&self.output)?,
            temp: self.temp,
            quota: Quota { bytes: self.quota_bytes, files: self.quota_files },
            dots: if self.dots.as_deref() == Some("component") { Dots::Component } else { Dots::Substring },
        })
    }
}
