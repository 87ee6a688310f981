//! Denies reading and writing the keys and credential stores of the home and of the system.
//!
//! Why: what an agent has read is in the model's context, and from there it can go anywhere.
//!
//! Settings: none. This is the floor; a `[[scope]]` entry does not open it.
//!
//! Sees through: links, `..`, other letter case, a search that starts in the home or among processes, above such
//! a place.
//! Does not see: secrets in files of other names, and copies; a search of `/etc`, whose secrets only the
//! administrator can read, or from above the home, which `outside-scope` closes in all profiles but those that
//! open everything.

use toolgate_model::{Decision, Facts, Finding, Kind, Policy, Reach, shorten};

use crate::pattern::Probe;

pub(crate) struct SecretFile;

const SECRETS: &[&str] = &[
    "~/.ssh",
    "~/.aws",
    "~/.gnupg",
    "~/.azure",
    "~/.kube",
    "~/.docker/config.json",
    "~/.config/gcloud",
    "~/.config/gh/hosts.yml",
    "~/.config/op",
    "~/.config/rclone",
    "~/.netrc",
    "~/.git-credentials",
    "~/.config/git/credentials",
    "~/.npmrc",
    "~/.pypirc",
    "~/.pgpass",
    "~/.my.cnf",
    "~/.vault-token",
    "~/.terraform.d/credentials.tfrc.json",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "~/.gem/credentials",
    "~/.m2/settings.xml",
    "~/.m2/settings-security.xml",
    "~/.gradle/gradle.properties",
    "~/.cache/huggingface/token",
    "~/.cache/huggingface/stored_tokens",
    "~/.local/share/uv/credentials",
    "~/.cache/google-chrome",
    "~/.cache/chromium",
    "~/.cache/mozilla",
    "~/.password-store",
    "~/.local/share/keyrings",
    "~/.mozilla",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.bash_history",
    "~/.zsh_history",
    "~/.claude/.credentials.json",
    "~/.codex/auth.json",
    "~/.gemini/oauth_creds.json",
    "~/.local/share/opencode/auth.json",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh/ssh_host_*",
    "/etc/ssl/private",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/task",
    "/proc/kcore",
    "/proc/keys",
    "/root/.ssh",
];

/// Public halves and lists that hold no secret.
const OPEN: &[&str] = &["~/.ssh/known_hosts", "~/.ssh/*.pub", "/etc/ssh/ssh_host_*.pub"];

impl Policy for SecretFile {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        for used in &facts.uses {
            let Ok(place) = &used.place else { continue };
            let secret = place.paths().find(|path| {
                let probe = Probe::new(path, facts.ground);
                let covered = |patterns: &[&str]| patterns.iter().any(|pattern| probe.forbidden_by(pattern));
                // A search tool skips what it may not read; a shell command may be root's.
                let counts = |pattern: &str| used.origin.is_some() || !pattern.starts_with("/etc");
                let from_above = used.reach == Reach::Below
                    && SECRETS.iter().any(|pattern| counts(pattern) && probe.is_above(pattern));
                from_above || (covered(SECRETS) && (used.writes() || !covered(OPEN)))
            });
            if let Some(path) = secret {
                let verb = if used.writes() { "writes" } else { "reads" };
                findings.push(
                    Finding::new("secret-file", Decision::Deny, Kind::Secret)
                        .at(&used.param, place.lexical.to_string_lossy().into_owned())
                        .because(format!(
                            "{} {verb} `{}`, a place of keys and credentials",
                            facts.tool,
                            shorten(&path.to_string_lossy(), 120)
                        ))
                        .instead(match used.reach {
                            Reach::Below => {
                                "search a narrower place, or have a person hand over what is needed"
                            }
                            Reach::Exact => "have a person hand over what is needed",
                        }),
                );
            }
        }
    }
}
