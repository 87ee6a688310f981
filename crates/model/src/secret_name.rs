//! Which files hold secrets, by the names that people and their tools give them, and by their content where the name
//! alone does not decide.
//!
//! It is here because two crates need it: the interpreter reports which of the thousand files that a search reads matter, and
//! a policy judges them. Letters count in either case: on a file system that folds them they are the same.
//!
//! Does not see: a secret in a file of any other name.

use std::borrow::Cow;

/// What the name of a file says about secrets in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretName {
    /// Settings with secrets among them, line by line: a search prints them.
    Settings,
    /// A key, all of it.
    Key,
    /// A name for either kind of file: what it holds decides, see [`holds_secret`].
    Perhaps,
}

/// So much of a file with such a name is looked at.
pub const SECRET_LOOK: usize = 16 * 1024;

/// Parts of a name that say that its values are made up.
const EXAMPLE: &[&str] = &[
    "example",
    "examples",
    "sample",
    "samples",
    "template",
    "templates",
    "tmpl",
    "tpl",
    "dist",
    "default",
    "defaults",
    "schema",
    "skeleton",
    "stub",
    "dummy",
    "placeholder",
];

/// Endings of code and prose, which people write to be read.
const PROSE: &[&str] = &[
    "md", "mdx", "rst", "adoc", "ts", "tsx", "js", "jsx", "mjs", "cjs", "py", "rb", "go", "rs", "java", "kt",
    "cs", "php", "c", "h", "cc", "cpp", "hpp", "swift", "ex", "exs", "lua", "html", "css", "svg", "png",
    "pdf", "lock",
];

/// Endings of what is encrypted, or is filled in later.
const SEALED: &[&str] = &[
    "enc",
    "encrypted",
    "gpg",
    "asc",
    "age",
    "sops",
    "vault",
    "j2",
    "erb",
    "ejs",
    "hbs",
    "mustache",
    "tftpl",
    "gotmpl",
    "njk",
    "pub",
];

/// What stands behind `.env` where something else stands before it: `web.env.production`, but not `vite.env.json`.
const STAGES: &[&str] = &[
    "local",
    "production",
    "prod",
    "staging",
    "stage",
    "development",
    "dev",
    "test",
    "testing",
    "ci",
    "qa",
    "uat",
    "live",
    "preview",
    "bak",
    "backup",
    "old",
    "orig",
    "save",
];

/// Files that are nothing but secrets, wherever they lie.
const SETTINGS: &[&str] = &[
    ".flaskenv",
    ".netrc",
    "_netrc",
    ".pgpass",
    "pgpass.conf",
    ".my.cnf",
    ".mylogin.cnf",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".boto",
    ".s3cfg",
    ".passwd-s3fs",
    ".databrickscfg",
    ".vault-token",
    ".vault_pass",
    ".vault-pass",
    ".vault_pass.txt",
    ".vault_password",
    "kubeconfig",
    "secrets.tfvars",
    "secret.tfvars",
    "application_default_credentials.json",
];

/// Files that are secrets in a directory of this name only.
const SETTINGS_IN: &[(&str, &str)] = &[
    (".aws", "credentials"),
    (".docker", "config.json"),
    (".kube", "config"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".gem", "credentials"),
    (".streamlit", "secrets.toml"),
];

/// Stores of keys, by their endings.
const KEY_STORES: &[&str] = &["p12", "pfx", "jks", "keystore", "bcfks", "kdbx", "ppk", "agekey"];

/// Names that code, test data and public files have too.
const PERHAPS: &[&str] = &[
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    "pip.conf",
    "auth.json",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "credentials.yml",
    "credentials.yaml",
    "secrets",
    ".secrets",
    "secrets.json",
    "secrets.toml",
    "secrets.yml",
    "secrets.yaml",
    "secrets.ini",
    "secrets.properties",
    "secret.json",
    "secret.yml",
    "secret.yaml",
    "local.settings.json",
];

/// What the name of this file says; `None` for an ordinary one. Takes a path of either kind of machine.
pub fn secret_name(path: &str) -> Option<SecretName> {
    let (above, name) = last_name(path);
    let name = folded(name);
    if name.is_empty() {
        return None;
    }
    if is_env_file(&name) || is_settings(&name) {
        return Some(SecretName::Settings);
    }
    let directory = folded(last_name(above).1);
    if SETTINGS_IN.contains(&(&*directory, &*name)) {
        return Some(SecretName::Settings);
    }
    if is_key(&name, &directory) {
        return Some(SecretName::Key);
    }
    is_perhaps(&name).then_some(SecretName::Perhaps)
}

