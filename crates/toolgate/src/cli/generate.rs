//! What is generated from the code: the schema, completions, the manual page, the reference of commands.

use std::fmt::Write as _;

use clap::{Arg, Command};
use schemars::schema_for;
use toolgate_policies::Settings;

use super::command;

/// The JSON schema of `toolgate.toml`, for editors.
pub fn schema() -> String {
    let schema = schema_for!(Settings);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// Completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "toolgate", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The manual page of the command and all of its sub-commands.
pub fn man_page() -> String {
    let mut text = Vec::new();
    let command = command();
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

/// The reference of all commands, in Markdown: what `--help` says, on one page.
pub fn reference() -> String {
    let mut command = command();
    // Gives each sub-command its full name.
    command.build();
    let shared: Vec<&Arg> = command
        .find_subcommand("hook")
        .map(|hook| listed(hook).filter(|arg| !arg.is_positional()).collect())
        .unwrap_or_default();
    let mut page =
        format!("\n## {LINE}\n\nMany commands take these options, which a registration line has too.\n");
    table(&shared, &mut page);
    for sub in visible(&command) {
        describe(sub, &shared, 2, &mut page);
    }
    page
}

/// The heading above the options that many commands share.
const LINE: &str = "Options of a registration line";

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

/// The arguments that a command shows.
fn listed(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !["color", "help", "version"].contains(&arg.get_id().as_str()))
}

/// One command, and those below it. `shared` are options that have a section of their own.
fn describe(command: &Command, shared: &[&Arg], depth: usize, page: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim().trim_start_matches("Usage: ");
    // Writing to memory cannot fail.
    let _ = write!(page, "\n{} {name}\n\n{about}.\n\n```text\n{usage}\n```\n", "#".repeat(depth));
    let is_same = |one: &Arg, other: &Arg| one.get_id() == other.get_id() && meaning(one) == meaning(other);
    let has_all = shared.iter().all(|shared| listed(command).any(|arg| is_same(arg, shared)));
    let own = listed(command).filter(|arg| !(has_all && shared.iter().any(|shared| is_same(arg, shared))));
    table(&own.collect::<Vec<_>>(), page);
    if has_all {
        let anchor = LINE.to_lowercase().replace(' ', "-");
        let _ = write!(page, "\nIt also takes the [{}](#{anchor}).\n", LINE.to_lowercase());
    }
    if let Some(more) = command.get_after_help() {
        let _ = write!(page, "\n```text\n{}\n```\n", more.to_string().trim());
    }
    for sub in visible(command) {
        describe(sub, shared, depth + 1, page);
    }
}

fn table(args: &[&Arg], page: &mut String) {
    if !args.is_empty() {
        page.push_str("\n| argument | meaning |\n|---|---|\n");
    }
    for arg in args {
        let _ = writeln!(page, "| `{}` | {} |", cell(&spelling(arg)), cell(&meaning(arg)));
    }
}

/// An argument as one writes it: `--host HOST`, `[PATH]...`.
fn spelling(arg: &Arg) -> String {
    let names = arg.get_short().map(|short| format!("-{short}")).into_iter();
    let names: Vec<_> = names.chain(arg.get_long().map(|long| format!("--{long}"))).collect();
    if names.is_empty() {
        return arg.to_string();
    }
    let mut text = names.join(", ");
    if arg.get_action().takes_values() {
        let values = arg.get_value_names().unwrap_or_default();
        for value in values {
            text.push(' ');
            text.push_str(value);
        }
    }
    text
}

/// What an argument means, the words that it takes, and its default.
fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let words = arg.get_possible_values();
    let words: Vec<_> = words.iter().filter(|word| !word.is_hide_set()).collect();
    // A switch has no words of its own.
    if arg.get_action().takes_values() && !words.is_empty() {
        let words = words.iter().map(|word| match word.get_help() {
            Some(help) => format!("`{}` ({help})", word.get_name()),
            None => format!("`{}`", word.get_name()),
        });
        let _ = write!(text, ": {}", words.collect::<Vec<_>>().join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() {
        let _ = write!(text, " [default: `{}`]", defaults.join(" "));
    }
    text
}

/// A text as one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
