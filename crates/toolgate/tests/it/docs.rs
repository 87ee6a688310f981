//! The documents say what is true. What can be made from the code is made from it and compared here
//! (`UPDATE=1 cargo test -p toolgate --test it docs` writes it); what a person writes is held to the files that
//! it names.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use toolgate::cases::measure::measure;
use toolgate::{cases, cli};
use toolgate_hosts::{HOSTS, Tool, tools_like};
use toolgate_policies::Containable;
use toolgate_policies::{POLICIES, PROFILES};

/// A policy without a case file, and why.
const WITHOUT_CASES: &[(&str, &str)] = &[];

/// Files of the policies crate that are no policy.
const NO_POLICY: &[&str] = &[
    "activation",
    "checks",
    "command",
    "glob",
    "grant",
    "layers",
    "lib",
    "packs",
    "pattern",
    "project",
    "containment",
    "network",
    "redaction",
    "registry",
    "renamed",
    "response",
    "rules",
    "settings",
    "team",
    "until",
];

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files below a directory of the repository, sorted, by their paths in it.
fn files_below(dir: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(repository().join(dir)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{dir}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

// What is made from the code.

#[test]
fn generated_documents_are_up_to_date() {
    let generated = [
        ("docs/policies.md", policies()),
        ("docs/profiles.md", profiles()),
        ("docs/hosts.md", hosts()),
        ("docs/secrets.md", secrets()),
        ("docs/residual-risk.md", residual_risk()),
        ("docs/commands.md", commands()),
        ("docs/toolgate.schema.json", cli::schema()),
        ("docs/toolgate.1", cli::man_page()),
        ("docs/completions/bash", cli::completions(Shell::Bash)),
        ("docs/completions/fish", cli::completions(Shell::Fish)),
        ("docs/completions/zsh", cli::completions(Shell::Zsh)),
    ];
    let mut stale = Vec::new();
    for (path, text) in generated {
        let file = repository().join(path);
        // Trailing blanks are nobody's intention.
        let lines = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        let text = format!("{}\n", lines.trim_end());
        if fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        if std::env::var_os("UPDATE").is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
        } else {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "stale: {stale:?}; run UPDATE=1 cargo test -p toolgate --test it docs");
}

const GENERATED: &str = "<!-- Made from the code: UPDATE=1 cargo test -p toolgate --test it docs -->\n";

fn policies() -> String {
    let mut page = format!("{GENERATED}\n# Policies\n\n");
    page.push_str(
        "toolgate asks every policy about every call, and the strictest finding wins. The policies of the floor hold \
         whatever\nthe settings say. `toolgate explain <policy>` prints the same text.\n\n| policy | floor | what it does \
         |\n|---|---|---|\n",
    );
    for policy in POLICIES.iter() {
        let floor = if policy.floor { "floor" } else { "" };
        writeln!(page, "| [{0}](#{0}) | {floor} | {1} |", policy.id, policy.summary()).unwrap();
    }
    for policy in POLICIES.iter() {
        let mut doc = policy.doc();
        for heading in ["Why:", "Settings:", "Sees through:", "Does not see:"] {
            doc =
                doc.replace(&format!("\n{heading}"), &format!("\n\n**{heading}**")).replace("\n\n\n", "\n\n");
        }
        writeln!(page, "\n## {}\n\n{doc}\n", policy.id).unwrap();
        match WITHOUT_CASES.iter().find(|(id, _)| *id == policy.id) {
            Some((_, why)) => writeln!(page, "No case file: {why}.").unwrap(),
            None => page.push_str(&examples(policy.id)),
        }
    }
    page
}

/// The first two cases of a policy's case file.
fn examples(id: &str) -> String {
    let path = format!("cases/policies/{id}.toml");
    let file: toml::Table = read(&path).parse().unwrap();
    let defaults = file.get("defaults").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let mut text =
        format!("Examples, from [{path}](../{path}):\n\n| case | call | verdict |\n|---|---|---|\n");
    for case in file["case"].as_array().unwrap().iter().take(2) {
        let field = |name: &str| case.get(name).or_else(|| defaults.get(name));
        let word = |name: &str| field(name).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let input = field("input").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        let input = input.iter().map(|(name, value)| format!(" {name}={value}")).collect::<Vec<_>>().concat();
        let call = format!("{}{input}", word("tool")).replace('|', "\\|");
        writeln!(text, "| {} | `{call}` | {} |", word("id"), word("expect")).unwrap();
    }
    text
}

fn profiles() -> String {
    let mut page = format!("{GENERATED}\n# Profiles\n\n");
    page.push_str(
        "A profile is a set of settings that your own settings add to. Choose one with `profile = \"…\"` in\n\
         `toolgate.toml`, or with `--profile` in the registration, which no file can change. A profile that names another\n\
         one adds to that one.\n",
    );
    for (name, text) in PROFILES {
        let about = text.lines().map_while(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join("\n");
        let rest = text.lines().skip_while(|line| line.starts_with('#')).collect::<Vec<_>>().join("\n");
        writeln!(page, "\n## {name}\n\n{about}\n\n```toml\n{}\n```", rest.trim()).unwrap();
    }
    page
}

fn hosts() -> String {
    let mut page = format!("{GENERATED}\n# Hosts\n\n");
    page.push_str(
        "This is what `toolgate hook <host>` understands. If a tool is not in a host's table, everything in its input that \
         looks\nlike a path counts as written; `[tools.<name>]` in the settings is more precise.\n",
    );
    for host in HOSTS {
        let source = read(&format!("crates/hosts/src/{}.rs", host.id().replace('-', "_")));
        let head = source.lines().map_while(|line| line.strip_prefix("//!"));
        let head = head.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
        writeln!(page, "\n## {}\n\nDefault profile: `{}`.\n\n{head}", host.id(), host.profile()).unwrap();
        let tools = tools_like(host.id()).listed;
        if tools.is_empty() {
            continue;
        }
        page.push_str("\n| tool | judged as |\n|---|---|\n");
        for (name, tool) in tools {
            let judged = match tool {
                Tool::Read(param) => format!("reads `{param}`"),
                Tool::Write(param) => format!("writes `{param}`"),
                Tool::Delete(param) => format!("deletes `{param}`"),
                Tool::Patch(param) => format!("changes the files that the patch in `{param}` names"),
                Tool::Search(param, None) => format!("searches below `{param}`"),
                Tool::Search(param, Some(glob)) => {
                    format!("searches below `{param}`, and where `{glob}` leads")
                }
                Tool::Shell(param) => format!("runs the shell command `{param}`, which is interpreted"),
                Tool::ShellIn(param, directory) => {
                    format!("runs the shell command `{param}` in `{directory}`, which is interpreted")
                }
                Tool::Fetch(_) => "fetches an address".to_owned(),
                Tool::Mcp => {
                    "hands its parameters to an MCP server; judged by what they look like".to_owned()
                }
                Tool::Internal => "bookkeeping inside the host".to_owned(),
                Tool::Question => "asks the user; how often is limited where the settings say so".to_owned(),
                Tool::InternalReading(param) => {
                    format!("bookkeeping inside the host; reads `{param}` where it is given")
                }
            };
            writeln!(page, "| {name} | {judged} |").unwrap();
        }
    }
    page
}

/// Every kind of secret, and which hosts let it be taken out.
fn secrets() -> String {
    let mut page = format!("{GENERATED}\n# Secrets\n\n");
    page.push_str(
        "toolgate removes these secrets from a tool's output, from what `toolgate scrub` copies, and from the log (there \
         also\nany value after a credential-like name). `toolgate scan` reports them, and `private-content`, `mcp-secret` and \
         `secret-shown`\nlook for them. `[redaction]` in [redaction.md](redaction.md#settings) chooses which; a new kind is a file in\n\
         [crates/secrets/patterns](../crates/secrets/patterns/README.md).\n\n\
         toolgate finds a secret as it is written, and inside of JSON escapes (a whole key block in one\nstring), percent \
         codes, `\\u0041` and `\\x41`, and terminal colours. It does not find a secret in base64, compressed or encrypted.\n\n\
         toolgate leaves these alone: commit hashes, UUIDs, the digests of lock files, minified code; public halves (`pk_live_…`, account \
         ids);\nreferences (`$TOKEN`, `${{ secrets.X }}`), placeholders (`changeme`, `<token>`); values after names in \
         source code that\ndo not look random (`token = next_token()`); the user of a repository's address \
         (`git@github.com:a/b`); addresses that are\nnobody's: `example.com`, `example.org`, `example.net`, \
         `users.noreply.github.com` and all below them, `noreply@…` and the like.\n\n\
         ## Hosts\n\n\
         If a host does not let an output be changed, `secret-shown` asks before the agent reads a file that holds a secret. \
         [hosts.md](hosts.md)\nsays what we saw each client do.\n\n\
         | host | a tool's output | of a command that fails |\n|---|---|---|\n",
    );
    for host in HOSTS {
        let tools = tools_like(host.id());
        let shell = tools.listed.iter().find(|(_, tool)| matches!(tool, Tool::Shell(_) | Tool::ShellIn(..)));
        let shell = shell.map_or("bash", |(name, _)| name);
        let output = match (host.changes_output(shell), host.changes_output("MCP:tool")) {
            (true, _) => "changed",
            (false, true) => "changed where a tool of an MCP server gave it, otherwise shown",
            (false, false) => "shown",
        };
        let failing = match (host.changes_output(shell), host.keeps_failed_output(shell)) {
            (true, false) => "changed",
            (true, true) => "changed where it is contained or nobody is asked, else with `wrap = true`",
            (false, _) => "shown",
        };
        writeln!(page, "| {} | {output} | {failing} |", host.id()).unwrap();
    }
    let file = |id: &str| format!("crates/secrets/patterns/{id}.toml");
    let is_shape = |id: &str| repository().join(file(id)).is_file();
    page.push_str(
        "\n## Known by more than a shape\n\nThe marks `PASSWORD` and `SECRET` depend on the name before the value.\n\n\
         | kind | mark | what it is |\n|---|---|---|\n",
    );
    for kind in toolgate_secrets::patterns().filter(|kind| !is_shape(kind.id)) {
        writeln!(page, "| {} | `[{} REDACTED]` | {} |", kind.id, kind.mark, kind.about).unwrap();
    }
    let shapes: Vec<_> = toolgate_secrets::patterns().filter(|kind| is_shape(kind.id)).collect();
    writeln!(
        page,
        "\n## Known by a shape\n\n{} kinds, each a file with examples of what is found and of what is left alone.\n\n\
         | kind | mark | what it is |\n|---|---|---|",
        shapes.len()
    )
    .unwrap();
    for kind in shapes {
        let file = file(kind.id);
        writeln!(page, "| [{}](../{file}) | `[{} REDACTED]` | {} |", kind.id, kind.mark, kind.about).unwrap();
    }
    page
}

/// The known gaps, by kind. `gaps` holds them to the truth.
fn residual_risk() -> String {
    let mut page = format!("{GENERATED}\n# Residual risk\n\n");
    page.push_str(
        "These shell commands do more than the analysis sees, and the profile `worktree` does not stop them. toolgate runs a command\n\
         that it cannot prove in a sandbox wherever the host allows that ([containment.md](containment.md)). The list holds the known\n\
         gaps, from [cases/gaps.toml](../cases/gaps.toml); there are certainly others. `cargo test -p toolgate --test it gaps` judges each\n\
         command, so a closed gap leaves the list. `../y` is outside of the worktree.\n\n\
         *Not proved*: the log and `toolgate check` say that something in the call is unknown.\n\
         *Not noticed*: everything in the call looks known, and the command runs as it is.\n\n\
         | covered by | |\n|---|---|\n\
         | opaque | `opaque = \"ask\"` or `\"deny\"` in `[policy.unproved-effect]` stops it |\n\
         | program | `program = \"ask\"` or `\"deny\"` in `[policy.unproved-effect]` stops it |\n\
         | rule | a `[[command]]` entry of your own stops it |\n\
         | sandbox | it runs contained, and the kernel keeps it to the scopes |\n\n\
         Nothing here protects against a person who says yes: a command that a person approves runs with all rights.\n\n\
         One gap is in no list, because no single command shows it. A verdict is a point-in-time check. Another program can\n\
         change a link or a script before the command uses it. For commands that run in the sandbox, the sandbox covers this gap.\n",
    );
    let file: toml::Table = read("cases/gaps.toml").parse().unwrap();
    let gaps = file["gap"].as_array().unwrap();
    let lines = gaps
        .iter()
        .map(|gap| serde_json::json!({ "command": gap["command"].as_str(), "bucket": "gap" }).to_string());
    let judged = measure(&lines.collect::<Vec<_>>().join("\n"), Containable::NotConsidered)
        .unwrap_or_else(|error| panic!("{}", error.0));
    let mut kind = "";
    for (gap, judged) in gaps.iter().zip(judged) {
        let word = |name: &str| gap[name].as_str().unwrap();
        if kind != word("kind") {
            kind = word("kind");
            writeln!(page, "\n## {kind}\n\n| command | why | recorded as | covered by |\n|---|---|---|---|")
                .unwrap();
        }
        let recorded = if judged.unknown.is_empty() { "not noticed" } else { "not proved" };
        let by: Vec<_> =
            gap["covered_by"].as_array().unwrap().iter().filter_map(toml::Value::as_str).collect();
        let command = word("command").replace('|', "\\|");
        writeln!(page, "| `{command}` | {} | {recorded} | {} |", word("why"), by.join(", ")).unwrap();
    }
    page
}

/// Every command and option, as `--help` has them.
fn commands() -> String {
    format!(
        "{GENERATED}\n# Commands\n\n\
         These are all commands of `toolgate`, as `toolgate COMMAND --help` describes them. Commands print what was asked for on \
         stdout and\nerrors on stderr. Exit codes, unless a command says otherwise: 0 done or allowed, 1 could not be done, or\nis not as it should be, 2 \
         denied, or cannot tell where nothing is denied, 3 asked, 64 a command line that cannot be read.\n\nEvery command that colours takes `--color auto`, `always` or `never`. Without it output is coloured on a terminal, unless \
         `NO_COLOR` is set or\n`TERM` is `dumb`. What `--json` prints is on a [page of its own](json.md). `toolgate man` prints a manual page, and `toolgate completions SHELL` prints completions.\n{}",
        cli::reference()
    )
}

// What has to be there.

#[test]
fn every_policy_file_is_listed() {
    let files: Vec<String> = files_below("crates/policies/src")
        .iter()
        // What reads a squad's own files is no policy, what explains a containment decides nothing, and a part of one is no other.
        .filter(|path| {
            !["/squad/", "/containment/", "/secret_file/"].iter().any(|apart| path.contains(apart))
        })
        .map(|path| Path::new(path).file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| !NO_POLICY.contains(&name.as_str()))
        .map(|name| name.replace('_', "-"))
        .collect();
    let listed: Vec<_> = POLICIES.iter().map(|policy| policy.id).collect();
    assert_eq!(files, listed);
}

#[test]
fn every_policy_has_a_case_file_or_a_reason_for_none() {
    for policy in POLICIES.iter() {
        let there = repository().join(format!("cases/policies/{}.toml", policy.id)).is_file();
        let excused = WITHOUT_CASES.iter().any(|(id, _)| *id == policy.id);
        assert_ne!(there, excused, "{}: a case file, or a reason why there is none", policy.id);
    }
    for file in files_below("cases/policies") {
        let name = Path::new(&file).file_stem().unwrap().to_string_lossy().into_owned();
        assert!(POLICIES.iter().any(|policy| policy.id == name), "{file} belongs to no policy");
    }
}

#[test]
fn every_case_gives_its_expected_verdict() {
    let disagreements = fs::read_to_string(repository().join("cases/disagreements.toml")).ok();
    let mut passed = 0;
    for path in files_below("cases") {
        let text = read(&path);
        let extension =
            Path::new(&path).extension().map(|extension| extension.to_string_lossy().into_owned());
        let toml = match extension.as_deref() {
            Some("jsonl") => false,
            Some("toml") if path == "cases/disagreements.toml" => continue,
            Some("toml") if text.parse::<toml::Table>().unwrap().contains_key("case") => true,
            _ => continue,
        };
        let outcome = cases::run(&text, toml, disagreements.as_deref())
            .unwrap_or_else(|error| panic!("{path}: {}", error.0));
        assert!(outcome.failed.is_empty(), "{path}: {:#?}", outcome.failed);
        passed += outcome.passed;
    }
    assert!(passed > 0, "no case was run");
}

// What people write.

/// The words in backticks.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

pub(crate) fn is_path(word: &str) -> bool {
    const TOPS: [&str; 9] =
        [".ci/", ".cargo/", "adapters/", "cases/", "crates/", "docs/", "e2e/", "fuzz/", "scripts/"];
    let file = |ending: &str| word.ends_with(ending) && !word.contains(['/', ' ', '*', '<']);
    TOPS.iter().any(|top| word.starts_with(top)) || (file(".md") && word != "team.md") || word == "deny.toml"
}

/// The settings that the documents show are settings.
#[test]
fn settings_in_the_manuals_can_be_read() {
    let text = ["docs/settings.md", "docs/redaction.md", "docs/for-developers.md"].map(read).concat();
    let mut blocks = 0;
    for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        toolgate_policies::read(block).unwrap_or_else(|error| panic!("{error:?} in\n{block}"));
        blocks += 1;
    }
    assert!(blocks > 2, "{blocks}");
}

/// Somebody who copies a command gets the package that this commit makes.
#[test]
fn the_manual_names_packages_of_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let manual = read("docs/install.md");
    let packages = section(&manual, "Packages");
    for package in [
        "toolgate_VERSION_amd64.deb",
        "toolgate-VERSION-1.x86_64.rpm",
        "toolgate-VERSION-x86_64-unknown-linux-musl.tar.gz",
        "toolgate:VERSION",
    ] {
        assert!(packages.contains(&package.replace("VERSION", version)), "{package} of {version}");
    }
}

/// Numbers that several pages give are counted here, so that no page is left behind.
#[test]
fn counts_in_the_documents_are_those_of_the_code() {
    let tables = |dir: &str| -> Vec<(String, toml::Table)> {
        let is_toml = |file: &String| Path::new(file).extension().is_some_and(|end| end == "toml");
        let files = files_below(dir).into_iter().filter(is_toml);
        files.map(|file| (file.clone(), toml::from_str(&read(&file)).unwrap())).collect()
    };
    let entries = |table: &toml::Table, key: &str| {
        table.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default()
    };
    let specs = tables("crates/effects/specs");
    let mut names = BTreeSet::new();
    for (file, spec) in &specs {
        names.insert(Path::new(file).file_stem().unwrap().to_str().unwrap().to_owned());
        names.extend(entries(spec, "names").iter().map(|name| name.as_str().unwrap().to_owned()));
    }
    let packs = tables("crates/policies/packs");
    let rules: usize = packs.iter().map(|(_, pack)| entries(pack, "rule").len()).sum();
    let tokens = tables("crates/secrets/patterns").len();
    let counted = [
        ("docs/shell.md", format!("{} files in [crates/effects/specs]", specs.len())),
        ("docs/shell.md", format!("{} names", with_comma(names.len()))),
        ("docs/shell.md", format!("{rules} rules in {} packs", packs.len())),
        ("docs/redaction.md", format!("{tokens} kinds of token")),
        ("README.md", format!("{} other profiles", PROFILES.len() - 1)),
        ("CHANGELOG.md", format!("{} specs", specs.len())),
        ("CHANGELOG.md", format!("{rules} rules in {} packs", packs.len())),
        ("CHANGELOG.md", format!("{tokens} kinds of token")),
        ("CHANGELOG.md", format!("{} other profiles", PROFILES.len() - 1)),
    ];
    for (page, words) in counted {
        // A line may end anywhere in the words.
        let text = read(page).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&words), "{page} does not say `{words}`");
    }
}