/// Whether a file of this name could be a [`SecretName::Settings`]: cheap, for lists of a hundred thousand names. Most are told by
/// a few letters.
pub fn may_hold_secrets(path: &[u8]) -> bool {
    let start = path.iter().rposition(|byte| matches!(byte, b'/' | b'\\')).map_or(0, |slash| slash + 1);
    let name = path.get(start..).unwrap_or(path);
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return false };
    // By the last letter, since there are a hundred thousand names and few of these.
    let ends: &[&[u8]] = match last.to_ascii_lowercase() {
        b'e' => &[b".tfstate"],
        b'f' => &[b".conf"],
        b'g' => &[b"config"],
        b'l' => &[b"credentials.toml", b"secrets.toml"],
        b'n' => &[b"config.json", b"credentials.json"],
        b'p' => &[b".backup"],
        b's' => &[b".tfvars", b"credentials"],
        _ => &[],
    };
    let is_env = |at: usize| name.get(at + 1..at + 4).is_some_and(|rest| rest.eq_ignore_ascii_case(b"env"));
    let tells = |(at, byte): (usize, &u8)| *byte == b':' || (*byte == b'.' && is_env(at));
    let has_end = |end: &&[u8]| {
        let start = name.len().checked_sub(end.len());
        start.and_then(|start| name.get(start..)).is_some_and(|rest| rest.eq_ignore_ascii_case(end))
    };
    matches!(first, b'.' | b'_')
        || matches!(last, b'.' | b' ')
        || ends.iter().any(has_end)
        || name.iter().enumerate().any(tells)
}

/// The same for a pattern of names: `.env*`, `*.env`, `**/id_rsa`. What only might match one of them is ordinary.
pub fn secret_pattern(pattern: &str) -> Option<SecretName> {
    secret_name(pattern).or_else(|| secret_name(&pattern.replace(['*', '?'], "")))
}

/// Whether this is what a file of a name that says [`SecretName::Perhaps`] begins with, if it holds a secret.
pub fn holds_secret(start: &[u8]) -> bool {
    // Encrypted, or a mere pointer to where the secret is.
    const SEALS: [&str; 6] =
        ["ENC[", "$ANSIBLE_VAULT", "-----BEGIN", "ExternalSecret", "SealedSecret", "SecretProviderClass"];
    let text = String::from_utf8_lossy(start);
    if text.contains("PRIVATE KEY-----") || text.starts_with("PuTTY-User-Key-File") {
        return true;
    }
    if SEALS.iter().any(|seal| text.contains(seal)) {
        return false;
    }
    is_bare_key(text.trim()) || text.split(['\n', ',', '{']).any(assigns_secret)
}

/// A path's last name, and what stands before it.
fn last_name(path: &str) -> (&str, &str) {
    let Some(at) = path.bytes().rposition(|byte| matches!(byte, b'/' | b'\\')) else { return ("", path) };
    (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default())
}

/// As a file system that folds names would take it: small letters, no blanks or dots at the end, no stream. A large repository has
/// a hundred thousand names, and nearly all of them are that already.
fn folded(name: &str) -> Cow<'_, str> {
    let is_stream = name.bytes().any(|byte| byte == b':');
    let name = if is_stream { name.split("::").next().unwrap_or(name) } else { name };
    let name = name.trim_end_matches([' ', '.']);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// `.env`, `.env.local`, `.envrc`, `prod.env`; not `.env.example`, `.env.md`, `env.ts`.
fn is_env_file(name: &str) -> bool {
    if !name.as_bytes().windows(4).any(|part| matches!(part, b".env" | b".dev")) {
        return false;
    }
    let ordinary = |rest: &str| {
        let last = rest.rsplit('.').next().unwrap_or(rest);
        rest.split(['.', '-', '_', '*', '…']).any(|part| EXAMPLE.contains(&part))
            || PROSE.contains(&last)
            || SEALED.contains(&last)
    };
    for start in [".envrc", ".env", ".dev.vars"] {
        if let Some(rest) = name.strip_prefix(start)
            && (rest.is_empty() || rest.starts_with(['.', '-', '_', '~', '*', '…']))
        {
            return !ordinary(rest);
        }
    }
    match name.rsplit_once(".env") {
        Some((stem, "")) => !ordinary(stem),
        Some((stem, rest)) => {
            let stage = rest.strip_prefix('.').is_some_and(|stage| STAGES.contains(&stage));
            stage && !ordinary(stem)
        }
        None => false,
    }
}

