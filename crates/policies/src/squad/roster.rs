//! Who belongs to a squad: the tables of its `team.md`.
//!
//! The tables under `## Members` (or `## Team Roster`), `## Coordinator` and `## Coding Agent` count, whatever headings divide them further.
//! People are no agents, and who has left is none any more: neither is listed.

use std::collections::BTreeSet;

use toolgate_model::{COORDINATOR, plain_name};

use super::markdown::{Table, says, sections, undressed};

/// An agent of the squad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterRow {
    /// Its name, as [`plain_name`] gives it.
    pub name: String,
    /// Its role, likewise; empty where the table gives none.
    pub role: String,
}

/// Words that say of a row, or of all below a heading, that there is no agent there.
const NO_AGENT: &[&str] = &["retired", "alumni", "alumnus", "alumna", "inactive", "human", "humans"];

/// The badge that squads give to people.
const PERSON: char = '\u{1f464}';

/// The agents in a `team.md`, each once.
pub fn roster(team_md: &str) -> Vec<RosterRow> {
    let mut known = BTreeSet::new();
    let mut entries = Vec::new();
    let mut usual_role = None;
    // The level of the heading below which there are no agents.
    let mut passed_over = None;
    for section in sections(team_md) {
        if section.level <= 2 {
            usual_role = role_below(section.level, section.heading);
        }
        if passed_over.is_none_or(|level| section.level <= level) {
            passed_over = says(section.heading, NO_AGENT).then_some(section.level);
        }
        let (Some(usual_role), None) = (usual_role, passed_over) else { continue };
        for table in &section.tables {
            entries.extend(agents(table, usual_role).filter(|entry| known.insert(entry.name.clone())));
        }
    }
    entries
}

/// The role of those who have none of their own, if the tables below this heading list agents.
fn role_below(level: usize, heading: &str) -> Option<&'static str> {
    match plain_name(&undressed(heading)).as_str() {
        _ if level != 2 => None,
        "coordinator" => Some(COORDINATOR),
        "members" | "team-roster" | "coding-agent" => Some(""),
        _ => None,
    }
}

fn agents<'t>(table: &'t Table, usual_role: &'t str) -> impl Iterator<Item = RosterRow> {
    let columns = ["name", "role", "status"].map(|name| table.column(name));
    table.rows.iter().filter_map(move |row| {
        let [name, role, status] = columns.map(|column| column.map_or("", |column| table.cell(row, column)));
        let person =
            [name, role, status].iter().any(|cell| cell.contains(PERSON)) || says(role, &["human", "humans"]);
        let struck_out = name.contains("~~");
        if person || struck_out || says(status, NO_AGENT) {
            return None;
        }
        let name = agent_name(name)?;
        let role = undressed(role);
        let role =
            if role.contains(char::is_alphanumeric) { plain_name(&role) } else { usual_role.to_owned() };
        Some(RosterRow { name, role })
    })
}

/// The name in a cell, which may wear a badge before it. A place to be filled in (`{Name}`) is none.
fn agent_name(cell: &str) -> Option<String> {
    const LONGEST: usize = 100;
    let name = undressed(cell);
    let badge = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '{' | '<');
    let name = plain_name(name.trim_matches(badge));
    let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '.' | '\'' | '’' | '&');
    (!name.is_empty() && name.len() <= LONGEST && name.chars().all(fits)).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        roster(text).into_iter().map(|entry| (entry.name, entry.role)).collect()
    }

    fn named(text: &str) -> Vec<String> {
        roster(text).into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn agents_are_read_from_three_tables_of_the_roster() {
        let text = "# Crew\n\n| Name | Role |\n|---|---|\n| Mother | Ship |\n\n\
            ## COORDINATOR\n\n|Name|Role|Notes|\n|:-|-:|-|\n|Bridge|Coordinator|hands out work|\n\n\
            ## Members ##\r\n\r\n| Status | Role | Name |\r\n|---|---|---|\r\n| on duty | Back-End  Dev | **Kane** |\r\n\
            | silent | — | [Night Watch](agents/x.md) |\r\n\n\
            ### Others\n| Name |\n|---|\n| `Lambert` |\n| Kane |\n\n\
            ## Coding Agent\n<!-- a remark -->\n| Name | Role |\n|---|---|\n| @copilot | Coding Agent |\n\n\
            ## Guests\n| Name | Role |\n|---|---|\n| Dallas | Guest |\n";
        let pair = |name: &str, role: &str| (name.to_owned(), role.to_owned());
        let wanted = [
            pair("bridge", "coordinator"),
            pair("kane", "back-end-dev"),
            pair("night-watch", ""),
            pair("lambert", ""),
            pair("copilot", "coding-agent"),
        ];
        assert_eq!(pairs(text), wanted);
    }

    #[test]
    fn an_agent_in_the_coordinator_table_is_the_coordinator() {
        let text = "## Coordinator\n| Name | Notes |\n|---|---|\n| Bridge | x |\n";
        assert_eq!(pairs(text), [("bridge".to_owned(), COORDINATOR.to_owned())]);
    }

    #[test]
    fn humans_retired_and_nameless_members_are_not_agents() {
        let row = |name: &str, role: &str, status: &str| {
            named(&format!(
                "## Members\n| Name | Role | Status |\n|---|---|---|\n| {name} | {role} | {status} |\n"
            ))
        };
        assert_eq!(row("\u{1f527} Kane", "Dev", "\u{2705} Active"), ["kane"]);
        assert_eq!(row("Kane", "Humanizer", "\u{2705} Active"), ["kane"]);
        for (name, role, status) in [
            ("Kane", "Dev", "Retired"),
            ("Kane", "Dev", "\u{1f4a4} INACTIVE"),
            ("Kane", "Dev", "alumni (2025)"),
            ("Kane", "Product (human)", "Active"),
            ("Kane", "Product", "\u{1f464} Human"),
            ("\u{1f464} Kane", "Product", ""),
            ("~~Kane~~", "Dev", ""),
            ("{Name}", "Dev", ""),
            ("<name>", "Dev", ""),
            ("—", "Dev", ""),
            ("", "Dev", ""),
        ] {
            assert_eq!(row(name, role, status), [""; 0], "{name}, {role}, {status}");
        }
        let left = "## Members\n### Alumni\n#### 2025\n| Name |\n|-|\n| Kane |\n### Present\n| Name |\n|-|\n| Ash |\n";
        assert_eq!(named(left), ["ash"]);
    }

    #[test]
    fn a_text_without_a_members_table_gives_no_agents() {
        for text in [
            "",
            "\n\n",
            "## Members",
            "## Members\nKane, Ash",
            "## Members\n| Who | Role |\n|---|---|\n| Kane | Dev |\n",
            "### Members\n| Name |\n|---|\n| Kane |\n",
            "## Former Members\n| Name |\n|---|\n| Kane |\n",
            "## Members\n```\n| Name |\n|---|\n| Kane |\n```\n",
        ] {
            assert!(named(text).is_empty(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn names_from_any_text_are_plain_and_bounded(
            text in "(## Members\n\\|Name\\|Role\\|\n\\|-\\|-\\|\n)?[|\\-:#`~ \n\\\\a-cN{}<>!é\u{1f464}]{0,300}",
        ) {
            for entry in roster(&text) {
                prop_assert_eq!(plain_name(&entry.name), entry.name.clone());
                prop_assert!(!entry.name.is_empty() && entry.name.len() <= 100);
            }
        }
    }
}
