//! `toolgate prompt audit`: what the gate enforces can go, what shapes the model's behaviour stays word for word.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::support::Machine;
use proptest::prelude::*;
use serde_json::Value;
use toolgate_policies::POLICIES;
use toolgate_prompt::{Audit, Finding, Inventory, Outcome, RuleKind, audit};

/// What the inventory calls a policy and is a part of the settings.
const SETTINGS: &[&str] = &["redaction"];

static INVENTORY: LazyLock<Inventory> = LazyLock::new(|| Inventory::shipped().unwrap());

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("examples").join(name)
}

fn look(text: &str) -> Audit {
    audit(text, &INVENTORY)
}

fn shortened(text: &str) -> String {
    look(text).shortened
}

/// The one finding of a text.
fn only(text: &str) -> Finding {
    let mut findings = look(text).findings;
    assert_eq!(findings.len(), 1, "{text}: {findings:#?}");
    findings.remove(0)
}

fn stays(finding: &Finding) -> bool {
    matches!(finding.outcome, Outcome::Stays(_))
}

#[test]
fn every_rule_names_a_policy_that_exists() {
    for entry in INVENTORY.entries() {
        let Some(policy) = entry.policy.as_deref() else {
            assert_eq!(entry.kind, RuleKind::Guidance, "{}", entry.id);
            continue;
        };
        let known = POLICIES.iter().any(|known| known.id == policy);
        assert!(known || SETTINGS.contains(&policy), "{}: `{policy}`", entry.id);
    }
}

// The rules of the list that the inventory comes from, in the words that it quotes.

#[test]
fn enforced_rules_are_removed() {
    for (id, policy, text) in [
        (
            "P1",
            "coordinator-write",
            "You may NOT generate domain artifacts (code, designs, analyses) — spawn an agent",
        ),
        ("P3", "destructive", "Never read or store `git config user.email`"),
        ("P4", "redaction", "Secrets must be scrubbed from tool output."),
        ("P5", "ownership", "Agents may only write to files listed in their 'Who May Write' column"),
        ("P7", "destructive", "Never run `rm -rf` or `git reset --hard`."),
        ("P9", "ask-user-limit", "If ask_user returns < 10 characters, treat as ambiguous"),
        ("P10", "own-charter", "An agent may not self-modify its charter.md"),
        ("P13", "destructive", "Never use `git push --force`."),
        ("P15", "create-only-log", "Orchestration log and session log: never edited after write."),
        (
            "P16",
            "registry-names",
            "In `casting/registry.json` do NOT delete the entry — the name remains reserved",
        ),
        ("P17", "init-phase", "**DO NOT create any files until the user confirms the roster.**"),
    ] {
        let finding = only(text);
        assert_eq!((finding.kind, finding.outcome), (RuleKind::Enforced, Outcome::Goes), "{text}");
        assert!(finding.rules.contains(&id.to_owned()), "{text}: {:?}", finding.rules);
        assert_eq!(finding.policies, [policy], "{text}");
        assert_eq!(shortened(text), "", "{text}");
    }
}

#[test]
fn hybrid_rules_leave_a_reminder_that_is_not_longer() {
    for (id, policy, text) in [
        ("H1", "coordinator-write", "Never simulate or role-play an agent."),
        ("P14", "coordinator-write", "Every agent interaction MUST use the task tool"),
        ("H2", "read-scope", "Each agent may read ONLY its own files"),
        (
            "P6",
            "read-scope",
            "Each agent may read ONLY: its own files + `.squad/decisions.md` + the specific input artifacts explicitly listed by Squad",
        ),
        ("H3", "decision-inbox", "Agents do NOT write directly to decisions.md"),
        (
            "P11",
            "decision-inbox",
            "Agents do NOT write directly to decisions.md; every decision must go to the inbox instead.",
        ),
        (
            "H4",
            "reviewer-lockout",
            "The original author is locked out. They may NOT produce the next version",
        ),
        ("H4", "reviewer-lockout", "You may NOT bypass reviewer approval on rejected work"),
        ("H5", "mcp-secret", "MCP configs must use ${VAR} syntax for secrets — never hardcode API keys"),
        ("P8", "append-only", "Append-only files must never be retroactively edited to change meaning"),
        ("P18", "private-content", "Email addresses are PII and must not be written to committed files."),
    ] {
        let found = look(text);
        let hybrid: Vec<_> =
            found.findings.iter().filter(|finding| finding.kind == RuleKind::Hybrid).collect();
        assert!(!hybrid.is_empty(), "{text}: {:#?}", found.findings);
        assert!(hybrid[0].rules.contains(&id.to_owned()), "{text}: {:?}", hybrid[0].rules);
        assert_eq!(hybrid[0].policies, [policy], "{text}");
        assert!(
            !found.shortened.is_empty() && found.shortened.len() <= text.len(),
            "{text}: {}",
            found.shortened
        );
    }
}

