//! Denies reading files that hold secrets: `.env` and its kind, private keys, and the credential stores of common tools.
//!
//! Why: what an agent has read is in the model's context, and from there it can go anywhere. Redaction of a tool's output
//! finds what looks like a secret; it cannot find a password that looks like a word.
//!
//! Settings: `open`, a list of patterns as in `[[scope]]`, or of bare names that hold in every directory:
//!
//! ```toml
//! [policy.secret-file]
//! open = [".env.test", "~/.aws/config", "{worktree}/fixtures"]
//! ```
//!
//! Agents may read what they cover. This policy is part of the floor: it holds in every profile, even in one that steps back; a `[[scope]]`
//! entry does not open it, and `open` counts in the user's and the administrator's settings only, never in a project's
//! own file, trusted or not. As with all settings, the administrator's file must allow it too.
//!
//! Denied by name, in any directory and in either case: `.env`, `.env.*`, `.envrc`, `*.env`, `.dev.vars` (not the
//! examples, samples, templates and defaults among them, nor code, prose and what is encrypted: `.env.example`,
//! `.env.vault`); SSH keys and key stores (`id_rsa`, `*.p12`, `*.jks`, `*.kdbx` …); `.netrc`, `.pgpass`,
//! `.htpasswd`, `.git-credentials`, kubeconfigs, `*.tfstate`. By name and content: `*.pem`, `*.key`,
//! `.npmrc`, `.pypirc`, `credentials.json`, `service-account*.json`, `secrets.yml` and the like: a certificate or a file
//! of variables can be read. By place, for writing too: the stores of the home (`~/.ssh`, `~/.aws`, browsers,
//! password managers, command histories, sign-ins of cloud, package and AI tools) and of the system (`/etc/shadow`,
//! `/run/secrets`, `/proc/*/environ`).
//!
//! Making, changing or deleting a `.env` is not reading it. Nor is listing names: `ls -la .env`, `find -name .env`,
//! `git add .env`, `cp .env.example .env` are fine.
//!
//! A search or a diff that only happens to find such a file (`git diff`, `git log -p`, `git grep TODO`, `grep -rn TODO .`) runs if the
//! host lets toolgate redact what is shown, and is denied otherwise. It is also denied if it asks for what such files hold
//! (`git grep PASSWORD`, `grep -r . .`).
//!
//! Sees through: links, `..`, other letter case, Windows paths, a search that starts in the home or among processes above
//! such a place; everything that reads the file or copies its content (`source`, `cp`, `mv`, `ln`, `tar`, `base64`,
//! redirections, `--env-file` of docker, code that opens it); a search that would come upon it (`grep -r`, `rg --hidden`,
//! the hosts' own: looked for below the directory, up to 2,000 names, as the search's own options and `.gitignore`
//! leave it); git, by name (`git show HEAD:.env`, `git blame .env`, a list for `git cat-file --batch`), by a pattern that picks
//! it out (`git log -p -- '.e*'`), by the id of what the index has of it, and in passing (`git diff`, `git log -p`,
//! `git show`, `git grep`, where the index has such a file; not a `git diff` of the files, where it is as the index has it).
//! Does not see: secrets in files of other names, and copies; what project code reads; a file that
//! git has only in its history and that the command does not name; directories that are copied or packed as a whole; a search of `/etc`,
//! whose secrets only the administrator can read, or from above the home, which `outside-scope` closes in all profiles
//! except those that open everything.

mod passing;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{
    Access, Decision, Facts, Finding, FindingKind, NodeKind, Places, Policy, Reach, SecretName, Use,
    base_name, secret_name, shorten,
};

use crate::pattern::{self, Patterns, Probe};

use passing::is_in_passing;
pub use passing::shows_secrets_in_passing;

/// `[policy.secret-file]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SecretFile {
    /// What may still be read: names (`.env.test`), or places (`~/.aws/config`, `{worktree}/fixtures`).
    open: Vec<String>,
}

