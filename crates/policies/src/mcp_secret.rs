//! Denies writing keys into the configuration of MCP servers; a reference to a variable passes.
//!
//! Why: these files are in repositories and are shared, and every server that they start needs a key. All clients
//! accept a reference in its place.
//!
//! Settings: `enabled` switches it on or off. `[redaction]` says what looks like a secret.
//!
//! Sees through: `mcp*.json`, `.mcp.json` and the files of other names that clients read, wherever they lie, by file
//! tools and by shell commands; values that do not look like a secret, if they are in `env`, `headers` or `args` under a name
//! that says what they are (`API_KEY`, `--token`, `Authorization`). `${VAR}`, `${env:VAR}`, `${input:x}`, `{env:VAR}`, `$VAR`,
//! `%VAR%`, paths and placeholders (`<your key>`) are fine.
//! Does not see: a variable that the shell expands while it writes the file (a here-document whose end is not quoted), what is
//! copied or moved there, and configurations in the main settings file of a client, which no agent may write at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_model::{Decision, Facts, Finding, FindingKind, Places, Policy, Resolved, shorten};

use crate::pattern::Probe;
use crate::private_content::MARK;

/// `[policy.mcp-secret]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct McpSecret {
    /// Whether it is on.
    enabled: bool,
}

impl Default for McpSecret {
    fn default() -> Self {
        McpSecret { enabled: true }
    }
}

/// Where clients read which servers to start.
const CONFIGURATIONS: &[&str] = &[
    "**/mcp*.json",
    "**/mcp*.jsonc",
    "**/.mcp*.json",
    "**/claude_desktop_config.json",
    "**/cline_mcp_settings.json",
];

impl McpSecret {
    /// Whether keys are to be looked for in what is written to this place.
    pub(crate) fn seeks(&self, place: &Resolved, places: &Places) -> bool {
        self.enabled
            && place.paths().any(|path| {
                let probe = Probe::new(path, places);
                CONFIGURATIONS.iter().any(|pattern| probe.forbidden_by(pattern))
            })
    }
}

impl Policy for McpSecret {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let written = facts.uses.iter().filter(|used| used.access.fills());
        for used in written.filter(|used| !used.private.is_empty()) {
            let (Ok(place), Some(secret)) =
                (&used.place, used.private.iter().find(|found| !found.email && found.mark != MARK))
            else {
                continue;
            };
            if self.seeks(place, facts.places) {
                let path = place.lexical.to_string_lossy();
                findings.push(
                    Finding::new("mcp-secret", Decision::Deny, FindingKind::Secret)
                        .because(format!(
                            "{} writes {} into `{}`, an MCP server configuration",
                            facts.tool,
                            secret.about,
                            shorten(&path, 120)
                        ))
                        .at(&used.param, path)
                        .instead(
                            "write a reference, as in `\"${API_KEY}\"`, and keep the key in the environment",
                        ),
                );
            }
        }
    }
}

/// The names in a piece of JSON whose values are secrets by what they are called, and stand there in plain text. A
/// piece that an edit puts in does not say what stands around it, so where nothing does, every name counts.
pub fn hard_coded(json: &str) -> Vec<String> {
    /// Whose members are handed to a server.
    const HOLDERS: &[&str] = &["env", "headers", "http_headers", "requestheaders", "args", "auth", "oauth"];
    let mut names = Vec::new();
    // The names of the objects and lists that are open here.
    let mut open: Vec<String> = Vec::new();
    let (mut last, mut divider) = (String::new(), '\0');
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                let text = string(&mut rest);
                let held =
                    open.last().is_none_or(|name| HOLDERS.contains(&name.to_ascii_lowercase().as_str()));
                let word = |text: &str| text.trim_start_matches('-').to_owned();
                let mut pair = |name: &str, value: &str| {
                    if held && names_secret(name) && is_plain(value) {
                        names.push(word(name));
                    }
                };
                match text.split_once('=') {
                    _ if divider == ':' => pair(&last, &text),
                    Some((name, value)) => pair(name, value),
                    None if divider == ',' && last.starts_with('-') => pair(&last, &text),
                    None => {}
                }
                (last, divider) = (text, '\0');
            }
            '{' | '[' => {
                open.push(if divider == ':' { std::mem::take(&mut last) } else { String::new() });
                divider = '\0';
            }
            '}' | ']' => {
                open.pop();
                divider = '\0';
            }
            c if c.is_whitespace() => {}
            c => divider = c,
        }
    }
    names
}

/// The rest of a string, up to its quote.
fn string(rest: &mut std::str::Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => text.extend(rest.next()),
            c => text.push(c),
        }
    }
    text
}

/// Whether a name says that its value is a secret: `GITHUB_TOKEN`, `apiKey`, `X-Api-Key`, `--password`.
fn names_secret(name: &str) -> bool {
    const LAST: &[&str] = &[
        "apikey",
        "authorization",
        "credential",
        "credentials",
        "key",
        "passphrase",
        "passwd",
        "password",
        "pat",
        "secret",
        "token",
    ];
    let mut apart = String::new();
    let mut small = false;
    for c in name.chars() {
        if small && c.is_ascii_uppercase() {
            apart.push('_');
        }
        small = c.is_ascii_lowercase();
        apart.push(c.to_ascii_lowercase());
    }
    let mut words = apart.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let is_public = words.clone().any(|word| matches!(word, "public" | "publishable"));
    words.next_back().is_some_and(|word| LAST.contains(&word)) && !is_public
}