const GUIDANCE: &[&str] = &[
    "\"What can I launch RIGHT NOW?\" — maximize parallel work.",
    "Keep responses human; never expose tool internals or SQL.",
    "Select the response mode: Direct, Lightweight, Standard or Full.",
    "Use 1-2 agents per question, not all of them.",
    "When in doubt, pick someone and go.",
    "The preferred model comes from the charter, then from the task.",
    "Acknowledge immediately.",
    "A directive begins with Always, Never or From now on.",
    "Do NOT re-read team.md on subsequent messages.",
    "No role-play in casting. No catchphrases.",
    "Never fall back UP in tier.",
    "Ralph never stops between two items of the backlog.",
    "Skill confidence only goes up, never down.",
    "Use the emoji of the role in task descriptions.",
    "Never downgrade mid-task.",
    "Resolve the team root before you spawn anybody.",
    "On failure retry silently.",
];

#[test]
fn guidance_is_kept_word_for_word() {
    for text in GUIDANCE {
        let found = look(text);
        assert!(!found.findings.is_empty(), "{text} is not known");
        assert!(
            found.findings.iter().all(|finding| finding.kind == RuleKind::Guidance && stays(finding)),
            "{text}"
        );
        assert_eq!(found.shortened, *text);
    }
}

#[test]
fn text_that_only_resembles_a_rule_is_kept() {
    for text in [
        // Other rules, with the same words.
        "Prefer `git rebase` over merge commits on your own branch.",
        "Do not run `git rebase` on a shared branch; merge main into it instead.",
        "Never force-push unless the user has asked for it.",
        "Never write production code without tests.",
        "A different agent must review the revision of rejected work.",
        "The original author may not take a rejection personally.",
        "Do not forget to write to decisions.md.",
        "Names are never reused across universes.",
        "Never ask more than one question at a time.",
        "No secrets in commit messages.",
        "Never role-play.",
        "MCP tools must be checked first.",
        "Never mention an email address to the user.",
        "Do not create any files in the root directory.",
        // The opposite.
        "Agents may write directly to decisions.md.",
        "You may write to decisions.md directly, never to the inbox.",
        "Agents may read not only their own files.",
        "Agents do not have to use the inbox; they may edit decisions.md.",
        "You need not avoid `git push --force`.",
        "Secrets must not be redacted from tool output.",
        "Always write an email to the team; never store it in the log file.",
        "Never run `git clean`, only `git reset --hard`.",
        "The coordinator may read any agent's history, and no other agent may.",
        "## What NOT to do\n\n- Redact tool output.",
        // The same words, another rule.
        "The reviewer may not be the author of the revision.",
        "The author must not be the reviewer of the next version.",
        "After a lockout the author must not work on any other artifact.",
        "When a reviewer rejects work, the coordinator must clear the lockout of the author.",
        "Never edit a log; create a new log entry after each session.",
        "The decision log is append-only, so record every decision in it.",
        "No more than 5 agents may ask a question per session.",
        "Ask the user a question in every session, no more than 10 characters.",
        "Do not create any files until the user confirms.",
        "Do not write a file before the team has approved the proposal.",
        "Never use `git push --force`; run `git push` on a branch.",
        "No force push to a remote branch, only to your own branch.",
        "The log is append-only; edit `decisions.md`.",
        "Never delete a file or an existing entry.",
        "The original author is locked out; the author may fix it in the next session.",
        "Never write an MCP config file; use an API key.",
        "Do not put your own email address in the git config.",
        "If ask_user returns fewer than 10 characters, treat it as ambiguous and ask the user a question.",
        // Not said but shown.
        "```\nNever use `git push --force`.\n```",
        "~~~text\nNever use `git push --force`.\n~~~",
        "> Never use `git push --force`.",
        "<!-- Never use `git push --force`. -->",
        "Text:\n\n    Never use `git push --force`.\n",
        "| rule | why |\n|---|---|\n| Never use `git push --force`. | history |",
        "He said \"Never use git push --force. It hurts.\" and left.",
    ] {
        let found = look(text);
        assert_eq!(found.shortened, text, "{:#?}", found.findings);
        assert!(found.findings.iter().all(stays), "{text}: {:#?}", found.findings);
    }
}

