//! Says how the search for secrets does on texts of which it is known what is secret in them: as `toolgate scrub` reads them,
//! and as a hook does, where each is a string in JSON.
//!
//! ```sh
//! cargo run -p toolgate-secrets --example score -- --show examples.jsonl
//! ```
//!
//! Each line is an object: `id`, `text`, `class`, and `secret`, which is null in a text that has to stay as it is. A secret is
//! hidden if no twelve characters of it are left. A single `|` in a text is taken out, so that no file looks like a secret; `||` is one `|`.
//! `--show` lists the ids of what went wrong.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it is a program of the command line")]

use std::collections::BTreeMap;
use std::{env, error::Error, fs};

use serde_json::{Value, json};
use toolgate_secrets::{Emails, Marks, Rules, scrub, scrub_json};

fn main() -> Result<(), Box<dyn Error>> {
    let (options, files): (Vec<String>, Vec<String>) = env::args().skip(1).partition(|word| word == "--show");
    let rules = Rules { emails: Emails::Personal, ..Rules::default() };
    let mut totals: BTreeMap<(&str, String), (usize, usize)> = BTreeMap::new();
    for file in files {
        for line in fs::read_to_string(&file)?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let member = |name: &str| row.get(name).and_then(Value::as_str);
            let text = whole(member("text").ok_or("a line has no `text`")?);
            let secret = member("secret").map(whole);
            let class = member("class").filter(|_| secret.is_some()).unwrap_or("to stay").to_owned();
            for (way, shown) in [("text", as_text(&text, &rules)), ("JSON", as_json(&text, &rules)?)] {
                let right = match &secret {
                    None => shown == text,
                    Some(secret) => is_hidden(secret, &shown),
                };
                let total = totals.entry((way, class.clone())).or_default();
                total.0 += usize::from(right);
                total.1 += 1;
                if !right && !options.is_empty() {
                    println!("{way} {class:8} {}: {shown:?}", member("id").unwrap_or_default());
                }
            }
        }
    }
    for ((way, class), (right, all)) in totals {
        println!("{way:5} {class:10} {right:5} of {all}");
    }
    Ok(())
}

fn as_text(text: &str, rules: &Rules) -> String {
    let scrubbed = scrub(text.as_bytes(), rules, Marks::Plain);
    scrubbed.map_or_else(|| text.to_owned(), |done| String::from_utf8_lossy(&done.text).into_owned())
}

/// As the output of a command reaches a hook.
fn as_json(text: &str, rules: &Rules) -> Result<String, Box<dyn Error>> {
    let output = json!({ "stdout": text, "stderr": "", "interrupted": false }).to_string();
    let shown = scrub_json(&output, rules, Marks::Plain).map_or(output, |done| done.text);
    let shown: Value = serde_json::from_str(&shown)?;
    Ok(shown.get("stdout").and_then(Value::as_str).ok_or("the output lost a member")?.to_owned())
}

fn is_hidden(secret: &str, shown: &str) -> bool {
    let characters: Vec<char> = secret.chars().collect();
    let pieces = characters.windows(characters.len().clamp(1, 12));
    !pieces.map(|piece| piece.iter().collect::<String>()).any(|piece| shown.contains(&piece))
}

/// The text without its cuts.
fn whole(cut: &str) -> String {
    cut.split("||").map(|part| part.replace('|', "")).collect::<Vec<_>>().join("|")
}