fn is_settings(name: &str) -> bool {
    SETTINGS.contains(&name)
        || name.ends_with(".kubeconfig")
        || name.ends_with(".tfstate")
        || name.ends_with(".tfstate.backup")
}

fn is_key(name: &str, directory: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let public = || PROSE.contains(&ending) || SEALED.contains(&ending);
    let is_ssh = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"].iter().any(|start| {
        name.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
    });
    // What lies beside keys and is public.
    let beside = ["config", "known_hosts", "known_hosts.old", "authorized_keys", "allowed_signers"];
    // Android's own for debugging, whose password is in its manual.
    let debug = name == "debug.keystore";
    (is_ssh && !public())
        || (directory == ".ssh" && !public() && !beside.contains(&name))
        || (KEY_STORES.contains(&ending) && !stem.is_empty() && !debug)
        || name == "master.key"
        || (directory == "credentials" && ending == "key")
}

fn is_perhaps(name: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let account = || {
        [
            "client_secret",
            "service-account",
            "service_account",
            "serviceaccount",
            "firebase-adminsdk",
            "gha-creds",
        ]
        .iter()
        .any(|word| stem.contains(word))
    };
    let variables = || name.ends_with(".tfvars.json") && !EXAMPLE.iter().any(|part| stem.contains(part));
    PERHAPS.contains(&name)
        || matches!(ending, "pem" | "key" | "p8" | "tfvars")
        || variables()
        || (ending == "json" && account())
}

/// A file that is one long value: `secret.key`.
fn is_bare_key(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    (32..=512).contains(&text.len()) && text.bytes().all(plain)
}

/// `password: hunter2hunter2`, `"client_secret": "…"`, `//host/:_authToken=…`: a value that is written out, under a name
/// that says that it is secret.
fn assigns_secret(piece: &str) -> bool {
    const WORDS: [&str; 9] =
        ["pass", "pwd", "secret", "token", "apikey", "api_key", "private_key", "_auth", "accountkey"];
    let Some((name, value)) =
        piece.split_once('=').or_else(|| piece.split_once(": ")).or_else(|| piece.split_once(":\""))
    else {
        return false;
    };
    let around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '}' | ']');
    let (name, value) = (name.trim_matches(around).to_ascii_lowercase(), value.trim_matches(around));
    let last = name.rsplit(['.', '/', ':']).next().unwrap_or(&name);
    WORDS.iter().any(|word| last.contains(word)) && is_written_out(value)
}