/// Places of keys and credentials. Names are in small letters.
static PLACES: Patterns = Patterns::new(&[
    "~/.ssh",
    "~/.gnupg",
    // Clouds.
    "~/.aws",
    "~/.azure",
    "~/.kube",
    "~/.oci",
    "~/.bluemix",
    "~/.config/gcloud",
    "~/.config/doctl",
    "~/.config/hcloud",
    "~/.config/scw",
    "~/.config/linode-cli",
    "~/.config/rclone",
    "~/.config/heroku",
    "~/.config/netlify",
    "~/.netlify/config.json",
    "~/.local/share/com.vercel.cli",
    "~/.config/.wrangler",
    "~/.wrangler/config",
    "~/.cloudflared",
    "~/.fly/config.yml",
    "~/.railway/config.json",
    "~/.config/stripe",
    "~/.config/ngrok",
    "~/.ngrok2",
    "~/.config/configstore",
    "~/.supabase",
    "~/.pulumi/credentials.json",
    "~/.terraform.d/credentials.tfrc.json",
    "~/.terraformrc",
    "~/.s3cfg",
    "~/.boto",
    "~/.mc/config.json",
    "~/.databrickscfg",
    "~/.snowsql/config",
    "~/.snowflake",
    "~/.dbt/profiles.yml",
    "~/.kaggle",
    "~/.docker/config.json",
    "~/.config/containers/auth.json",
    "~/.vault-token",
    "~/.local/state/toolgate/marks.key",
    "~/.local/state/toolgate/marked",
    "~/.config/sops",
    // Forges and the network.
    "~/.config/gh/hosts.yml",
    "~/.config/hub",
    "~/.config/glab-cli",
    "~/.config/tea",
    "~/.netrc",
    "~/.git-credentials",
    "~/.config/git/credentials",
    // Packages.
    "~/.npmrc",
    "~/.yarnrc.yml",
    "~/.pypirc",
    "~/.config/pip/pip.conf",
    "~/.pip/pip.conf",
    "~/.config/pypoetry/auth.toml",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.gem/credentials",
    "~/.bundle/config",
    "~/.composer/auth.json",
    "~/.config/composer/auth.json",
    "~/.m2/settings.xml",
    "~/.m2/settings-security.xml",
    "~/.gradle/gradle.properties",
    "~/.sbt/.credentials",
    "~/.ivy2/.credentials",
    "~/.hex/hex.config",
    "~/.nuget/nuget/nuget.config",
    "~/.cache/huggingface/token",
    "~/.cache/huggingface/stored_tokens",
    "~/.huggingface",
    "~/.local/share/uv/credentials",
    // Databases.
    "~/.pgpass",
    "~/.my.cnf",
    "~/.mylogin.cnf",
    // Sign-ins of AI tools.
    "~/.claude/.credentials.json",
    "~/.codex/auth.json",
    "~/.gemini/oauth_creds.json",
    "~/.qwen/oauth_creds.json",
    "~/.local/share/opencode/auth.json",
    "~/.pi/agent/auth.json",
    "~/.config/github-copilot",
    "~/.config/io.datasette.llm/keys.json",
    // Browsers and mail.
    "~/.mozilla",
    "~/.thunderbird",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.config/bravesoftware",
    "~/.config/microsoft-edge",
    "~/.config/vivaldi",
    "~/.cache/google-chrome",
    "~/.cache/chromium",
    "~/.cache/mozilla",
    "~/snap/firefox",
    "~/snap/chromium",
    "~/library/cookies",
    "~/library/application support/google/chrome",
    "~/library/application support/firefox",
    "~/library/application support/bravesoftware",
    // Password managers.
    "~/.password-store",
    "~/.local/share/keyrings",
    "~/.local/share/kwalletd",
    "~/.config/op",
    "~/.config/1password",
    "~/.config/bitwarden",
    "~/.config/bitwarden cli",
    "~/.config/keepassxc",
    "~/.lpass",
    "~/library/keychains",
    // What was typed, passwords among it.
    "~/.bash_history",
    "~/.zsh_history",
    "~/.local/share/fish/fish_history",
    "~/.psql_history",
    "~/.mysql_history",
    // The system's.
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh/ssh_host_*",
    "/etc/ssl/private",
    "/etc/letsencrypt/live",
    "/etc/letsencrypt/archive",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/wireguard",
    "/etc/krb5.keytab",
    "/run/secrets",
    "/var/run/secrets",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/task",
    "/proc/kcore",
    "/proc/keys",
    "/root/.ssh",
]);

/// Public halves and lists that hold no secret.
static PUBLIC: Patterns = Patterns::new(&["~/.ssh/known_hosts", "~/.ssh/*.pub", "/etc/ssh/ssh_host_*.pub"]);

