//! What is generated from the code: the schema, completions, the manual page.

use clap::CommandFactory;
use schemars::schema_for;
use toolgate_policies::Settings;

use super::Cli;

/// The JSON schema of `toolgate.toml`, for editors.
pub fn schema() -> String {
    let schema = schema_for!(Settings);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// Completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "toolgate", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The manual page of the command and all of its sub-commands.
pub fn man_page() -> String {
    let mut text = Vec::new();
    let command = Cli::command();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command.clone()).render(&mut text);
    for sub in command.get_subcommands() {
        let man = clap_mangen::Man::new(sub.clone().bin_name(format!("toolgate {}", sub.get_name())));
        let _ = man.render_synopsis_section(&mut text);
        let _ = man.render_description_section(&mut text);
        let _ = man.render_options_section(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}