/// A value, and not a variable, a placeholder or prose.
fn is_written_out(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let made_up =
        ["your", "xxx", "changeme", "change-me", "example", "placeholder", "todo", "dummy", "test", "null"];
    value.len() >= 8
        && !value.contains(char::is_whitespace)
        && !value.starts_with(['$', '{', '<', '*', '%', '(', '#', '!', '&', '/', '.'])
        && !made_up.iter().any(|start| lower.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_of_secrets_is_passed_over_by_its_letters() {
        let in_directories = SETTINGS_IN.iter().map(|(directory, name)| format!("a/{directory}/{name}"));
        let others =
            [".env", "a/.ENV.Local", "prod.env", "web.env.staging", ".envrc", ".dev.vars", "x.kubeconfig"]
                .into_iter()
                .chain(["a.tfstate", "a.tfstate.backup", "KUBECONFIG", "kubeconfig.", ".env::$DATA"])
                .map(str::to_owned);
        let listed = SETTINGS.iter().map(|name| format!("dir/{name}"));
        for path in listed.chain(in_directories).chain(others) {
            assert_eq!(secret_name(&path), Some(SecretName::Settings), "{path}");
            assert!(may_hold_secrets(path.as_bytes()), "{path}");
        }
        for path in ["src/main.rs", "environment.ts", "README", "", "a/b"] {
            assert!(!may_hold_secrets(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn names_of_secret_files_are_recognized() {
        for name in [
            ".env",
            "/a/b/.env",
            "C:\\Users\\x\\.env",
            ".ENV",
            ".Env.LOCAL",
            ".env.production",
            ".env.production.local",
            ".env.test",
            ".env-prod",
            ".env_staging",
            ".env.json",
            ".env.bak",
            ".env~",
            ".env.",
            ".env ",
            ".env::$DATA",
            ".env.keys",
            ".envrc",
            ".envrc.local",
            ".dev.vars",
            ".flaskenv",
            "prod.env",
            "docker/web.env",
            "web.env.production",
            ".netrc",
            "x/.kube/config",
            "prod.kubeconfig",
            "terraform.tfstate",
            "terraform.tfstate.backup",
        ] {
            assert_eq!(secret_name(name), Some(SecretName::Settings), "{name}");
        }
        for name in [
            "id_rsa",
            "keys/id_ed25519",
            "id_rsa_work",
            "id_ed25519.bak",
            "a.p12",
            "A.PFX",
            "release.keystore",
            "x.kdbx",
            "config/master.key",
            "config/credentials/production.key",
            "/root/.ssh/deploy",
        ] {
            assert_eq!(secret_name(name), Some(SecretName::Key), "{name}");
        }
        for name in [
            "terraform.tfvars",
            "prod.auto.tfvars",
            "a.tfvars.json",
            "server.key",
            "cert.pem",
            "AuthKey_1.p8",
            ".npmrc",
            "credentials.json",
            "secrets.yaml",
        ] {
            assert_eq!(secret_name(name), Some(SecretName::Perhaps), "{name}");
        }
    }

    #[test]
    fn ordinary_names_are_not_secret() {
        for name in [
            "",
            "/",
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.dist",
            ".env.defaults",
            ".env.test.example",
            ".env.example.local",
            ".env-example",
            ".env.md",
            ".env.d.ts",
            ".env.vault",
            ".env.enc",
            ".env.j2",
            ".envrc.example",
            ".environment",
            "example.env",
            "docs/env-setup.md",
            "env.ts",
            "env",
            "environment.yml",
            "vite-env.d.ts",
            "next.env.json",
            "src/secrets.rs",
            "secrets/mod.rs",
            "id_rsa.pub",
            "id_rsa_test.go",
            ".ssh/known_hosts",
            ".ssh/config",
            "debug.keystore",
            "keystore",
            ".keystore",
            "keys.py",
            "config.json",
            "package.json",
            "tokenizer.json",
        ] {
            assert_eq!(secret_name(name), None, "{name}");
        }
    }

    #[test]
    fn patterns_that_name_secret_files_are_recognized() {
        for (pattern, named) in [
            (".env*", true),
            ("*.env", true),
            ("**/.env", true),
            ("**/id_rsa*", true),
            ("*", false),
            ("*.rs", false),
            (".e*", false),
            (".env.example*", false),
        ] {
            assert_eq!(secret_pattern(pattern).is_some(), named, "{pattern}");
        }
    }

    #[test]
    fn contents_that_hold_a_secret_are_recognized() {
        let value = "q7".repeat(10);
        let pem = concat!("-----BEGIN EC PRIVATE", " KEY-----\nMHc\n");
        for text in [
            pem.to_owned(),
            format!("subject=/CN=x\n{pem}"),
            format!("//host.example/:_authToken={value}\n"),
            format!("db:\n  password: {value}\n"),
            format!("{{\"installed\":{{\"client_id\":\"a\",\"client_secret\":\"{value}\"}}}}"),
            format!("[default]\npassword = {value}\n"),
            "0123456789abcdef".repeat(2),
        ] {
            assert!(holds_secret(text.as_bytes()), "{text}");
        }
        for text in [
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            "registry=https://host.example/\nsave-exact=true\n",
            "//host.example/:_authToken=${NPM_TOKEN}\n",
            "production:\n  secret_key_base: <%= ENV[\"SECRET_KEY_BASE\"] %>\n",
            "password: {{ .Values.password }}\n",
            "password: ENC[AES256_GCM,data:abc]\n",
            "{\"title\": \"Credentials\", \"password\": \"Your password\"}",
            "kind: ExternalSecret\n  secretKey: database-password\n",
            "",
        ] {
            assert!(!holds_secret(text.as_bytes()), "{text}");
        }
    }
}
