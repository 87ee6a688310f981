//! Which settings are in force, which file each one comes from, and which have no effect.
//!
//! Against whom: a person who believes that a line in a file opens or closes something. A setting that says nothing is
//! found here and told by `toolgate config show`, `toolgate check` and `toolgate doctor`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use toml::{Table, Value};
use toolgate_gate::settings::{SettingsError, SettingsSources};
use toolgate_model::{Places, World, visible};
use toolgate_policies::{
    Rights, ScopeEntry, Settings, Until, chosen_profile, profile_table, scope_places, settings_by_default,
    settings_of,
};

use crate::compile::{Loaded, load, nearest, stacked};

/// Every setting in force, and those without effect.
#[derive(Debug, Serialize)]
pub struct InForce {
    /// In the order of the layers, and of the keys in each.
    pub settings: Vec<Setting>,
    /// What is set and says nothing.
    pub without_effect: Vec<WithoutEffect>,
}

/// One setting and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// `grant`, `policy.unproved-effect.opaque`, or `scope` for each of its entries.
    pub key: String,
    /// What it is set to.
    pub value: Value,
    /// The file, the profile, or the program itself.
    pub from: String,
}

/// A setting that says nothing, or less than it seems to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WithoutEffect {
    /// The file that it stands in.
    pub file: PathBuf,
    /// The key and its value.
    pub setting: String,
    /// Why it has no effect.
    pub why: String,
    /// What to do about it.
    pub help: &'static str,
}

impl WithoutEffect {
    /// Whether it sets a rule that there is not, or that is another's.
    pub(crate) fn is_unknown_rule(&self) -> bool {
        self.why == NO_RULE
    }

    /// In one line.
    pub fn line(&self) -> String {
        visible(&format!("{}: `{}` {}", self.file.display(), self.setting, self.why))
    }
}

/// Said of an id that does not count.
const NO_RULE: &str = "does not count: no rule has this id, or it is a rule of yours";

/// The layer's name where the program itself says it.
pub const BUILT_IN: &str = "built in";

/// Looks through the settings of these sources. `all`: with what the program itself says where no layer does.
pub fn in_force(
    world: &dyn World,
    sources: &SettingsSources<'_>,
    places: &Places,
    now: SystemTime,
    all: bool,
) -> Result<InForce, SettingsError> {
    let loaded = load(world, sources)?;
    let [managed_file, user_file, project_file] = sources.files();
    let broken = |what: String| SettingsError::new(project_file.clone(), None, what);
    let of_team = sources.team_rules(world).unwrap_or_default();
    let Loaded { managed, user, known, rules, project, .. } = &loaded;
    let rules = rules.as_ref().map(|(table, _)| table);
    let named = |file: &Path| file.display().to_string();
    let mut layers: Vec<(String, Table)> = Vec::new();
    let present: Vec<&Table> = [managed.as_ref(), user.as_ref(), known.as_ref(), rules, project.as_ref()]
        .into_iter()
        .flatten()
        .collect();
    let profile = chosen_profile(sources.fixed, sources.default, &present);
    if all {
        layers.push((BUILT_IN.to_owned(), settings_by_default()));
    }
    layers.push((format!("profile {profile}"), profile_table(profile).map_err(|error| broken(error.what))?));
    let files = [
        (named(&managed_file), managed.as_ref()),
        (named(&user_file), user.as_ref()),
        ("the team's files".to_owned(), known.as_ref()),
        (named(&of_team), rules),
        (named(&project_file), project.as_ref()),
    ];
    layers.extend(files.into_iter().filter_map(|(name, table)| Some((name, table?.clone()))));
    let mut settings: Vec<Setting> = Vec::new();
    let mut without_effect = Vec::new();
    for (from, table) in &layers {
        for (key, value) in flattened(table) {
            let is_entry = value.is_table();
            if let Some(earlier) = settings.iter().position(|known| !is_entry && known.key == key) {
                let earlier = settings.remove(earlier);
                // What a person has written, and a later file says otherwise.
                if is_file(&earlier.from) && earlier.value != value {
                    without_effect.push(WithoutEffect {
                        file: PathBuf::from(&earlier.from),
                        setting: shown(&earlier.key, &earlier.value),
                        why: format!("is set again by {from}"),
                        help: "keep one of the two",
                    });
                }
            }
            settings.push(Setting { key, value, from: from.clone() });
        }
    }
    if let Some(fixed) = sources.fixed {
        for setting in settings.iter_mut().filter(|setting| setting.key == "profile") {
            if is_file(&setting.from) && setting.value.as_str() != Some(fixed) {
                without_effect.push(WithoutEffect {
                    file: PathBuf::from(&setting.from),
                    setting: shown(&setting.key, &setting.value),
                    why: format!("does not count: the registration says --profile {fixed}"),
                    help: "register without --profile",
                });
            }
        }
    }
    settings.retain(|setting| setting.key != "profile");
    settings.insert(
        0,
        Setting {
            key: "profile".to_owned(),
            value: Value::String(profile.to_owned()),
            from: profile_source(sources, &loaded, profile),
        },
    );
    let look = Look { sources, places, now };
    look.below_others(&loaded, &mut without_effect)?;
    taken_out(&loaded, &project_file, &mut without_effect);
    for (file, table) in [(&managed_file, managed), (&user_file, user), (&project_file, project)] {
        if let Some(table) = table {
            look.lone_entries(file, table, &mut without_effect);
        }
    }
    Ok(InForce { settings, without_effect })
}

