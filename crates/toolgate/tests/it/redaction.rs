//! What tools print, with values planted in it that must not reach the model: none of them comes through, and the same
//! output without them comes back as it was.
//!
//! Outputs are made from templates, ways of printing and values that are made up anew, the same for the same seed. Values
//! in base64 (the `data:` of a Kubernetes secret) are not planted: what is encoded is out of scope.

#[path = "../../../secrets/tests/it/support/mod.rs"]
mod made_up;
mod templates;

use std::fmt::Write as _;

use crate::support::{Answer, Machine, Session};
use made_up::{Random, filled};
use serde_json::{Value, json};
use templates::{HARMLESS, TEMPLATES, TOKENS};
use toolgate_secrets::{Marks, Rules, scrub, scrub_json};

/// A text that a tool prints.
struct Output {
    name: String,
    /// With the values, and what they are.
    planted: String,
    values: Vec<String>,
    /// The same with harmless words in their place.
    harmless: String,
}

/// A way in which text is printed.
type Way = (&'static str, fn(&str) -> String);

const WAYS: &[Way] = &[
    ("plain", str::to_owned),
    ("numbered by cat -n", |text| by_line(text, |number, line| format!("{number:6}\t{line}\n"))),
    ("numbered by an editor", |text| by_line(text, |number, line| format!("{number:5}\u{2192}{line}\n"))),
    ("found by grep", |text| by_line(text, |number, line| format!("deploy/notes.txt:{number}:{line}\n"))),
    ("added in a diff", |text| {
        let added = by_line(text, |_, line| format!("+{line}\n"));
        format!("diff --git a/x b/x\nindex 83db48f..bf269f4 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n{added}")
    }),
    ("in a log", |text| {
        by_line(text, |number, line| format!("2026-03-01T10:15:{:02}Z app[7]: {line}\n", number % 60))
    }),
    ("of another system", |text| text.replace('\n', "\r\n")),
    ("quoted", |text| by_line(text, |_, line| format!("> {line}\n"))),
    ("coloured", |text| {
        by_line(text, |number, line| {
            format!("\x1b[35mx\x1b[m\x1b[36m:\x1b[m\x1b[32m{number}\x1b[m\x1b[36m:\x1b[m{line}\n")
        })
    }),
    ("with colours amid its words", |text| by_line(text, |_, line| format!("{}\n", highlighted(line)))),
    ("amid much else", |text| {
        let filler = by_line(
            &"Compiling a crate of no importance v1.0.3 (/src/crates/x)\n".repeat(1_700),
            |number, line| format!("{number} {line}\n"),
        );
        format!("{filler}{text}{filler}")
    }),
];

fn by_line(text: &str, print: impl Fn(usize, &str) -> String) -> String {
    text.lines().enumerate().fold(String::new(), |mut all, (number, line)| {
        all.push_str(&print(number + 1, line));
        all
    })
}

/// As a search shows what it has found within long words.
fn highlighted(line: &str) -> String {
    let word = |word: &str| match word.char_indices().nth(12) {
        Some((middle, _)) => format!("{}\x1b[01;31m\x1b[K{}\x1b[m\x1b[K", &word[..middle], &word[middle..]),
        None => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Every template in every way.
fn outputs() -> Vec<Output> {
    let mut random = Random::new(20_260_301);
    let mut tokens = TOKENS.iter().cycle();
    let mut all = Vec::new();
    for (name, template) in TEMPLATES {
        for (way, print) in WAYS {
            let (mut planted, mut harmless, mut values) = (String::new(), String::new(), Vec::new());
            let mut rest = *template;
            while let Some((head, tail)) = rest.split_once('«') {
                let (slot, tail) = tail.split_once('»').expect("a slot ends");
                let value = match slot {
                    "token" => filled(tokens.next().expect("it goes round"), &mut random),
                    "secret" => {
                        filled("<lower*2><digit*2><upper*2><alnum*6><lower*2><digit*2><alnum*8>", &mut random)
                    }
                    "short" => filled("<lower*6><digit*2>", &mut random),
                    "strong" => filled("<alnum*6>!<digit*1><upper*4>#<lower*3>", &mut random),
                    "email" => filled("<lower*5>.<lower*7>@<lower*8>.io", &mut random),
                    "pem" => private_key(&mut random, "\n"),
                    "escaped pem" => private_key(&mut random, "\\n"),
                    shape => filled(shape, &mut random),
                };
                let instead = HARMLESS
                    .iter()
                    .find(|(known, _)| *known == slot)
                    .map_or("${ELSEWHERE}", |(_, word)| word);
                planted += &format!("{head}{value}");
                harmless += &format!("{head}{instead}");
                values.push(value);
                rest = tail;
            }
            let name = format!("{name}, {way}");
            all.push(Output {
                name,
                planted: print(&(planted + rest)),
                values,
                harmless: print(&(harmless + rest)),
            });
        }
    }
    all
}

fn private_key(random: &mut Random, line_end: &str) -> String {
    const KINDS: [(&str, &str); 7] = [
        ("RSA ", ""),
        ("EC ", ""),
        ("OPENSSH ", ""),
        ("ENCRYPTED ", ""),
        ("DSA ", ""),
        ("PGP ", " BLOCK"),
        ("", ""),
    ];
    let (before, behind) = KINDS[random.below(KINDS.len())];
    let kind = format!("{before}PRIVATE KEY{behind}-----");
    let body: String = (0..6).map(|_| filled("<b64*64>", random) + line_end).collect();
    format!("-----BEGIN {kind}{line_end}{body}-----END {kind}")
}

/// A tool's output as a host tells of it, one kind after the other.
fn told(number: usize, text: &str) -> Value {
    match number % 5 {
        0 => json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false}),
        1 => {
            json!({"type": "text", "file": {"filePath": "/srv/app/x", "content": text, "numLines": 12, "startLine": 1}})
        }
        2 => {
            json!([{"type": "text", "text": text}, {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}])
        }
        3 => json!(text),
        _ => json!({"result": {"pages": [{"rank": 1.5, "lines": ["", text]}, null], "done": true}}),
    }
}

/// Every string of a JSON value, as it reads: without colours, and what is JSON in it once more.
fn strings(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for line in text.lines().filter(|line| line.contains("{\"")) {
                let inner = line.find('{').and_then(|at| serde_json::from_str::<Value>(&line[at..]).ok());
                if let Some(inner) = inner {
                    strings(&inner, all);
                }
            }
            all.push(text.clone());
            all.push(without_colours(text));
        }
        Value::Array(values) => values.iter().for_each(|value| strings(value, all)),
        Value::Object(members) => {
            for (name, value) in members {
                all.push(name.clone());
                strings(value, all);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += part.split_once(['m', 'K']).map_or("", |(_, rest)| rest);
    }
    plain
}

/// What of a value must not be seen: of a key, any of its lines.
fn traces(value: &str) -> Vec<&str> {
    if !value.starts_with("-----BEGIN ") {
        return vec![value];
    }
    value.split('\n').flat_map(|line| line.split("\\n")).filter(|line| line.len() == 64).collect()
}

/// The values that can still be read.
fn survivors<'v>(output: &'v Output, shown: &str) -> Vec<&'v str> {
    let mut readable = vec![shown.to_owned()];
    strings(&serde_json::from_str(shown).expect("still JSON"), &mut readable);
    let seen = |trace: &str| readable.iter().any(|text| text.contains(trace));
    output.values.iter().flat_map(|value| traces(value)).filter(|trace| seen(trace)).collect()
}