/// A number as people read it: 1,762.
fn with_comma(number: usize) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", number / 1000, number % 1000) }
}

/// The text below a heading of a page, up to the next heading.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let start = page.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("there is no `{heading}`"));
    let rest = &page[start + heading.len() + 5..];
    rest.split("\n## ").next().unwrap_or_default()
}

#[test]
fn whoever_finds_a_hole_or_contributes_finds_what_to_do() {
    let (security, contributing) = (read("SECURITY.md"), read("CONTRIBUTING.md"));
    let report = section(&security, "Reporting a hole");
    for wanted in ["privately", "toolgate --version", "toolgate check --json", "within three days", "90 days"]
    {
        assert!(report.contains(wanted), "no `{wanted}` in what to do about a hole");
    }
    let checklist = section(&security, "Checklist for a security review");
    assert!(checklist.lines().filter(|line| line.starts_with("- [ ] ")).count() >= 10, "{checklist}");
    assert!(section(&contributing, "Discuss first").contains("](SECURITY.md)"));
    assert!(section(&contributing, "Commits").contains("checklist in [SECURITY.md](SECURITY.md)"));
    // A bug comes with a case, and that is said where cases are explained.
    assert!(section(&contributing, "Cases").contains("the case that fails, then the fix"));
}

/// What the guide shows of a program that keeps a gate is in the example that is compiled and run, and the dependencies that it
/// names are those that this text needs.
#[test]
fn the_guide_for_orchestrators_shows_the_example() {
    let (guide, example) = (read("docs/for-orchestrators.md"), read("examples/src/bin/embed.rs"));
    let section = section(&guide, "Your program is written in Rust");
    let block = |kind: &str| {
        let from =
            section.split_once(&format!("```{kind}\n")).unwrap_or_else(|| panic!("no block of {kind}")).1;
        from.split("```").next().unwrap_or_default()
    };
    let flat = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let (shown, example) = (block("rust,ignore"), flat(&example));
    let pieces: Vec<_> = shown.split("// …\n").map(|piece| flat(piece.trim())).collect();
    for piece in &pieces {
        assert!(example.contains(piece.as_str()), "the example does not have\n{piece}");
    }
    assert!(pieces.len() == 3 && shown.lines().count() > 12, "{pieces:?}");
    let manifest: toml::Table = block("toml").parse().unwrap();
    let needed = manifest["dependencies"].as_table().unwrap();
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    let ours = workspace["workspace"]["dependencies"].as_table().unwrap();
    for name in needed.keys().filter(|name| *name != "serde_json") {
        assert!(ours[name.as_str()].get("path").is_some(), "{name} is not a crate of this repository");
    }
    // What the text takes from our crates: by their paths, or by what the example has imported.
    let library = |name: &str| name.replace('-', "_");
    for name in ours.keys().filter(|name| name.starts_with("toolgate-")) {
        let imported =
            example.lines().filter_map(|line| line.strip_prefix("use ")?.strip_prefix(&library(name)));
        let used = imported
            .flat_map(|path| path.split(|letter: char| !letter.is_alphanumeric()))
            .any(|word| word.starts_with(char::is_uppercase) && shown.contains(word));
        let used = used || shown.contains(&format!("{}::", library(name)));
        assert_eq!(needed.contains_key(name.as_str()), used, "{name} in the dependencies of the guide");
    }
}