/// Which layer chose the profile.
fn profile_source(sources: &SettingsSources<'_>, loaded: &Loaded, profile: &str) -> String {
    if sources.fixed.is_some() {
        return "--profile".to_owned();
    }
    let files = sources.files();
    let tables = [&loaded.managed, &loaded.user, &loaded.project];
    let names_it = |table: &&Option<Table>| {
        table.as_ref().and_then(|table| table.get("profile")?.as_str()) == Some(profile)
    };
    let found = tables.iter().zip(&files).rev().find(|(table, _)| names_it(table));
    found.map_or_else(|| BUILT_IN.to_owned(), |(_, file)| file.display().to_string())
}

fn is_file(from: &str) -> bool {
    from.starts_with('/')
}

/// What of the project's file does not count at all.
fn taken_out(loaded: &Loaded, file: &Path, found: &mut Vec<WithoutEffect>) {
    let (Some(written), Some(kept)) = (&loaded.project_as_written, &loaded.project) else { return };
    let kept = flattened(kept);
    for (key, value) in flattened(written).into_iter().filter(|setting| !kept.contains(setting)) {
        let (why, help) = if key.starts_with("policy.secret-file") {
            ("does not count: a project's file cannot open secret files", "put it into your own settings")
        } else if key.starts_with("network.") {
            ("does not count: a project's file cannot open the network", "put it into your own settings")
        } else if key == "mode" {
            (
                "does not count: a project's file cannot decide whether calls are stopped",
                "put it into your own settings",
            )
        } else if key.starts_with("rules.") {
            (NO_RULE, "correct the id, or remove the line")
        } else {
            ("does not count: nobody has trusted this file", "`toolgate trust` shows the file and trusts it")
        };
        found.push(WithoutEffect {
            file: file.to_path_buf(),
            setting: shown(&key, &value),
            why: why.to_owned(),
            help,
        });
    }
}

/// A setting as it could be written.
pub fn shown(key: &str, value: &Value) -> String {
    format!("{key} = {value}")
}

/// The leaves of a table by their whole keys, in order; each entry of a list of tables is one.
fn flattened(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            // What is set for a rule is one thing, whatever its form.
            Value::Table(below) if key == "rules" => {
                found.extend(below.iter().map(|(id, value)| (format!("rules.{id}"), value.clone())));
            }
            Value::Table(below) => {
                found.extend(
                    flattened(below).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)),
                );
            }
            Value::Array(entries) if entries.iter().any(Value::is_table) => {
                found.extend(entries.iter().map(|entry| (key.clone(), entry.clone())));
            }
            leaf => found.push((key.clone(), leaf.clone())),
        }
    }
    found
}

/// What a look for settings without effect needs.
struct Look<'a> {
    sources: &'a SettingsSources<'a>,
    places: &'a Places,
    now: SystemTime,
}