#[test]
fn every_planted_secret_is_redacted_and_harmless_output_is_unchanged() {
    let outputs = outputs();
    assert!(outputs.len() >= 500, "{}", outputs.len());
    let rules = Rules::default();
    let mut wrong = String::new();
    for (number, output) in outputs.iter().enumerate() {
        let json = told(number, &output.planted).to_string();
        let Some(scrubbed) = scrub_json(&json, &rules, Marks::Plain) else {
            let _ = writeln!(wrong, "{}: nothing was found of {:?}", output.name, output.values);
            continue;
        };
        let left = survivors(output, &scrubbed.text);
        if !left.is_empty() {
            let _ = writeln!(wrong, "{}: {left:?} can be read", output.name);
        }
        if scrubbed.count != output.values.len() {
            let _ =
                writeln!(wrong, "{}: {} planted, {} found", output.name, output.values.len(), scrubbed.count);
        }
        let text = scrub(output.planted.as_bytes(), &rules, Marks::Plain).map(|scrubbed| scrubbed.count);
        if text != Some(scrubbed.count) {
            let _ = writeln!(wrong, "{}: as text {text:?}, in JSON {}", output.name, scrubbed.count);
        }
        let harmless = told(number, &output.harmless).to_string();
        if let Some(changed) = scrub_json(&harmless, &rules, Marks::Plain) {
            let _ = writeln!(wrong, "{}: harmless, and becomes {}", output.name, brief(&changed.text));
        }
    }
    assert!(wrong.is_empty(), "{} complaints\n{wrong}", wrong.lines().count());
}