impl Policy for SecretFile {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for used in &facts.uses {
            match &used.place {
                Ok(place) => {
                    let directory = place.node.as_ref().is_some_and(|node| node.kind == NodeKind::Directory);
                    let found = place
                        .paths()
                        .find_map(|path| Some((path, self.secret(used, path, directory, facts)?)));
                    if let Some((path, secret)) =
                        found.filter(|_| !(facts.redacts && is_in_passing(used, facts)))
                    {
                        let named = place.lexical.to_string_lossy();
                        findings.push(finding(used, &named, &path.to_string_lossy(), secret, facts));
                    }
                }
                // A path that leads nowhere we know still has a name.
                Err(_) if reads(used) && is_secret_name(used, &used.text) && !self.opens_name(&used.text) => {
                    findings.push(finding(used, &used.text, &used.text, Secret::Name, facts));
                }
                Err(_) => {}
            }
        }
    }
}

/// Why a file is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secret {
    /// It lies in a place of secrets.
    Resolved,
    /// A search from here comes upon one.
    Below,
    /// Its name, or what it holds.
    Name,
}

impl SecretFile {
    fn secret(&self, used: &Use<'_>, path: &Path, directory: bool, facts: &Facts<'_>) -> Option<Secret> {
        let probe = Probe::new(path, facts.places);
        let covered = |patterns: &Patterns| probe.forbidden_by_any(patterns);
        // Opening is for reading; nobody has to write a credential store by way of an agent.
        let opened = || {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            !used.writes()
                && (self.opens_name(name) || self.places().any(|open| probe.covered_by(open).is_some()))
        };
        // A search tool skips what it may not read; a shell command may be root's.
        let counts = |pattern: &str| used.origin.is_some() || !pattern.starts_with("/etc");
        let from_above = || PLACES.iter().any(|pattern| counts(pattern) && probe.is_above(pattern));
        let secret = if used.reach == Reach::Below && from_above() {
            Secret::Below
        } else if covered(&PLACES) && (used.writes() || !covered(&PUBLIC)) {
            Secret::Resolved
        } else if reads(used) && !directory && is_secret_name(used, &path.to_string_lossy()) {
            Secret::Name
        } else {
            return None;
        };
        (!opened()).then_some(secret)
    }

    /// The entries that are bare names hold in every directory.
    fn opens_name(&self, path: &str) -> bool {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        self.open.iter().any(|open| is_bare(open) && pattern::wildcard(open.as_bytes(), name.as_bytes()))
    }

    fn places(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(String::as_str).filter(|open| !is_bare(open))
    }

    /// Says what in `open` cannot be used.
    pub(crate) fn check(&self) -> Result<(), String> {
        for open in &self.open {
            if !is_bare(open) {
                pattern::check(open)?;
            } else if open.trim_matches('*').is_empty() {
                return Err(format!("`{open}` in `open` of [policy.secret-file] names no file"));
            }
        }
        Ok(())
    }
}

/// The places of keys and credentials that a session knows by name, and what is public among them: each has rights of its own.
pub(crate) fn secret_places(places: &Places) -> Vec<PathBuf> {
    let named = PLACES.iter().chain(PUBLIC.iter()).flat_map(|place| pattern::literal_places(place, places));
    named.map(|place| place.physical).collect()
}

impl SecretFile {
    /// Whether a program may not read what is at a path, by where that lies.
    pub(crate) fn closes(&self, path: &Path, places: &Places) -> bool {
        let probe = Probe::new(path, places);
        let covered = |patterns: &Patterns| probe.forbidden_by_any(patterns);
        let opened = || self.places().any(|open| probe.covered_by(open).is_some());
        covered(&PLACES) && !covered(&PUBLIC) && !opened()
    }

    /// The places that the settings open, as far as they can be named.
    pub(crate) fn opened_places(&self, places: &Places) -> Vec<PathBuf> {
        let named = self.places().flat_map(|open| pattern::literal_places(open, places));
        named.map(|place| place.physical).collect()
    }

    #[cfg(test)]
    pub(crate) fn opening(open: &[&str]) -> SecretFile {
        SecretFile { open: open.iter().map(|open| (*open).to_owned()).collect() }
    }
}

