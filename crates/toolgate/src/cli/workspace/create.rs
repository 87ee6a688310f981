//! Making a workspace: all of it, with its inputs and its record, or nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_workspace::{AgentId, Declaration, Dots, Error, Pattern, Quota, WorkspaceFile};

use super::super::progress::Shown;
use super::{Common, Failure, Out};
use crate::cli::people::person;
use crate::workspace::missing_inputs;
use toolgate_model::visible;

/// Make a workspace from a declaration, and copy the inputs into it
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(super) struct Create {
    /// Whose workspace: letters, digits, `.`, `_` and `-`; may be left out with --file
    #[arg(required_unless_present = "file")]
    agent: Option<String>,
    /// The declaration, as TOML: agent, inputs, outputs, temp, quota, dots, base, from
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "output", "temp", "quota_bytes", "quota_files", "dots"])]
    file: Option<PathBuf>,
    /// What may be read: a file (`a/b.txt`), a directory (`a/`) or a glob (`a/**/*.md`); can be given several times
    #[arg(long, value_name = "PATTERN")]
    input: Vec<String>,
    /// What may be written, in the same form
    #[arg(long, value_name = "PATTERN")]
    output: Vec<String>,
    /// Also allow writing below `temp/`, which no snapshot includes
    #[arg(long)]
    temp: bool,
    /// The most bytes that outputs and temporary files may have together
    #[arg(long, value_name = "N")]
    quota_bytes: Option<u64>,
    /// The most outputs and temporary files
    #[arg(long, value_name = "N")]
    quota_files: Option<u64>,
    /// Which `..` to refuse: two dots anywhere (substring), or only as a whole name (component)
    #[arg(long, value_parser = ["substring", "component"])]
    dots: Option<String>,
    /// Copy the declared inputs from this directory
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Create {
    /// The agent, as far as the arguments name it.
    pub(super) fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or_default()
    }

    pub(super) fn run(&self, out: &mut Out) -> Result<ExitCode, Failure> {
        let wanted = self.wanted()?;
        let workspace =
            self.common.keeper()?.create(&wanted, &person(), &Shown::counting("copying inputs", "files"))?;
        let (agent, path, declaration) = (workspace.agent(), workspace.path(), workspace.declaration());
        let missing = missing_inputs(&workspace)?;
        if self.common.json {
            out.json(&json!({"agent": agent, "path": path, "declaration": declaration, "missing": missing}))?;
            return Ok(ExitCode::SUCCESS);
        }
        out.line(visible(&format!("{agent} has a workspace: {}", path.display())))?;
        if declaration.inputs.is_empty() && declaration.outputs.is_empty() && !declaration.temp {
            out.line(
                "nothing is declared, so nothing can be read or written; --input and --output declare it",
            )?;
        }
        if wanted.from.is_none() && !declaration.inputs.is_empty() {
            out.line("no input was copied; --from DIR copies them")?;
        } else {
            for input in missing {
                out.line(visible(&format!("{input} is declared, but did not exist, so it was not copied")))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What the arguments ask for, or the file that they name; the base and the source of the arguments come first.
    fn wanted(&self) -> Result<WorkspaceFile, Failure> {
        let Some(file) = &self.file else {
            let declaration = self.declaration()?;
            let agent = AgentId::parse(self.agent())
                .map_err(|why| Error::InvalidAgent { agent: self.agent().to_owned(), why })?;
            let base = self.common.base().to_path_buf();
            return Ok(WorkspaceFile { agent, declaration, base, from: self.from.clone() });
        };
        let file = WorkspaceFile::read(file)?;
        if self.agent.as_ref().is_some_and(|named| named != file.agent.as_str()) {
            return Err(Failure::Declaration(format!(
                "the file declares the workspace of `{}`, not of `{}`; leave the name out, or change it in one of them",
                file.agent,
                self.agent()
            )));
        }
        Ok(WorkspaceFile {
            base: self.common.base.clone().unwrap_or(file.base),
            from: self.from.clone().or(file.from),
            ..file
        })
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