/// Whether a value is neither a reference nor a path nor a placeholder.
fn is_plain(value: &str) -> bool {
    /// The shortest value that is worth a word.
    const SHORTEST: usize = 4;
    const SCHEMES: &[&str] = &["basic", "bearer", "token"];
    /// No secret, wherever they stand in a value.
    const PLACEHOLDERS: &[&str] =
        &["changeme", "dummy", "example", "insert", "placeholder", "redacted", "replace", "your"];
    /// No secret, if they are all of it.
    const EMPTY: &[&str] = &["false", "none", "null", "optional", "todo", "true"];
    let value = without_references(value);
    let value = value.trim();
    let (scheme, credentials) = value.split_once(' ').unwrap_or((value, ""));
    let is_scheme = SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
    let value = if is_scheme { credentials.trim() } else { value };
    let lower = value.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let mut letters = lower.chars().filter(char::is_ascii_alphanumeric);
    let is_bracketed = [('<', '>'), ('[', ']'), ('{', '}')]
        .iter()
        .any(|(open, close)| value.starts_with(*open) && value.ends_with(*close));
    let is_placeholder = is_bracketed
        || EMPTY.contains(&lower.as_str())
        || words.any(|word| PLACEHOLDERS.contains(&word))
        || letters.next().is_none_or(|first| letters.all(|letter| letter == first));
    let is_path = ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start));
    value.len() >= SHORTEST && !is_placeholder && !is_path
}

/// The value without `${VAR}`, `{env:VAR}`, `$VAR` and `%VAR%`. Of `${VAR:-text}` the text stays.
fn without_references(value: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | ':');
    let mut left = String::new();
    let mut rest = value;
    while let Some(c) = rest.chars().next() {
        let braced = ["${", "{env:", "{file:", "{{"].iter().find_map(|start| rest.strip_prefix(start));
        if let Some((inner, behind)) = braced.and_then(|inner| inner.split_once('}')) {
            let default = inner.split_once(":-").map(|(_, default)| default);
            left.push_str(default.unwrap_or_default());
            rest = behind.strip_prefix('}').unwrap_or(behind);
            continue;
        }
        // In the middle of a word it is a letter of a password.
        let begins = !left.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '$');
        let named = rest.strip_prefix('$').filter(|_| begins).map(|name| name.trim_start_matches(is_name));
        if let Some(behind) = named.filter(|behind| behind.len() + 1 < rest.len()) {
            rest = behind;
            continue;
        }
        let quoted = rest.strip_prefix('%').and_then(|name| name.split_once('%'));
        if let Some((_, behind)) = quoted.filter(|(name, _)| name.chars().all(is_name)) {
            rest = behind;
            continue;
        }
        left.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_other_names() {
        for name in ["API_KEY", "apiKey", "X-Api-Key", "GITHUB_TOKEN", "Authorization", "--password", "key"] {
            assert!(names_secret(name), "{name}");
        }
        for name in ["MONKEY", "MAX_TOKENS", "STRIPE_PUBLISHABLE_KEY", "KEY_FILE", "PWD", "", "--verbose"] {
            assert!(!names_secret(name), "{name}");
        }
    }

    #[test]
    fn a_plain_value_is_told_from_references_and_placeholders() {
        for value in [
            "hunter2",
            "Bearer 12ab34cd",
            "${API_KEY:-12ab34cd}",
            "${PREFIX}12ab34cd",
            "pa$$word",
            "my-secret-1",
            "*star*",
            "{open",
        ] {
            assert!(is_plain(value), "{value}");
        }
        for value in [
            "",
            "${API_KEY}",
            "${env:API_KEY}",
            "${input:api-key}",
            "$API_KEY",
            "{env:API_KEY}",
            "{{API_KEY}}",
            "%API_KEY%",
            "Bearer ${TOKEN}",
            "Basic $CREDENTIALS",
            "${API_KEY:-}",
            "${USER}:${PASSWORD}",
            "<your-api-key>",
            "YOUR_API_KEY",
            "your-api-key-here",
            "xxxxxxxx",
            "xxx-xxx",
            "{key}",
            "********",
            "...",
            "changeme",
            "${HOME}/.keys/x.pem",
            "/run/secrets/key",
            "true",
        ] {
            assert!(!is_plain(value), "{value}");
        }
    }

    #[test]
    fn hard_coded_secrets_for_a_server_are_found() {
        for (json, names) in [
            (r#"{"mcpServers":{"x":{"env":{"API_KEY":"12ab34cd"}}}}"#, vec!["API_KEY"]),
            (r#"{"mcpServers":{"x":{"env":{"API_KEY":"${API_KEY}"}}}}"#, vec![]),
            (r#"{"servers":{"x":{"headers":{"Authorization":"Bearer 12ab34cd"}}}}"#, vec!["Authorization"]),
            (r#"{"x":{"args":["-y","server","--api-key","12ab34cd"]}}"#, vec!["api-key"]),
            (
                r#"{"x":{"args":["--api-key=12ab34cd","-e","DB_PASSWORD=hunter2"]}}"#,
                vec!["api-key", "DB_PASSWORD"],
            ),
            (r#"{"x":{"args":["-e","API_KEY","server:latest"]}}"#, vec![]),
            // A piece of an edit.
            ("\"env\": {\n  \"API_KEY\": \"12ab34cd\"", vec!["API_KEY"]),
            ("\"API_KEY\": \"12ab34cd\"", vec!["API_KEY"]),
            // Not handed to anybody.
            (r#"{"tools":[{"name":"x","token":"12ab34cd"}]}"#, vec![]),
            (
                r#"{"inputs":[{"type":"promptString","id":"api-key","description":"API key","password":true}]}"#,
                vec![],
            ),
            (r#"{"x":{"env":{"MODE":"a \"quoted\" {word"},"url":"https://x/?a=b"}}"#, vec![]),
            ("no JSON at all", vec![]),
        ] {
            assert_eq!(hard_coded(json), names, "{json}");
        }
    }
}
