//! Settings files: read, checked, stacked into layers.
//!
//! Against whom: see `toolgate_gate::settings`. This half reads what people write, so the hook's small binary does not have it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toolgate_gate::settings::{MAX_FILE, SettingsError, SettingsSources};
use toolgate_model::{World, shorten};
use toolgate_policies::{
    Layer, LayerError, NetworkMode, Settings, read_noting, read_of_project, squad, stack,
};

/// What the settings files say, each as far as it has a say.
pub(crate) struct Loaded {
    pub(crate) managed: Option<toml::Table>,
    pub(crate) user: Option<toml::Table>,
    /// What a team's files say of who is who and whose its files are.
    pub(crate) known: Option<toml::Table>,
    /// A team's own rules, and whether a person has trusted them.
    pub(crate) rules: Option<(toml::Table, bool)>,
    pub(crate) project: Option<toml::Table>,
    /// The project's file before what it has no say in was taken out.
    pub(crate) project_as_written: Option<toml::Table>,
    /// Whether a person has trusted the project's file.
    pub(crate) trusted: bool,
}

/// The layers that all have to be content with a call.
pub fn compile(world: &dyn World, sources: &SettingsSources<'_>) -> Result<Vec<Settings>, SettingsError> {
    let Loaded { managed, user, known, rules, project, trusted, .. } = load(world, sources)?;
    let trusted_rules = rules.as_ref().is_some_and(|(_, trusted)| *trusted);
    let rules = rules.map(|(table, _)| table);
    let stack = |layers: &[&Option<toml::Table>]| stacked(sources, layers);
    let mut layers = vec![stack(&[&managed, &user, &known, &rules, &project])?];
    // What the project says and nobody has trusted can only add to what the others say.
    let (rules, project) = (rules.filter(|_| trusted_rules), project.filter(|_| trusted));
    layers.push(stack(&[&managed, &user, &known, &rules, &project])?);
    if managed.is_some() {
        // What an administrator says of a file counts before a repository's table.
        layers.push(stack(&[&known, &managed])?);
    }
    layers.dedup();
    Ok(layers)
}

/// The settings that these layers make, on the profile that they choose.
pub(crate) fn stacked(
    sources: &SettingsSources<'_>,
    layers: &[&Option<toml::Table>],
) -> Result<Settings, SettingsError> {
    let present: Vec<&toml::Table> = layers.iter().filter_map(|layer| layer.as_ref()).collect();
    let [.., project_file] = sources.files();
    stack(sources.fixed, sources.default, &present)
        .map_err(|error| SettingsError::new(project_file, None, error.what))
}