/// The surroundings of the first mark.
fn brief(text: &str) -> String {
    let at = text.find(" REDACTED]").unwrap_or_default();
    text.chars().skip(text[..at].chars().count().saturating_sub(80)).take(120).collect()
}

#[test]
fn each_kind_of_secret_gets_its_mark() {
    let mut random = Random::new(8);
    for (shape, mark) in [
        ("jane.doe@corp.io", "EMAIL"),
        ("ghp_<alnum*36>", "GITHUB_TOKEN"),
        ("github_pat_<alnum*22>_<alnum*59>", "GITHUB_TOKEN"),
        ("sk-<alnum*48>", "API_KEY"),
        ("AKIA<upper*16>", "AWS_KEY"),
        ("eyJ<alnum*33>.eyJ<alnum*60>.<url*43>", "JWT"),
        ("xoxb-<digit*12>-<digit*13>-<alnum*24>", "SLACK_TOKEN"),
    ] {
        let text = format!("before {} after", filled(shape, &mut random));
        let scrubbed = scrub(text.as_bytes(), &Rules::default(), Marks::Plain).expect("found");
        assert_eq!(String::from_utf8_lossy(&scrubbed.text), format!("before [{mark} REDACTED] after"));
    }
    let key = private_key(&mut random, "\n");
    let scrubbed = scrub(key.as_bytes(), &Rules::default(), Marks::Plain).expect("found");
    assert_eq!(String::from_utf8_lossy(&scrubbed.text), "[PRIVATE_KEY REDACTED]");
}

// --- Through the built binary ---------------------------------------------------------------------------------

fn after(session: &Session, output: &Value) -> Answer {
    let more = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": output});
    let answer = session.event("PostToolUse", &more);
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    answer
}

#[test]
fn the_hook_redacts_an_output_and_says_how_many_secrets_it_held() {
    let machine = Machine::new();
    // By default the authors in a history stay.
    let settings = machine.user_settings();
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(settings, "[redaction]\nemails = \"unlisted\"\n").unwrap();
    let session = machine.session("one", &machine.dir("project"));
    let outputs = outputs();
    let some: Vec<_> = outputs.iter().step_by(outputs.len() / 40).collect();
    assert!(some.len() >= 40, "{}", some.len());
    for output in some {
        let answer = after(&session, &told(0, &output.planted)).json().expect("an answer");
        let own = &answer["hookSpecificOutput"];
        let shown = own["updatedToolOutput"].to_string();
        assert_eq!(survivors(output, &shown), Vec::<&str>::new(), "{}", output.name);
        let note = own["additionalContext"].as_str().expect("a note");
        let count = output.values.len();
        assert!(note.contains(&format!("{count} sensitive value(s) redacted")), "{}: {note}", output.name);
        assert_eq!(own["updatedToolOutput"]["interrupted"], false, "the shape stays");
        let answer = after(&session, &told(0, &output.harmless));
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", ""), "{}", output.name);
    }
    let record = std::fs::read_to_string(machine.ledger()).unwrap();
    for value in outputs.iter().flat_map(|output| &output.values).filter(|value| value.len() > 16) {
        assert!(traces(value).iter().all(|trace| !record.contains(trace)), "the record holds {value}");
    }
}

#[test]
fn the_same_secret_has_the_same_mark_within_a_session_and_another_in_the_next() {
    let machine = Machine::new();
    let project = machine.dir("project");
    let mut random = Random::new(3);
    let [one, other] = [(); 2].map(|()| filled("ghp_<alnum*36>", &mut random));
    let text = format!("a {one}\nb {other}\nc {one}\n");
    let marks = |id: &str| -> Vec<String> {
        let answer = after(&machine.session(id, &project), &told(0, &text)).json().expect("an answer");
        let shown =
            answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"].as_str().expect("text").to_owned();
        shown.lines().map(|line| line[2..].to_owned()).collect()
    };
    let first = marks("first");
    assert!(first[0].starts_with("[GITHUB_TOKEN REDACTED]#"), "{first:?}");
    assert_eq!(first[0], first[2]);
    assert_ne!(first[0], first[1]);
    assert_eq!(first, marks("first"), "later in the session");
    assert_ne!(first, marks("second"), "another session");
}