#[test]
fn a_rule_with_further_advice_is_kept_and_the_advice_is_named() {
    let finding = only("Never use `git push --force`, and write kind commit messages.");
    assert_eq!(finding.kind, RuleKind::Hybrid);
    assert_eq!(finding.outcome, Outcome::Stays("says more: write, kind, commit, messages".to_owned()));
}

#[test]
fn a_rule_that_other_text_refers_to_is_kept() {
    for text in [
        "Never use `git push --force`. It hurts those who have pulled.",
        "Never use `git push --force`.\n\nThis is about trust.",
        "Never use `git push --force`.\n\n- Be kind.\n- Be quick.",
        "Never run `rm -rf`:\n\n```\nrm -rf /\n```",
        "Never use `git push --force`:",
        "- Never use `git push --force`.\n  - Ask a person who may.",
        "- Never use `git push --force`.\n\n  Ask a person who may.",
        "Colleagues rest on Sundays. They may NOT produce the next version.",
        "Because we are tired of it, hold to this:\n- Never use `git push --force`.",
    ] {
        assert_eq!(shortened(text), text);
    }
}

#[test]
fn removed_rules_leave_well_formed_markdown() {
    for (text, short) in [
        ("Be kind. Never use `git push --force`. Be quick.", "Be kind. Be quick."),
        ("Be kind.\nNever use `git push --force`.", "Be kind."),
        ("Never use `git push --force`. No exceptions. Be kind.", "Be kind."),
        ("- Be kind.\n- Never use `git push --force`.\n- Be quick.\n", "- Be kind.\n- Be quick.\n"),
        ("1. Be kind.\n2. Never use `git push --force`.\n3. Be quick.\n", "1. Be kind.\n3. Be quick.\n"),
        ("Be kind:\n\n- Never use `git push --force`.\n- Be quick.\n", "Be kind:\n\n- Be quick.\n"),
        ("A\n\nNever use `git push --force`.\n\nB\n", "A\n\nB\n"),
        ("A\n\nNever use `git push --force`.\n", "A\n"),
        ("A\r\n\r\nNever use `git push --force`.\r\n\r\nB\r\n", "A\r\n\r\nB\r\n"),
        (
            "# A\n\nBe kind.\n\n## Rules\n\n- Never use `git push --force`.\n\n## B\n\nC\n",
            "# A\n\nBe kind.\n\n## B\n\nC\n",
        ),
        ("Be kind.\n\n**Rules:**\n- Never use `git push --force`.\n\nBe quick.\n", "Be kind.\n\nBe quick.\n"),
        ("## Be kind\n\n- Never use `git push --force`.\n", "## Be kind\n"),
        ("You may not:\n- be rude\n- use `git push --force`\n", "You may not:\n- be rude\n"),
        ("Text\n- Never use `git push --force`.\n---\n", "Text\n\n---\n"),
        ("Steps\n1. Never use `git push --force`.\n2. Be kind.\n", "Steps\n\n2. Be kind.\n"),
    ] {
        assert_eq!(shortened(text), short, "{text}");
    }
}