fn is_bare(open: &str) -> bool {
    !open.contains(['/', '~', '{'])
}

/// Whether the content of this very file is read, or taken along under another name. A search that is no shell command's
/// names a file that it reads exactly; all else that it is given it lists.
fn reads(used: &Use<'_>) -> bool {
    match used.access {
        Access::Read => used.reach != Reach::Below,
        Access::Search => used.reach != Reach::Below || used.origin.is_some(),
        Access::Link => true,
        Access::Enter | Access::List | Access::Append | Access::Write | Access::Delete => false,
    }
}

fn is_secret_name(used: &Use<'_>, path: &str) -> bool {
    match secret_name(path) {
        Some(SecretName::Settings | SecretName::Key) => true,
        Some(SecretName::Perhaps) => used.holds_secret,
        None => false,
    }
}

fn finding(used: &Use<'_>, named: &str, path: &str, secret: Secret, facts: &Facts<'_>) -> Finding {
    let verb = match used.access {
        // What is searched for keys is read.
        Access::Search => "reads",
        access => access.verb(),
    };
    let shown = shorten(path, 120);
    let reason = match secret {
        Secret::Resolved | Secret::Below => {
            format!("{} {verb} `{shown}`, where keys and credentials are kept", facts.tool)
        }
        Secret::Name => format!(
            "{} {verb} `{shown}`, a secret file: what is read enters the model's context, and can go anywhere from there",
            facts.tool
        ),
    };
    Finding::new("secret-file", Decision::Deny, FindingKind::Secret)
        .at(&used.param, named.to_owned())
        .because(reason)
        .instead(instead(used, path, secret, facts))
        // The places of keys are closed inside of a sandbox; what only goes by the name of a secret is not.
        .held(used.reach == Reach::Met && matches!(secret, Secret::Resolved))
}

/// A form that passes.
fn instead(used: &Use<'_>, path: &str, secret: Secret, facts: &Facts<'_>) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let person = format!(
        "have a person open it by name: open = [\"{}\"] under [policy.secret-file]",
        shorten(name, 60)
    );
    match secret {
        Secret::Below if used.access.changes() => "name what is meant, below the worktree".to_owned(),
        Secret::Below => "search a narrower place, or ask a person for what you need".to_owned(),
        Secret::Resolved => "ask a person for what you need".to_owned(),
        Secret::Name if used.access == Access::Search && used.reach == Reach::Exact => {
            let starts = |run: &&toolgate_model::Run| run.origin.is_some() && run.origin == used.origin;
            let program =
                facts.runs.iter().rev().find(starts).map(|run| base_name(&run.program)).unwrap_or_default();
            let glob = if name.starts_with(".env") { ".env*" } else { name };
            let apart = match program {
                "git" => format!("leave it out with `-- . ':!{name}'`"),
                "rg" => format!("leave it out with `-g '!{glob}'`"),
                "ag" => format!("leave it out with `--ignore '{glob}'`"),
                "ack" | "ack-grep" => format!("leave it out with `--ignore-file=is:{name}`"),
                "" => format!("leave it out with the glob `!{glob}`, search a narrower place"),
                _ => format!("leave it out with `--exclude='{glob}'`"),
            };
            format!("{apart}, or {person}")
        }
        Secret::Name
            if secret_name(path) == Some(SecretName::Settings)
                && name.to_ascii_lowercase().contains("env") =>
        {
            format!("read `.env.example`, or {person}")
        }
        Secret::Name => format!("ask a person for what you need, or {person}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{facts, objections, used};
    use toolgate_model::{Places, Team, Trouble};

    #[test]
    fn an_unresolved_path_is_judged_by_its_name() {
        let (places, team) = (Places::default(), Team::default());
        let denied = |open: &[&str], access, text: &'static str| {
            let policy = SecretFile { open: open.iter().map(ToString::to_string).collect() };
            let uses = vec![Use { text: text.into(), ..used(access, Err(Trouble::NoDirectory)) }];
            !objections(&policy, &Facts { uses, ..facts("Read", &places, &team) }).is_empty()
        };
        assert!(denied(&[], Access::Read, "app/.env"));
        assert!(!denied(&[], Access::Read, "app/.env.example"));
        assert!(!denied(&[], Access::Write, "app/.env"));
        assert!(!denied(&[".env"], Access::Read, "app/.env"));
    }
}
