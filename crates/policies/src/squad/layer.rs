//! A squad's files as a layer of settings: the same engine, in other words.

use toml::{Table, Value};
use toolgate_model::TEAM_DIRECTORIES;

use super::{PolicyConfig, Writer, ownership, roster};

/// Who is on the team, and whose its files are: from its `team.md` and from the table of its governance file.
pub fn team_layer(team_md: Option<&str>, governance: Option<&str>) -> Table {
    let roster = team_md.map(roster).unwrap_or_default();
    let members =
        roster.iter().map(|entry| table([("name", text(&entry.name)), ("role", text(&entry.role))]));
    let members: Vec<Value> = members.map(Value::Table).collect();
    let rules = governance.map(|md| ownership(md, &roster)).unwrap_or_default();
    let files = rules.iter().filter_map(|rule| {
        // What lies elsewhere is not a file of the team's directory, and has its own guards.
        let below = TEAM_DIRECTORIES.iter().find_map(|top| rule.path.strip_prefix(top)?.strip_prefix('/'))?;
        let path = below.trim_end_matches('/');
        let plain = !path.is_empty() && path.split('/').all(|name| !matches!(name, "" | "." | ".." | "**"));
        let mut file = table([
            ("path", text(path)),
            ("write", words(&rule.write)),
            ("append-only", Value::Boolean(rule.append_only)),
        ]);
        if let Some(read) = &rule.read {
            // Whoever may write it has to see what stands there.
            let readers: Vec<Writer> = read.iter().chain(&rule.write).cloned().collect();
            file.insert("read".to_owned(), words(&readers));
        }
        plain.then_some(Value::Table(file))
    });
    table([("team", Value::Table(lists([("roster", members), ("file", files.collect())])))])
}

/// The rules of a `policies.json`. What it switches off and the floor keeps on is not in it.
pub fn policies_layer(config: &PolicyConfig) -> Table {
    let PolicyConfig { shell_blocklist, pii_scrubbing, ask_user_limits, file_write_guards, reviewer_lockout } =
        config;
    let number = |number: u32| Value::Integer(number.into());
    let switch = |on: bool| Value::Table(table([("enabled", Value::Boolean(on))]));
    let mut policies = table([
        (
            "destructive",
            Value::Table(table([(
                "allow-force-with-lease",
                Value::Boolean(shell_blocklist.allow_force_with_lease),
            )])),
        ),
        (
            "ask-user-limit",
            Value::Table(table([
                ("max", number(ask_user_limits.max_questions_per_session)),
                ("shortest", number(ask_user_limits.min_response_length)),
            ])),
        ),
        (
            "reviewer-lockout",
            Value::Table(table([
                ("enabled", Value::Boolean(reviewer_lockout.enabled)),
                ("escalate-after", number(reviewer_lockout.escalate_to_user_after_lockout_count)),
            ])),
        ),
    ]);
    for guard in ["coordinator-write", "ownership", "own-charter", "create-only-log"] {
        policies.insert(guard.to_owned(), switch(file_write_guards.enabled));
    }
    let agents = file_write_guards.additional_allowed_paths.iter().map(|(name, paths)| {
        let paths = Value::Array(paths.iter().map(|path| text(path)).collect());
        (name.clone(), Value::Table(table([("also-write", paths)])))
    });
    let commands = shell_blocklist.custom_patterns.iter().map(|blocked| {
        Value::Table(table([("pattern", text(blocked.pattern.as_str())), ("message", text(&blocked.reason))]))
    });
    let scrubbed = pii_scrubbing.custom_patterns.iter().map(|scrubbed| {
        Value::Table(table([
            ("pattern", text(scrubbed.pattern.as_str())),
            ("replacement", text(&scrubbed.replacement)),
        ]))
    });
    let safe = pii_scrubbing.exclude_patterns.iter().map(|safe| text(safe));
    let mut redaction = lists([("pattern", scrubbed.collect())]);
    if !pii_scrubbing.exclude_patterns.is_empty() {
        redaction.insert("safe-emails".to_owned(), Value::Array(safe.collect()));
    }
    let mut layer = lists([("command", commands.collect())]);
    layer.extend(table([
        ("policy", Value::Table(policies)),
        ("agent", Value::Table(agents.collect())),
        ("redaction", Value::Table(redaction)),
    ]));
    layer
}

/// Lists of entries, to be added to those below. One without any is left out: it would take the place of theirs.
fn lists<const N: usize>(lists: [(&str, Vec<Value>); N]) -> Table {
    let present = lists.into_iter().filter(|(_, entries)| !entries.is_empty());
    present.map(|(name, entries)| (name.to_owned(), Value::Array(entries))).collect()
}