#[test]
fn a_rule_that_is_said_three_times_leaves_one_reminder() {
    let text = "- Agents do NOT write directly to decisions.md; every decision must go to the inbox instead.\n\
                - Be kind.\n\
                - Agents must never edit decisions.md.\n\n\
                ## What NOT to do\n\n- Write to decisions.md directly.\n- Shout.\n";
    let keep = "Agents put decisions into `decisions/inbox/`, never into `decisions.md`.";
    assert_eq!(shortened(text), format!("- {keep}\n- Be kind.\n\n## What NOT to do\n\n- Shout.\n"));
    // Under a heading that forbids, the short form would say the opposite.
    let text = "## What NOT to do\n\n- Write directly to decisions.md, append to decisions.md or modify decisions.md itself.\n";
    assert_eq!(shortened(text), text);
}

// The example.

#[test]
fn the_example_saves_2560_bytes_and_loses_no_guidance() {
    let text = fs::read_to_string(example("squad-coordinator.md")).unwrap();
    let machine = Machine::new();
    let target = machine.path("short.md");
    let answer = machine.toolgate().args(["prompt", "audit", "--json", "--write"]).arg(&target);
    let answer = answer.arg(example("squad-coordinator.md")).run("");
    assert_eq!(answer.code(), Some(0), "{}", answer.stderr);
    let report: Value = serde_json::from_str(&answer.stdout).unwrap();
    let short = fs::read_to_string(&target).unwrap();
    assert_eq!(report["shortened"], short.as_str());
    assert_eq!(report["totals"]["bytes"], text.len());
    assert_eq!(report["totals"]["saved"], text.len() - short.len());
    assert!(text.len() - short.len() >= 2_560, "saves {} bytes", text.len() - short.len());

    let shipped = example("squad-coordinator.short.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&shipped, &short).unwrap();
    }
    let current = fs::read_to_string(&shipped).is_ok_and(|shipped| shipped == short);
    assert!(current, "stale: {}; run UPDATE=1 cargo test -p toolgate --test it prompt", shipped.display());

    let mut kinds = std::collections::BTreeSet::new();
    for finding in report["findings"].as_array().unwrap() {
        let words = finding["text"].as_str().unwrap();
        for rule in finding["rules"].as_array().unwrap() {
            kinds.insert(rule.as_str().unwrap().to_owned());
        }
        match finding["kind"].as_str().unwrap() {
            "guidance" => assert!(short.contains(words), "lost: {words}"),
            "enforced" if finding["rules"] != serde_json::json!([]) => {
                assert_ne!(finding["policies"], serde_json::json!([]), "{words}");
            }
            _ => {}
        }
    }
    // All kinds are there, so that the example shows all.
    for entry in INVENTORY.entries() {
        assert!(kinds.contains(&entry.id), "the example does not show {}", entry.id);
    }
    // The table stays, the rules about it go.
    assert!(short.contains("who may write | who may read"));
    assert!(!short.contains("Agents may only write to files listed"));
    assert!(short.contains("Never edit decisions.md directly."), "what is code stays");
}

/// The page shows what the tool says.
#[test]
fn the_excerpt_in_the_manual_is_what_the_audit_prints() {
    let repository = example("").parent().unwrap().to_path_buf();
    let page = fs::read_to_string(repository.join("docs/prompt-audit.md")).unwrap();
    let excerpt = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let said = Machine::new()
        .toolgate()
        .cwd(repository)
        .args(["prompt", "audit", "examples/squad-coordinator.md"])
        .run("");
    assert_eq!(said.code(), Some(0), "{said:?}");
    let lines: Vec<&str> = excerpt.lines().filter(|line| *line != "…").collect();
    assert!(lines.len() >= 3, "{excerpt}");
    for line in lines {
        assert!(said.stdout.lines().any(|there| there == line), "the tool does not say {line:?}");
    }
}