impl Look<'_> {
    /// What a file says while another stack without it has to be content too: an untrusted project's file beside the others,
    /// and everything beside the administrator's.
    fn below_others(&self, loaded: &Loaded, found: &mut Vec<WithoutEffect>) -> Result<(), SettingsError> {
        let Loaded { managed, user, known, rules, project, trusted, .. } = loaded;
        let [managed_file, user_file, project_file] = self.sources.files();
        let trusted_rules = rules.as_ref().filter(|(_, trusted)| *trusted).map(|(table, _)| table.clone());
        if let (Some(project), false) = (project, *trusted) {
            let without = stacked(self.sources, &[managed, user, known, &trusted_rules])?;
            let help = "`toolgate trust` shows the file and trusts it";
            self.weaker(&project_file, project, &without, "nobody has trusted this file", help, found);
        }
        if managed.is_some() {
            let alone = stacked(self.sources, &[known, managed])?;
            let why = format!("{} does not open it", managed_file.display());
            for (file, table) in [(&user_file, user), (&project_file, project)] {
                let is_heard = file == &user_file || *trusted;
                if let (Some(table), true) = (table, is_heard) {
                    self.weaker(file, table, &alone, &why, "have the administrator open it", found);
                }
            }
        }
        Ok(())
    }

    /// The entries of a file that would loosen what these settings, which have to be content too, say without it.
    fn weaker(
        &self,
        file: &Path,
        table: &Table,
        others: &Settings,
        why: &str,
        help: &'static str,
        found: &mut Vec<WithoutEffect>,
    ) {
        let Ok(own) = settings_of(table) else { return };
        let mut tell = |setting: String| {
            found.push(WithoutEffect {
                file: file.to_path_buf(),
                setting,
                why: format!("opens nothing: {why}"),
                help,
            });
        };
        for entry in &own.scope {
            let places = scope_places(&entry.path, self.places);
            if places.iter().any(|place| others.rights_at(place, self.places) < entry.rights) {
                tell(format!("[[scope]] {}", entry.path));
            }
        }
        for id in own.rules.ids() {
            if let (Some(own), Some(theirs)) = (own.rules.get(id), others.response_of(id))
                && own < theirs
            {
                tell(format!("rules.{id} = \"{}\"", own.word()));
            }
        }
    }

    /// Whether an entry closes a place in the worktree: that has an effect before the place exists, since then nobody may make it.
    fn keeps_from_appearing(&self, entry: &ScopeEntry, places: &[PathBuf]) -> bool {
        let root = self.places.root.as_ref();
        entry.rights < Rights::Write && root.is_some_and(|root| places.iter().all(|place| root.holds(place)))
    }

    /// Entries that say nothing by themselves: places that are not there, places of keys, and what has ended.
    fn lone_entries(&self, file: &Path, table: &Table, found: &mut Vec<WithoutEffect>) {
        let Ok(own) = settings_of(table) else { return };
        let now = self.now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let mut tell = |setting: String, why: String, help: &'static str| {
            found.push(WithoutEffect { file: file.to_path_buf(), setting, why, help });
        };
        let has_ended = |until: Option<Until>| until.is_some_and(|until| until.is_over(now));
        for id in own.rules.ids().filter(|id| has_ended(own.rules.until(id))) {
            tell(format!("rules.{id}"), "has ended".to_owned(), "remove it");
        }
        for entry in &own.scope {
            let setting = format!("[[scope]] {}", entry.path);
            let places = scope_places(&entry.path, self.places);
            if has_ended(entry.until) {
                tell(setting, "has ended".to_owned(), "remove it");
            } else if !places.is_empty() && !places.iter().any(|place| place.exists()) {
                let near = places.first().and_then(|place| nearest_on_disk(place));
                if near.is_none() && self.keeps_from_appearing(entry, &places) {
                    continue;
                }
                let hint =
                    near.map(|near| format!("; did you mean `{}`?", near.display())).unwrap_or_default();
                tell(
                    setting,
                    format!("names a place that does not exist{hint}"),
                    "correct the path, or remove the entry",
                );
            } else if entry.rights != Rights::None
                && places.iter().any(|place| own.keeps_secrets_at(place, self.places))
            {
                let why = "opens nothing: keys and credentials are kept there".to_owned();
                tell(setting, why, "name the file in `open` of [policy.secret-file]");
            }
        }
    }
}

