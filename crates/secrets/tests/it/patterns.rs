//! Every pattern's examples, through the whole engine.

use crate::support::{Random, filled};
use toolgate_secrets::{Emails, Marks, Rules, scrub, scrub_json};

type Trial = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const TRIALS: &[Trial] = include!(concat!(env!("OUT_DIR"), "/trials.rs"));

fn scrubbed(text: &str) -> String {
    let rules = Rules { emails: Emails::None, ..Rules::default() };
    match scrub(text.as_bytes(), &rules, Marks::Plain) {
        Some(scrubbed) => String::from_utf8_lossy(&scrubbed.text).into_owned(),
        None => text.to_owned(),
    }
}

#[test]
fn there_are_at_least_150_patterns() {
    assert!(TRIALS.len() >= 150, "{}", TRIALS.len());
}

/// What stands in « » goes, everything else stays; plain, and as text in JSON, in colours, in an address.
#[test]
fn examples_of_patterns_are_redacted_and_nothing_else() {
    let mut random = Random::new(1);
    let mut wrong = Vec::new();
    for (id, mark, examples, _) in TRIALS {
        for example in *examples {
            for _ in 0..4 {
                let text = filled(example, &mut random);
                let plain = text.replace(['«', '»'], "");
                let (wanted, secrets) = marked(&text, mark);
                let got = scrubbed(&plain);
                if got != wanted {
                    wrong.push(format!("{id}: {plain}\n   gives {got}\n  wanted {wanted}"));
                    break;
                }
                assert_eq!(scrubbed(&got), got, "{id}: a second time");
                let json = serde_json::to_string(&plain).unwrap();
                let got = scrub_json(&json, &Rules::default(), Marks::Plain).unwrap().text;
                for secret in secrets {
                    assert!(!got.contains(&secret), "{id}: in JSON: {got}");
                    let coloured = plain.replace(&secret, &format!("\x1b[1;31m{}\x1b[0m", split(&secret)));
                    assert!(!scrubbed(&coloured).contains(&split(&secret)), "{id}: in colours: {coloured:?}");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// The text with marks, and the secrets that stood there.
fn marked(text: &str, mark: &str) -> (String, Vec<String>) {
    let (mut out, mut secrets, mut rest) = (String::new(), Vec::new(), text);
    while let Some((head, tail)) = rest.split_once('«') {
        let (secret, tail) = tail.split_once('»').unwrap_or_default();
        out.push_str(&format!("{head}[{mark} REDACTED]"));
        secrets.push(secret.to_owned());
        rest = tail;
    }
    (out + rest, secrets)
}

/// As a terminal shows it where a search has found its middle.
fn split(secret: &str) -> String {
    let (one, other) = secret.split_at(secret.len() / 2);
    format!("{one}\x1b[m\x1b[K{other}")
}

#[test]
fn counterexamples_of_patterns_are_unchanged() {
    let mut random = Random::new(2);
    let mut wrong = Vec::new();
    for (id, _, _, others) in TRIALS {
        for other in *others {
            let text = filled(other, &mut random);
            let got = scrubbed(&text);
            if got != text {
                wrong.push(format!("{id}: {text}\n   gives {got}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