#[test]
fn the_audit_prints_a_report_or_a_diff_and_refuses_to_overwrite_its_input() {
    let machine = Machine::new();
    let file = machine.file("prompt.md", "Be kind.\n\nNever use `git push --force`.\n");
    let audit = || machine.toolgate().args(["prompt", "audit"]);
    let answer = audit().arg(&file).run("");
    assert_eq!(answer.code(), Some(0));
    for wanted in
        ["    3  enforced  destructive (P13)  29 bytes", "Never use `git push --force`.", "  saved  "]
    {
        assert!(answer.stdout.contains(wanted), "{wanted}: {}", answer.stdout);
    }
    let answer = audit().arg("--diff").arg(&file).run("");
    assert!(answer.stdout.contains("\n-Never use `git push --force`."), "{}", answer.stdout);
    assert_eq!(audit().arg("--write").arg(&file).arg(&file).run("").code(), Some(1));
    assert_eq!(fs::read_to_string(&file).unwrap(), "Be kind.\n\nNever use `git push --force`.\n");
    let answer = audit().arg(machine.path("none.md")).run("");
    assert_eq!(answer.code(), Some(1));
    assert!(answer.stderr.contains("none.md"), "{}", answer.stderr);
}

// What holds for every text.

const RULES: &[&str] = &[
    "Never use `git push --force`.",
    "The original author is locked out.",
    "They may NOT produce the next version.",
    "A different agent must own the revision of rejected work.",
    "Agents do NOT write directly to `decisions.md`; every decision must go to the inbox instead.",
    "**Email addresses are PII and must not be written to committed files.**",
    "No exceptions.",
    "Never role-play an agent.",
    "An agent must never read another agent's charter.",
];
const MARKS: &[&str] = &[
    "\n",
    "\n\n",
    "\n- ",
    "\n  - ",
    "\n1. ",
    "\n2. ",
    "\n\n## Rules\n\n",
    "\n## What NOT to do\n",
    "\n```\n",
    "\n> ",
    "\n---\n",
    "\n===\n",
    "\n| a | b |\n|---|---|\n",
    "\n\n    ",
    " ",
    "**",
    "_",
    "`",
    "\"",
    "(",
    ")",
    "\nRules:\n",
    ":",
    "\r\n",
    "\t",
    "é",
    "<!--",
    "-->",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0..RULES.len()).prop_map(|number| RULES[number].to_owned()),
        2 => (0_u32..1000).prop_map(|number| format!("Word zq{number} counts.")),
        1 => (0_u32..1000).prop_map(|number| format!("They see zq{number}.")),
        4 => (0..MARKS.len()).prop_map(|number| MARKS[number].to_owned()),
        1 => Just(" ".to_owned()),
    ]
}

fn solid(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Holds for every text: nothing but rules is lost, nothing but short forms is added, and once is enough.
fn holds(text: &str) {
    let found = look(text);
    let own = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| word.starts_with("zq")).map(str::to_owned).collect()
    };
    assert_eq!(own(&found.shortened), own(text), "{text:?}");
    let mut rest = found.shortened.clone();
    for finding in &found.findings {
        if let Outcome::Shortened(keep) = &finding.outcome {
            rest = rest.replacen(keep.as_str(), "", 1);
        }
    }
    let whole = solid(text);
    let mut left = whole.chars();
    for c in solid(&rest).chars() {
        assert!(left.any(|there| there == c), "{text:?} became {:?}", found.shortened);
    }
    let again = look(&found.shortened);
    assert_eq!(again.shortened, found.shortened, "{text:?}");
    assert!(again.findings.iter().all(stays), "{text:?}: {:#?}", again.findings);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn only_rules_are_removed_from_any_mix_of_pieces(pieces in prop::collection::vec(piece(), 0..40)) {
        holds(&pieces.concat());
    }

    #[test]
    fn only_rules_are_removed_from_any_text(text in "\\PC{0,200}") {
        holds(&text);
    }
}

/// Long texts of every shape that might take more than one look.
#[test]
fn long_texts_of_every_shape_are_audited_in_time() {
    const SIZE: usize = 200_000;
    let began = Instant::now();
    let shapes = RULES.iter().chain(MARKS).chain(GUIDANCE).map(|piece| (*piece).to_owned());
    let more =
        ["a.b", "a. (", "# a\n", "- a:\n  - b\n", "Never. They. ", "a. *", "- Never role-play an agent.\n"];
    for shape in shapes.chain(more.map(str::to_owned)) {
        let text = shape.repeat(SIZE / shape.len());
        let one = Instant::now();
        look(&text);
        assert!(one.elapsed() < Duration::from_secs(20), "{shape:?} took {:?}", one.elapsed());
    }
    assert!(began.elapsed() < Duration::from_mins(5));
}
