//! What a settings file says of one key: TOML, JSON, or lines of `key = value`.

use super::{json, toml};

/// The texts of a key, `a.b.c`. None where the file cannot be read, or where a value is only known when it is used.
pub(crate) fn values(file: &str, text: &str, key: &str) -> Vec<String> {
    let section = key.split('.').next().unwrap_or_default();
    let found = match file.rsplit('.').next() {
        Some("json") => json::leaves(text, section),
        Some("toml" | "cargo/config") => toml::leaves(text),
        _ => return lines(text, key),
    };
    let is_it = |keys: &[String]| keys.iter().map(String::as_str).eq(key.split('.'));
    let found = found.unwrap_or_default().into_iter().filter(|leaf| is_it(&leaf.keys));
    found.map(|leaf| leaf.text).filter(|text| is_plain(text)).collect()
}

fn lines(text: &str, key: &str) -> Vec<String> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        (name.trim() == key && is_plain(value)).then(|| value.to_owned())
    };
    text.lines().filter_map(value).collect()
}

/// A path as it stands there, with nothing in it that is filled in later.
fn is_plain(value: &str) -> bool {
    !value.is_empty() && !value.contains(['$', '{', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_each_format() {
        let toml = "[build]\ntarget-dir = '/elsewhere' # c\n[x]\ntarget-dir = 'no'\n";
        for file in [".cargo/config.toml", ".cargo/config"] {
            assert_eq!(values(file, toml, "build.target-dir"), ["/elsewhere"]);
        }
        let json = "{ // c\n \"compilerOptions\": { \"outDir\": \"../out\", }, \"outDir\": \"no\" }";
        assert_eq!(values("tsconfig.json", json, "compilerOptions.outDir"), ["../out"]);
        let npmrc = "; logs-dir=no\nlogs-dir = \"/logs\"\ncache=${HOME}/c\n";
        assert_eq!(values(".npmrc", npmrc, "logs-dir"), ["/logs"]);
        assert!(values(".npmrc", npmrc, "cache").is_empty());
        for (file, text) in [("a.toml", "["), ("a.json", "{"), (".npmrc", "\0")] {
            assert!(values(file, text, "logs-dir").is_empty(), "{file}");
        }
    }
}