/// A link or a path that leads nowhere.
#[test]
fn documents_name_only_files_that_exist() {
    let tops = ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let (mut links, mut words) = (0, 0);
    let pages = tops.map(str::to_owned).into_iter().chain(files_below("docs"));
    for page in pages.filter(|page| Path::new(page).extension().is_some_and(|end| end == "md")) {
        let text = read(&page);
        let folder = Path::new(&page).parent().unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") {
                assert!(repository().join(folder).join(file).exists(), "{page} links to {file}");
                links += 1;
            }
        }
        for word in quoted(&text).filter(|word| is_path(word) && !word.contains(['<', '*', '{', ' ', '…']))
        {
            assert!(repository().join(word).exists(), "{page} names `{word}`, which does not exist");
            words += 1;
        }
    }
    assert!(links > 50 && words > 50, "only {links} links and {words} paths were looked at");
}

/// Words of the glossary's last column that mean nothing else in this repository, with their forms. The others (`action`,
/// `block`, `protocol` …) have other meanings too, which only a reader can tell apart.
const NEVER: &[(&str, &[&str])] = &[
    ("judgement", &["judgement", "judgements"]),
    ("jailed", &["jailed"]),
    ("code of the project", &["code of the project"]),
    ("file of secrets", &["file of secrets", "files of secrets"]),
    ("telling name", &["telling name", "telling names"]),
    ("mend", &["mend", "mends", "mended", "mending"]),
];