fn words(writers: &[Writer]) -> Value {
    let word = |writer: &Writer| match writer {
        Writer::Coordinator => text(toolgate_model::COORDINATOR),
        Writer::Owner => text("owner"),
        Writer::Agent(name) => text(name),
        Writer::Everyone => text("everyone"),
    };
    Value::Array(writers.iter().map(word).collect())
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn table<const N: usize>(members: [(&str, Value); N]) -> Table {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::FileRule;
    use crate::{RosterEntry, Settings, read, stack};

    /// What a squad has with these layers on top of its profile.
    fn squad(layers: &[&Table]) -> Settings {
        let settings = stack(Some("squad"), "", layers).unwrap();
        assert_eq!(settings.check(), Ok(()));
        settings
    }

    const TEAM: &str = "## Coordinator\n| Name |\n|---|\n| Bridge |\n\n\
        ## Members\n| Name | Role |\n|---|---|\n| Kane | Backend Dev |\n";

    fn rule(path: &str, write: &[&str], read: Option<&[&str]>, append_only: bool) -> FileRule {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        FileRule { path: path.into(), write: words(write), read: read.map(words), append_only }
    }

    #[test]
    fn a_roster_and_a_table_are_added_to_the_profile() {
        let governance = "## Source of Truth\n\
            | File | Status | Who May Write | Who May Read |\n|---|---|---|---|\n\
            | `.squad/agents/{name}/notes.md` | Append-only | Owning agent, Scribe | Kane |\n\
            | `.ai-team/plans/` | | Bridge | All agents |\n\
            | `.squad/pins.md` | | Nobody | Kane |\n\
            | `.squad/wall.md` | | All agents | All agents |\n";
        let (alone, whole) = (squad(&[]), squad(&[&team_layer(Some(TEAM), Some(governance))]));
        let (above, own) = whole.team.file.split_at(alone.team.file.len());
        assert_eq!(above, alone.team.file);
        // Whoever may write a file may read it.
        let wanted = [
            rule("agents/{name}/notes.md", &["owner", "scribe"], Some(&["kane", "owner", "scribe"]), true),
            rule("plans", &["coordinator"], Some(&["everyone", "coordinator"]), false),
            rule("pins.md", &[], Some(&["kane"]), false),
            rule("wall.md", &["everyone"], Some(&["everyone", "everyone"]), false),
        ];
        assert_eq!(own, wanted);
        let entry = |name: &str, role: &str| RosterEntry { name: name.into(), role: role.into() };
        assert_eq!(whole.team.roster, [entry("bridge", "coordinator"), entry("kane", "backend-dev")]);
    }

    #[test]
    fn a_table_without_a_column_for_readers_leaves_reading_open() {
        let governance =
            "## Source of Truth\n| File | Who May Write |\n|---|---|\n| `.squad/pins.md` | Kane |\n";
        let whole = squad(&[&team_layer(Some(TEAM), Some(governance))]);
        assert_eq!(whole.team.file.last(), Some(&rule("pins.md", &["kane"], None, false)));
    }

    #[test]
    fn a_path_outside_the_team_directory_makes_no_rule() {
        for path in
            ["docs/api.md", ".squad/", ".squad", ".squad/../x.md", ".squad/a//b", ".squad/**", ".squadron/x"]
        {
            let governance =
                format!("## Source of Truth\n| File | Who May Write |\n|---|---|\n| `{path}` | Kane |\n");
            assert_eq!(squad(&[&team_layer(None, Some(&governance))]), squad(&[]), "{path}");
        }
    }

    #[test]
    fn files_that_say_nothing_change_nothing() {
        assert_eq!(squad(&[&team_layer(None, None)]), squad(&[]));
        assert_eq!(squad(&[&team_layer(Some("# Crew"), Some("# Rules"))]), squad(&[]));
        // The profile has the values that a squad has without a file, and what lies below stays.
        let usual = policies_layer(&PolicyConfig::default());
        assert_eq!(squad(&[&usual]), squad(&[]));
        let below = read(
            "[redaction]\nsafe-emails = [\"@corp.com\"]\n[[redaction.pattern]]\npattern = \"EMP-[0-9]+\"\n\
             [[command]]\nmessage = \"no\"\ncommand = [\"curl\"]\n[agent.kane]\nrole = \"dev\"\n",
        )
        .unwrap();
        assert_eq!(squad(&[&below, &usual]), squad(&[&below]));
    }

    #[test]
    fn policies_json_means_the_same_as_our_own_settings() {
        let config = PolicyConfig::read(
            r#"{
                "shellBlocklist": {
                    "enabled": false,
                    "customPatterns": [{"pattern": "deploy\\s+prod", "reason": "a person deploys"}],
                    "allowForceWithLease": false
                },
                "piiScrubbing": {
                    "enabled": false,
                    "customPatterns": [{"pattern": "EMP-[0-9]+", "replacement": "[EMPLOYEE]"}],
                    "excludePatterns": ["bot@corp.com"]
                },
                "askUserLimits": {"maxQuestionsPerSession": 2, "minResponseLength": 4},
                "fileWriteGuards": {"enabled": false, "additionalAllowedPaths": {"Kane": ["docs/api"]}},
                "reviewerLockout": {"enabled": false, "escalateToUserAfterLockoutCount": 1}
            }"#,
        )
        .unwrap();
        // That commands and outputs are not looked at is what no file of a squad can say.
        let same = read(
            r#"
                [[command]]
                pattern = 'deploy\s+prod'
                message = "a person deploys"
                [policy.destructive]
                allow-force-with-lease = false
                [redaction]
                safe-emails = ["bot@corp.com"]
                [[redaction.pattern]]
                pattern = "EMP-[0-9]+"
                replacement = "[EMPLOYEE]"
                [policy.ask-user-limit]
                max = 2
                shortest = 4
                [policy.coordinator-write]
                enabled = false
                [policy.ownership]
                enabled = false
                [policy.own-charter]
                enabled = false
                [policy.create-only-log]
                enabled = false
                [agent.kane]
                also-write = ["docs/api"]
                [policy.reviewer-lockout]
                enabled = false
                escalate-after = 1
            "#,
        )
        .unwrap();
        assert_eq!(squad(&[&policies_layer(&config)]), squad(&[&same]));
    }
}