/// The path with its first absent name corrected, where a name beside it is nearly the same.
pub fn nearest_on_disk(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|above| above.exists())?;
    let wrong = path.strip_prefix(there).ok()?.components().next()?;
    let wrong = wrong.as_os_str().to_str()?;
    let names: Vec<String> =
        fs::read_dir(there).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let near = nearest(wrong, names.iter().map(String::as_str))?;
    let rest = path.strip_prefix(there.join(wrong)).ok()?;
    let corrected = if rest.as_os_str().is_empty() { there.join(near) } else { there.join(near).join(rest) };
    corrected.exists().then_some(corrected)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use toolgate_gate::dirs::Dirs;
    use toolgate_gate::disk::Disk;
    use toolgate_model::Place;

    use super::*;

    /// What is found where these files are there: the administrator's, the user's and the project's.
    fn found(managed: &str, user: &str, project: &str, all: bool) -> InForce {
        let top = TempDir::new().unwrap();
        let home = fs::canonicalize(top.path()).unwrap();
        let root = home.join("project");
        let dirs = Dirs { managed: home.join("managed"), ..Dirs::of_home(&home) };
        for (dir, text) in [(&dirs.managed, managed), (&dirs.config, user), (&root, project)] {
            fs::create_dir_all(dir).unwrap();
            if !text.is_empty() {
                fs::write(dir.join("toolgate.toml"), text).unwrap();
            }
        }
        fs::create_dir_all(home.join("Downloads")).unwrap();
        let places =
            Places { root: Some(Place::plain(&root)), home: Some(Place::plain(&home)), ..Places::default() };
        let sources = SettingsSources {
            dirs: &dirs,
            root: Some(&root),
            repository: None,
            team: &[],
            fixed: None,
            default: "worktree",
        };
        in_force(&Disk::default(), &sources, &places, SystemTime::now(), all).unwrap()
    }

    const OPENS: &str =
        "[[scope]]\npath = \"~/Downloads\"\nrights = \"read\"\n[rules]\ngit-clean = \"ask\"\n";

    #[test]
    fn every_setting_has_its_layer() {
        let shown = found("", &format!("grant = true\n{OPENS}"), "unattended = true\n", true);
        let from = |key: &str| {
            let setting = shown.settings.iter().rev().find(|setting| setting.key == key).unwrap();
            setting.from.rsplit('/').nth(1).unwrap_or(&setting.from).to_owned()
        };
        for (key, layer) in [
            ("profile", BUILT_IN),
            ("grant", "toolgate"),
            ("scope", "toolgate"),
            ("rules.git-clean", "toolgate"),
            ("unattended", "project"),
            ("notices.after", BUILT_IN),
        ] {
            assert_eq!(from(key), layer, "{key}");
        }
        assert_eq!(shown.without_effect, []);
    }

    #[test]
    fn settings_without_effect_are_told_with_their_reason() {
        let ended = "[[scope]]\npath = \"~/Downloads\"\nrights = \"read\"\nuntil = \"2020-01-01\"\n";
        let misspelt = "[[scope]]\npath = \"~/Donwloads\"\nrights = \"read\"\n";
        let again = "[policy.unproved-effect]\nopaque = \"ask\"\n";
        let secrets = "[policy.secret-file]\nopen = [\"~/.env\"]\n";
        for (managed, user, project, expected) in [
            ("", OPENS, "", &[][..]),
            (
                "",
                "",
                OPENS,
                &[
                    "~/Downloads` opens nothing: nobody has trusted",
                    "git-clean = \"ask\"` opens nothing: nobody",
                ],
            ),
            (
                "unattended = false\n",
                OPENS,
                "",
                &["~/Downloads` opens nothing: ", "git-clean = \"ask\"` opens nothing: "],
            ),
            ("", misspelt, "", &["Donwloads` names a place that does not exist; did you mean"]),
            ("", ended, "", &["Downloads` has ended"]),
            (
                "",
                again,
                "[policy.unproved-effect]\nopaque = \"deny\"\n",
                &["opaque = \"ask\"` is set again by"],
            ),
            (
                "",
                "",
                secrets,
                &[
                    "secret-file.open = [\"~/.env\"]` does not count: a project's file cannot open secret files",
                ],
            ),
            (
                "",
                "",
                "[messages]\nsecret = \"x\"\n",
                &["messages.secret = \"x\"` does not count: nobody has trusted"],
            ),
            ("", "", "[rules]\nnobodys = \"ask\"\n", &["rules.nobodys = \"ask\"` does not count: no rule"]),
            (
                "",
                "[[scope]]\npath = \"~/.ssh\"\nrights = \"read\"\n",
                "",
                &["names a place that does not exist"],
            ),
            ("", "[[scope]]\npath = \"{worktree}/CLAUDE.md\"\nrights = \"read\"\n", "", &[]),
        ] {
            let lines: Vec<String> =
                found(managed, user, project, false).without_effect.iter().map(WithoutEffect::line).collect();
            assert_eq!(lines.len(), expected.len(), "{managed}{user}{project}: {lines:?}");
            for (line, expected) in lines.iter().zip(expected) {
                assert!(line.contains(expected), "{line}");
            }
        }
    }
}
