//! Keys of settings that had another name: read for one version, and named.
//!
//! They are renamed in the parsed table, before anything else looks at it. So no other code knows the old names, and
//! a rule about a key (for example that it does not count in a project's file) holds for both names.

use toml::{Table, Value};

/// The table that a key is in, its old name, its new name. In a list of tables it is renamed in each.
const RENAMED: &[(&[&str], &str, &str)] = &[
    (&[], "telling", "notices"),
    (&["activation"], "root_env", "root-env"),
    (&["activation"], "skip_untrusted", "skip-untrusted"),
    (&["messages"], "outside", "outside-scope"),
    (&["command"], "fed_by", "fed-by"),
    (&["command"], "unless_text", "unless-text"),
    (&["policy", "destructive"], "allow_force_with_lease", "allow-force-with-lease"),
    (&["policy", "outside-scope"], "shell_reads", "shell-reads"),
    (&["policy", "unproved-effect"], "shell_code", "shell-code"),
];

/// Rules that are now a part of another one. Whoever allowed the part has not allowed the whole.
const MERGED: &[(&str, &str)] = &[
    ("git-checkout-file", "git-checkout-paths"),
    ("git-restore-worktree", "git-restore"),
    ("package-pipe-stdin", "package-pipe-code"),
    ("system-sysctl-set", "system-sysctl"),
];

/// Gives keys their new names, and says which had an old one. A key that is there under both names is an error.
pub(crate) fn update(layer: &mut Table) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    for (path, old, new) in RENAMED {
        let mut found = false;
        for table in tables_at(layer, path) {
            let Some(value) = table.remove(*old) else { continue };
            if table.insert((*new).to_owned(), value).is_some() {
                return Err(format!("`{old}` is the old name of `{new}`, and both are set; remove `{old}`"));
            }
            found = true;
        }
        if found {
            let place = if path.is_empty() { String::new() } else { format!(" in `{}`", path.join(".")) };
            notes.push(format!("`{old}`{place} is now `{new}`"));
        }
    }
    update_allowed(layer, &mut notes)?;
    update_network(layer, &mut notes)?;
    Ok(notes)
}

/// `network` of `[containment]` is `mode` of `[network]`, where the hosts are.
fn update_network(layer: &mut Table, notes: &mut Vec<String>) -> Result<(), String> {
    let found = tables_at(layer, &["containment"]).into_iter().find_map(|table| table.remove("network"));
    let Some(mode) = found else { return Ok(()) };
    let network = layer.entry("network").or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(network) = network else { return Err("`network` must be a table".to_owned()) };
    if network.insert("mode".to_owned(), mode).is_some() {
        return Err("`network` of [containment] is the old name of `mode` of [network], and both are set; remove `network`".to_owned());
    }
    notes.push("`network` in `containment` is now `mode` in `network`".to_owned());
    Ok(())
}

/// `allow` of `[policy.destructive]` listed rules that do not hold; `[rules]` sets each.
fn update_allowed(layer: &mut Table, notes: &mut Vec<String>) -> Result<(), String> {
    let list =
        tables_at(layer, &["policy", "destructive"]).into_iter().find_map(|table| table.remove("allow"));
    let Some(list) = list else { return Ok(()) };
    let ids = list.as_array().map(|ids| ids.iter().map(Value::as_str).collect::<Option<Vec<&str>>>());
    let Some(Some(ids)) = ids else {
        return Err("`allow` of [policy.destructive] must be a list of ids; set rules in [rules]".to_owned());
    };
    let rules = layer.entry("rules").or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(rules) = rules else { return Err("`rules` must be a table".to_owned()) };
    for id in &ids {
        // Either of the two rules that are now one was only a part of it.
        let merged = MERGED.iter().find(|(part, whole)| part == id || whole == id);
        if let Some((part, whole)) = merged
            && !(ids.contains(part) && ids.contains(whole))
        {
            notes.push(format!(
                "the rule `{id}` in `allow` is now more than it was (`{whole}`), and holds unless [rules] sets it"
            ));
            continue;
        }
        if merged.is_some_and(|(part, _)| part == id) {
            continue;
        }
        let id = *id;
        // What [rules] says of it is the newer word.
        rules.entry(id).or_insert_with(|| Value::String("allow".to_owned()));
        notes.push(format!(
            "`{id}` in `allow` of `policy.destructive` is now `{id} = \"allow\"` in `[rules]`"
        ));
    }
    Ok(())
}

