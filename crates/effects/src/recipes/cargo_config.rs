//! The aliases of `.cargo/config.toml`: `cargo x` runs what they say.

use super::toml;

/// Name and words of every alias, in the file's order; `None` where the file cannot be read.
pub(crate) fn aliases(text: &str) -> Option<Vec<(String, Vec<String>)>> {
    let mut aliases: Vec<(String, Vec<String>)> = Vec::new();
    let mut last = None;
    for leaf in toml::leaves(text)? {
        let [section, name] = leaf.keys.as_slice() else { continue };
        if section != "alias" {
            continue;
        }
        // A text is split at white space, the texts of a list are words.
        match aliases.last_mut().filter(|_| last.as_ref() == Some(&leaf.keys)) {
            Some((_, words)) => words.push(leaf.text),
            None => aliases.push((name.clone(), vec![leaf.text])),
        }
        last = Some(leaf.keys);
    }
    for (_, words) in &mut aliases {
        if let [only] = words.as_slice() {
            *words = only.split_whitespace().map(str::to_owned).collect();
        }
    }
    Some(aliases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_split_into_words() {
        let file = "alias.a = 'build'\n[build]\nx = 'y'\n[alias]\nxtask = \"run --package xtask --\"\nl = [\n  'run', 'a b',\n]\n[target.x]\nrunner = 'r'\n";
        let shown: Vec<String> = aliases(file)
            .unwrap()
            .iter()
            .map(|(name, words)| format!("{name}: {}", words.join("|")))
            .collect();
        assert_eq!(shown, ["a: build", "xtask: run|--package|xtask|--", "l: run|a b"]);
        assert_eq!(aliases("[alias"), None);
        assert_eq!(aliases(""), Some(vec![]));
    }
}