/// Reads and checks the settings files, and takes out of the project's what it has no say in.
pub(crate) fn load(world: &dyn World, sources: &SettingsSources<'_>) -> Result<Loaded, SettingsError> {
    sources.shipped()?;
    let [managed_file, user_file, project_file] = &sources.files();
    let load = |file: &PathBuf, read: Reader| match world.read(file, MAX_FILE + 1) {
        Ok(bytes) => Ok(Some((read_layer(file, &bytes, read)?, bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(_) => Err(SettingsError::unreadable(file)),
    };
    let layer = |loaded: Option<(Layer, Vec<u8>)>| loaded.map(|(layer, _)| layer);
    let (managed, user) = (layer(load(managed_file, read_noting)?), layer(load(user_file, read_noting)?));
    stays_inside(project_file, sources.root)?;
    let project = load(project_file, read_of_project)?;
    let trusted = project.as_ref().is_some_and(|(_, bytes)| sources.is_trusted(world, bytes));
    let mut project = layer(project);
    let project_as_written = project.as_ref().map(|layer| layer.table.clone());
    if let Some(project) = &mut project {
        // Who trusts a repository's rules has not thereby given up their own.
        project.leave_rules_to(&[&managed, &user].into_iter().flatten().flat_map(Layer::own_rules).collect());
    }
    let table = |layer: Option<Layer>| layer.map(|layer| layer.table);
    let (managed, user, mut project) = (table(managed), table(user), table(project));
    if let (Some(project), false) = (&mut project, trusted) {
        // Words that nobody trusted do not speak in our name, to a person least of all.
        project.remove("messages");
        keep_identities(project);
        without_patterns(project);
    }
    if let Some(project) = &mut project {
        keep_mode(project);
        keep_closed(project);
        if project.contains_key("network") {
            keep_network(project, stacked(sources, &[&managed, &user])?.network.mode);
        }
    }
    let whole = stacked(sources, &[&managed, &user, &project])?;
    let (known, rules) = if whole.has_team() { team_layers(world, sources)? } else { (None, None) };
    Ok(Loaded { managed, user, known, rules, project, project_as_written, trusted })
}

/// What a team's files say of who is on it and whose its files are; and its own rules, with whether a person has trusted them.
type TeamLayers = (Option<toml::Table>, Option<(toml::Table, bool)>);

fn team_layers(world: &dyn World, sources: &SettingsSources<'_>) -> Result<TeamLayers, SettingsError> {
    // The worktree and the main checkout.
    let tops = || sources.team.iter().filter_map(|team| team.lexical.parent());
    let read = |file: &PathBuf| match world.read(file, MAX_FILE + 1) {
        Ok(bytes) if bytes.len() > MAX_FILE => {
            Err(SettingsError::new(file.clone(), None, "is larger than 1 MiB; make it smaller".into()))
        }
        Ok(bytes) => stays_inside(file, tops()).map(|()| Some(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(_) => Err(SettingsError::unreadable(file)),
    };
    let (mut roster, mut rules, mut governance) = (None, None, None);
    for [roster_file, rules_file, governance_file] in &sources.team_files() {
        for (known, file) in
            [(&mut roster, roster_file), (&mut rules, rules_file), (&mut governance, governance_file)]
        {
            if known.is_none() {
                *known = read(file)?.map(|bytes| (file.clone(), bytes));
            }
        }
    }
    let text = |read: &Option<(PathBuf, Vec<u8>)>| {
        read.as_ref().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
    };
    let known = squad::team_layer(text(&roster).as_deref(), text(&governance).as_deref());
    let rules = rules.map(|(file, bytes)| {
        let config = team_rules(&file, &bytes)?;
        let (mut table, trusted) = (squad::policies_layer(&config), sources.is_trusted(world, &bytes));
        if !trusted {
            without_patterns(&mut table);
        }
        Ok((table, trusted))
    });
    Ok((Some(known), rules.transpose()?))
}

/// Says what is wrong with a file of the project's own settings.
pub fn check(file: &Path, bytes: &[u8]) -> Result<(), SettingsError> {
    if file.extension().is_some_and(|ending| ending == "json") {
        team_rules(file, bytes).map(|_| ())
    } else {
        read_layer(file, bytes, read_of_project).map(|_| ())
    }
}

/// A project's file that is a link out of the project would show another file's words in our messages.
fn stays_inside<'p>(file: &Path, tops: impl IntoIterator<Item = &'p Path>) -> Result<(), SettingsError> {
    let mut tops = tops.into_iter().filter_map(|top| fs::canonicalize(top).ok()).peekable();
    let inside = fs::canonicalize(file)
        .map_or(true, |file| tops.peek().is_none() || tops.any(|top| file.starts_with(top)));
    let what = "is a link that leads out of the project; put the file itself there";
    if inside { Ok(()) } else { Err(SettingsError::new(file.into(), None, what.into())) }
}

/// Reads a team's own rules.
pub fn team_rules(file: &Path, bytes: &[u8]) -> Result<squad::PolicyConfig, SettingsError> {
    let text = String::from_utf8_lossy(bytes);
    squad::PolicyConfig::read(&text).map_err(|LayerError { at, what }| {
        let line = at.and_then(|at| text.get(..at)).map(|before| before.matches('\n').count() + 1);
        SettingsError::new(file.into(), line, what)
    })
}

/// Whether anything is stopped is not for a project to say, trusted or not.
fn keep_mode(project: &mut toml::Table) {
    project.remove("mode");
}

/// No project opens a secret file, trusted or not: those who trust a repository's rules have not thereby handed it
/// their keys. Nor does it close what its user has opened, who would wonder why.
fn keep_closed(project: &mut toml::Table) {
    if let Some(toml::Value::Table(policies)) = project.get_mut("policy") {
        policies.remove("secret-file");
    }
}

/// No project opens the network, trusted or not: what it says counts where it is stricter than what the people above it say. Where these
/// list hosts, it lists none of its own.
fn keep_network(project: &mut toml::Table, theirs: NetworkMode) {
    let Some(toml::Value::Table(network)) = project.get_mut("network") else { return };
    let own = network.get("mode").and_then(|mode| mode.clone().try_into::<NetworkMode>().ok());
    if own.is_none_or(|own| own >= theirs) {
        network.remove("mode");
    }
    if theirs != NetworkMode::All {
        network.remove("host");
    }
}

/// Who is who is no rule that could be added: an untrusted file has no say in it.
fn keep_identities(project: &mut toml::Table) {
    if let Some(toml::Value::Table(team)) = project.get_mut("team") {
        team.remove("main");
        team.remove("roster");
    }
    if let Some(toml::Value::Table(agents)) = project.get_mut("agent") {
        for (_, agent) in agents.iter_mut() {
            if let toml::Value::Table(agent) = agent {
                agent.remove("role");
            }
        }
    }
}

/// Regular expressions take their time, and a repository that nobody trusts is not given ours.
fn without_patterns(rules: &mut toml::Table) {
    if let Some(toml::Value::Table(redaction)) = rules.get_mut("redaction") {
        redaction.remove("pattern");
    }
    if let Some(toml::Value::Array(commands)) = rules.get_mut("command") {
        commands.retain(|command| command.get("pattern").is_none());
    }
}

/// How the text of a settings file is read: a project's with more patience than a person's.
type Reader = fn(&str) -> Result<Layer, LayerError>;

/// Reads one settings file, with errors that say where and what would be right.
fn read_layer(file: &Path, bytes: &[u8], read: Reader) -> Result<Layer, SettingsError> {
    // Rules behind the point where reading stops would be rules that nobody follows.
    if bytes.len() > MAX_FILE {
        return Err(SettingsError::new(file.into(), None, "is larger than 1 MiB; make it smaller".into()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(SettingsError::new(file.into(), None, "is not UTF-8 text".into()));
    };
    read(text).map_err(|LayerError { at, what }| {
        let line = at.and_then(|at| text.get(..at)).map(|before| before.matches('\n').count() + 1);
        SettingsError::new(file.into(), line, with_hint(&what))
    })
}

/// `unknown field `scop`, expected one of …` becomes a question that can be answered. A denial has no room for a long list: it says
/// what prints the list.
pub(crate) fn with_hint(what: &str) -> String {
    let what = what.trim().replace('\n', " ");
    let mut quoted = what.split('`').skip(1).step_by(2);
    let (Some(wrong), true) = (quoted.next(), what.starts_with("unknown ")) else { return what };
    let is_rule = what.starts_with("unknown rule");
    let thing = if is_rule {
        "rule"
    } else if what.starts_with("unknown field") {
        "key"
    } else {
        "value"
    };
    match nearest(wrong, quoted) {
        Some(near) => format!("unknown {thing} `{wrong}`; did you mean `{near}`?"),
        None if is_rule => {
            format!("unknown rule `{}`; `toolgate policies --rules` lists them", shorten(wrong, 60))
        }
        None => {
            what.replacen("unknown field", "unknown key", 1).replacen("unknown variant", "unknown value", 1)
        }
    }
}

/// The known word that a misspelt one most likely means.
pub fn nearest<'n>(wrong: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let close = known.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min()?;
    (close.0 <= 2.max(wrong.len() / 3)).then_some(close.1)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use toolgate_gate::dirs::Dirs;
    use toolgate_gate::disk::Disk;
    use toolgate_gate::settings::digest;
    use toolgate_model::Mode;

    use super::*;

    const USER: &str = "[[command]]\nid = \"mine\"\nmessage = \"no\"\ncommand = [\"frob\"]\nask = true\n";

    /// What `[rules]` of the last layer says, where the user has a rule of their own and the project this file.
    fn rules(project: &str, is_trusted: bool) -> Result<serde_json::Value, SettingsError> {
        let layers = layers(USER, project, is_trusted)?;
        Ok(serde_json::to_value(&layers.first().unwrap().rules).unwrap())
    }

    fn layers(user: &str, project: &str, is_trusted: bool) -> Result<Vec<Settings>, SettingsError> {
        let top = TempDir::new().unwrap();
        let root = top.path().join("project");
        let dirs = Dirs { managed: top.path().join("managed"), ..Dirs::of_home(top.path()) };
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&dirs.config).unwrap();
        fs::write(dirs.config.join("toolgate.toml"), user).unwrap();
        fs::write(root.join("toolgate.toml"), project).unwrap();
        let sources = SettingsSources {
            dirs: &dirs,
            root: Some(&root),
            repository: None,
            team: &[],
            fixed: None,
            default: "worktree",
        };
        if is_trusted {
            fs::create_dir_all(sources.trust_note().parent().unwrap()).unwrap();
            fs::write(sources.trust_note(), digest(project.as_bytes())).unwrap();
        }
        compile(&Disk::default(), &sources)
    }

    #[test]
    fn no_project_says_whether_calls_are_stopped() {
        for (user, project, wanted) in [
            ("", "mode = \"observe\"\n", Mode::Enforce),
            ("", "mode = \"observe-all\"\n", Mode::Enforce),
            ("mode = \"observe\"\n", "mode = \"observe-all\"\n", Mode::Observe),
            ("mode = \"observe\"\n", "mode = \"enforce\"\n", Mode::Observe),
        ] {
            for is_trusted in [true, false] {
                let found = layers(user, project, is_trusted).unwrap();
                assert!(found.iter().all(|layer| layer.mode == wanted), "{user}{project}");
            }
        }
    }

    #[test]
    fn a_project_opens_no_host_and_no_network() {
        use NetworkMode::{All, Listed, None};
        let host = |name: &str| format!("[[network.host]]\nname = \"{name}\"\n");
        let mode = |word: &str| format!("[network]\nmode = \"{word}\"\n");
        let listed = mode("listed") + &host("user.example");
        for (user, project, wanted, hosts) in [
            (listed.clone(), mode("all") + &host("evil.example"), Listed, &["user.example"][..]),
            (listed.clone(), host("evil.example"), Listed, &["user.example"]),
            (listed.clone(), mode("none"), None, &["user.example"]),
            (mode("none"), mode("listed") + &host("evil.example"), None, &[]),
            (mode("none"), "[containment]\nnetwork = \"all\"\n".to_owned(), None, &[]),
            (String::new(), mode("listed") + &host("own.example"), Listed, &["own.example"]),
            (String::new(), mode("all"), All, &[]),
        ] {
            for is_trusted in [true, false] {
                let found = layers(&user, &project, is_trusted).unwrap();
                // The strictest layer counts.
                let strictest = found.iter().min_by_key(|layer| layer.network.mode).unwrap();
                let named: Vec<_> = strictest.network.host.iter().map(|host| host.name.as_str()).collect();
                assert_eq!(
                    (strictest.network.mode, named.as_slice()),
                    (wanted, hosts),
                    "{user}{project}{is_trusted}"
                );
            }
        }
    }

    #[test]
    fn a_trusted_project_has_no_say_in_the_users_own_rules_but_to_tighten_them() {
        let own = "[[command]]\nid = \"mine\"\nmessage = \"no\"\ncommand = [\"other\"]\n";
        for is_trusted in [true, false] {
            let allow = format!("[rules]\nmine = \"allow\"\ngit-clean = \"ask\"\n{own}");
            assert_eq!(rules(&allow, is_trusted).unwrap(), serde_json::json!({ "git-clean": "ask" }));
            let deny = format!("[rules]\nmine = \"deny\"\n{own}");
            assert_eq!(rules(&deny, is_trusted).unwrap(), serde_json::json!({ "mine": "deny" }));
        }
    }

    #[test]
    fn a_project_that_names_a_rule_of_others_denies_no_call() {
        for (id, kept) in [("mine", "{\"mine\":\"deny\"}"), ("theirs", "{}")] {
            let found = rules(&format!("[rules]\n{id} = \"deny\"\n"), true).unwrap();
            assert_eq!(found.to_string(), kept, "{id}");
        }
        assert!(rules("[rules]\nmkfs = \"allow\"\n", true).is_err(), "the floor stays the floor");
    }
}