/// Whether a text holds these words, whatever their case and wherever lines break. Letters around them make other words.
fn holds(text: &str, words: &str) -> bool {
    let apart = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    text.match_indices(words).any(|(at, _)| {
        apart(text[..at].chars().next_back()) && apart(text[at + words.len()..].chars().next())
    })
}

/// One term for one thing, in documents, messages and comments.
#[test]
fn words_that_the_glossary_rules_out_do_not_come_back() {
    let contributing = read("CONTRIBUTING.md");
    let glossary = section(&contributing, "Glossary");
    let ruled_out: Vec<_> = glossary
        .lines()
        .filter_map(|row| row.trim_end_matches([' ', '|']).rsplit_once('|'))
        .map(|(_, not)| not)
        .collect();
    for (word, forms) in NEVER {
        assert!(ruled_out.iter().any(|not| holds(not, word)), "the glossary does not rule out `{word}`");
        assert!(forms.iter().all(|form| holds(&format!("a {form}."), form)), "{forms:?}");
    }
    let tops = ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let dirs = ["docs", "cases", "crates", "adapters", "examples", "e2e", "scripts"];
    let pages = tops.into_iter().map(str::to_owned).chain(dirs.into_iter().flat_map(files_below));
    let (mut looked, mut wrong) = (0, Vec::new());
    // What is built or installed there is nobody's writing, and this file names the words.
    let foreign = |page: &str| page.contains("/node_modules/") || page.contains("/target/") || page == THIS;
    for page in pages.filter(|page| !foreign(page)) {
        let written = [".md", ".rs", ".toml", ".ts", ".sh", ".service", ".timer"];
        if !written.iter().any(|end| page.ends_with(end)) && !page.starts_with("scripts/") {
            continue;
        }
        let Ok(text) = fs::read_to_string(repository().join(&page)) else { continue };
        let text = if page == "CONTRIBUTING.md" { text.replace(glossary, "") } else { text };
        // A comment or a text may go on in the next line.
        let plain: String = text.to_lowercase().replace("//!", " ").replace("///", " ").replace('\\', " ");
        let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        for (word, form) in NEVER.iter().flat_map(|(word, forms)| forms.iter().map(move |form| (word, form)))
        {
            if holds(&plain, form) {
                wrong.push(format!("{page}: `{form}` (see `{word}` in the glossary)"));
            }
        }
        looked += 1;
    }
    assert!(looked > 500, "only {looked} files were looked at");
    assert!(wrong.is_empty(), "words that the glossary of CONTRIBUTING.md rules out: {wrong:#?}");
}

const THIS: &str = "crates/toolgate/tests/it/docs.rs";
