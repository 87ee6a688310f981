//! Cases about a workspace: what an agent has declared to read and to write.

use serde::Deserialize;
use toolgate_declaration::Pattern;

use super::Case;

/// What a case says of the workspace, in the words of its own interface. The session's root is its directory.
#[derive(Debug, Deserialize)]
pub(super) struct Workspace {
    #[serde(rename = "input_files")]
    inputs: Vec<String>,
    #[serde(rename = "output_files")]
    outputs: Vec<String>,
    #[serde(rename = "allow_temp_files")]
    temp: bool,
}

/// The case's declaration in our words. An entry that could not be a path below the workspace cannot be declared at all.
pub(super) fn settings(case: &Case<'_>) -> String {
    let Some(workspace) = &case.context.workspace else { return String::new() };
    let entries = |list: &[String]| -> Vec<String> {
        let declared = list.iter().filter_map(|entry| Pattern::parse(entry).ok());
        declared.map(String::from).collect()
    };
    format!(
        "\n[policy.declared-io]\ninputs = {:?}\noutputs = {:?}\ntemp = {}\n",
        entries(&workspace.inputs),
        entries(&workspace.outputs),
        workspace.temp
    )
}
