//! A squad's files as a layer of settings: the same engine, in other words.

use toml::{Table, Value};

use super::{PolicyConfig, Writer, ownership, roster};

/// Who is on the team, and whose its files are: from its `team.md` and from the table of its governance file.
pub fn team_layer(team_md: Option<&str>, governance: Option<&str>) -> Table {
    let roster = team_md.map(roster).unwrap_or_default();
    let members =
        roster.iter().map(|entry| table([("name", text(&entry.name)), ("role", text(&entry.role))]));
    let members: Vec<Value> = members.map(Value::Table).collect();
    let rules = governance.map(|md| ownership(md, &roster)).unwrap_or_default();
    let files = rules.iter().filter_map(|rule| {
        // What lies elsewhere is no file of the team's directory, and has its own guards.
        let below = [".squad/", ".ai-team/"].iter().find_map(|top| rule.path.strip_prefix(top))?;
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
                "allow_force_with_lease",
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