/// The table of this path, or all of them where it is a list of tables.
fn tables_at<'t>(layer: &'t mut Table, path: &[&str]) -> Vec<&'t mut Table> {
    let Some((name, rest)) = path.split_first() else { return vec![layer] };
    match layer.get_mut(*name) {
        Some(Value::Table(table)) => tables_at(table, rest),
        Some(Value::Array(entries)) if rest.is_empty() => {
            entries.iter_mut().filter_map(Value::as_table_mut).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Settings, read, read_noting};

    #[test]
    fn old_keys_are_read_as_the_new_ones_and_noted() {
        for (old, new, note) in [
            ("[telling]\nburst = 3", "[notices]\nburst = 3", "`telling` is now `notices`"),
            (
                "[activation]\nroot_env = \"X\"",
                "[activation]\nroot-env = \"X\"",
                "`root_env` in `activation` is now `root-env`",
            ),
            (
                "[[command]]\nmessage = \"no\"\ncommand = [\"sh\"]\nfed_by = [\"curl\"]",
                "[[command]]\nmessage = \"no\"\ncommand = [\"sh\"]\nfed-by = [\"curl\"]",
                "`fed_by` in `command` is now `fed-by`",
            ),
            (
                "[policy.unproved-effect]\nshell_code = \"deny\"",
                "[policy.unproved-effect]\nshell-code = \"deny\"",
                "`shell_code` in `policy.unproved-effect` is now `shell-code`",
            ),
            (
                "[containment]\nnetwork = \"none\"",
                "[containment]\n[network]\nmode = \"none\"",
                "`network` in `containment` is now `mode` in `network`",
            ),
            (
                "[policy.destructive]\nallow = [\"git-clean\"]",
                "[policy.destructive]\n[rules]\ngit-clean = \"allow\"",
                "`git-clean` in `allow` of `policy.destructive` is now `git-clean = \"allow\"` in `[rules]`",
            ),
            (
                "[policy.destructive]\nallow = [\"git-clean\"]\n[rules]\ngit-clean = \"ask\"",
                "[policy.destructive]\n[rules]\ngit-clean = \"ask\"",
                "`git-clean` in `allow` of `policy.destructive` is now `git-clean = \"allow\"` in `[rules]`",
            ),
        ] {
            let layer = read_noting(old).unwrap();
            assert_eq!(layer.notes, [note], "{old}");
            assert_eq!(layer.table, read(new).unwrap(), "{old}");
            assert!(read_noting(new).unwrap().notes.is_empty(), "{new}");
        }
    }

    #[test]
    fn allowing_a_part_of_a_merged_rule_does_not_allow_the_whole() {
        for part in ["system-sysctl-set", "system-sysctl"] {
            let layer = read_noting(&format!("[policy.destructive]\nallow = [\"{part}\"]")).unwrap();
            assert!(
                layer.notes.iter().any(|note| note.contains("is now more than it was (`system-sysctl`)")),
                "{:?}",
                layer.notes
            );
            let settings: Settings = layer.table.try_into().unwrap();
            assert_eq!(settings.rules, crate::RuleSwitches::default());
        }
        let both = "[policy.destructive]\nallow = [\"system-sysctl\", \"system-sysctl-set\"]";
        let settings: Settings = read_noting(both).unwrap().table.try_into().unwrap();
        assert_eq!(settings.rules.get("system-sysctl"), Some(crate::Response::Allow));
    }

    #[test]
    fn a_wrong_value_of_an_old_key_is_an_error() {
        for (text, complaint) in [
            ("[activation]\nroot_env = \"X\"\nroot-env = \"Y\"", "both are set"),
            ("[activation]\nroot_env = 3", "invalid type"),
            ("[containment]\nnetwork = \"none\"\n[network]\nmode = \"all\"", "both are set"),
            ("[policy.destructive]\nallow = [3]", "must be a list of ids"),
            ("[policy.destructive]\nallow = [\"nothing\"]", "unknown rule `nothing`"),
            ("[policy.destructive]\nallow = [\"mkfs\"]", "part of the floor"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.what.contains(complaint), "{text}: {error:?}");
        }
    }

    /// Every key that settings have, as their schema lists them.
    #[test]
    fn all_keys_are_in_kebab_case() {
        fn walk(schema: &serde_json::Value, keys: &mut Vec<String>) {
            match schema {
                serde_json::Value::Object(members) => {
                    if let Some(properties) = members.get("properties").and_then(|it| it.as_object()) {
                        keys.extend(properties.keys().cloned());
                    }
                    members.values().for_each(|member| walk(member, keys));
                }
                serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, keys)),
                _ => {}
            }
        }
        let mut keys = Vec::new();
        walk(schemars::schema_for!(Settings).as_value(), &mut keys);
        assert!(keys.len() > 100);
        let odd: Vec<_> = keys.iter().filter(|key| key.contains('_')).collect();
        assert!(odd.is_empty(), "{odd:?}");
    }
}
