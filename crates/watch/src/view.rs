//! The page: agents above, calls below, details beside them where somebody asks.

use toolgate_evidence::Record;

use crate::Wish;
use crate::line::{Line, Style, wrapped};
use crate::state::{Agent, Doing, Name, Typing, Watch, about, word};

/// So many agents at most, so that the calls keep the larger part.
const MOST_AGENTS: usize = 8;

const HELP: &[&str] = &[
    "j k arrows    one call down or up      space, page keys   a page",
    "n N           next, previous denial    g G                first, newest (and follow)",
    "enter         details of the call      escape             close; show everything again",
    "/             filter: verdict:deny agent:ripley tool:bash path:src/** policy:destructive word",
    "a             approve what waits       r                  reject it with a note",
    "l             lock the agent out of the file              m   mute the agent",
    "?             this page                q                  quit",
    "",
    "Approving starts `toolgate approve`, which asks in this terminal and proves that you are a person.",
];

/// The lines of the page, for a terminal of this size. The second number is how many calls a page has.
pub fn draw(watch: &Watch, (width, height): (usize, usize)) -> (Vec<Line>, usize) {
    let mut lines = vec![head(watch)];
    let mut agents: Vec<(&Name, &Agent)> = watch.agents.iter().collect();
    agents.sort_by_key(|(_, agent)| (watch.doing(agent), std::cmp::Reverse(agent.heard)));
    let most = MOST_AGENTS.min(height / 3);
    for (name, agent) in agents.iter().take(most) {
        lines.push(agent_line(watch, name, agent));
    }
    if agents.len() > most {
        lines.push(Line::of(Style::Dim, &format!("  and {} agents more", agents.len() - most)));
    }
    lines.push(counts(watch));
    let bottom = 1;
    let room = height.saturating_sub(lines.len() + bottom);
    let below = if watch.shows_help {
        HELP.iter().map(|line| Line::of(Style::Plain, line)).collect()
    } else if watch.shows_details {
        details(watch, width)
    } else {
        Vec::new()
    };
    let below: Vec<Line> = below.into_iter().take(room.saturating_sub(3.min(room))).collect();
    let page = room - below.len().min(room);
    lines.extend(calls(watch, page));
    lines.extend(below);
    lines.truncate(height.saturating_sub(bottom));
    lines.resize(height.saturating_sub(bottom), Line::default());
    lines.push(foot(watch));
    (lines, page)
}

fn head(watch: &Watch) -> Line {
    let waiting = watch.waiting.len();
    let mut line = Line::of(Style::Bold, "toolgate watch");
    if waiting > 0 {
        let calls = if waiting == 1 { "call waits" } else { "calls wait" };
        line = line.with(Style::Ask, &format!("   {waiting} {calls} for you"));
    }
    line
}

fn agent_line(watch: &Watch, whole: &Name, found: &Agent) -> Line {
    let [agent, host, root] = whole;
    let is_muted = watch.muted.contains(whole);
    let doing = watch.doing(found);
    let (style, said) = match doing {
        Doing::Waits => (Style::Ask, "waits for you"),
        Doing::Blocked => (Style::Bad, "blocked"),
        Doing::Works => (Style::Good, "works"),
        Doing::Idle => (Style::Dim, "idle"),
    };
    let (name, host) = if agent.is_empty() { (host, "") } else { (agent, host.as_str()) };
    let place = root.rsplit('/').next().unwrap_or(root);
    let muted = if is_muted { " (muted)" } else { "" };
    let host = if host.is_empty() { String::new() } else { format!("{:<11} ", short(host, 11)) };
    Line::of(Style::Plain, &format!("{:<12} {:<14} {host}", short(name, 12), short(place, 14)))
        .with(style, &format!("{said:<13}"))
        .with(Style::Plain, &format!(" {:>5} calls", found.calls))
        .with(
            if found.denied > 0 { Style::Bad } else { Style::Plain },
            &format!(" {:>4} denied", found.denied),
        )
        .with(Style::Dim, &format!("{muted}  {}", found.last))
}

fn counts(watch: &Watch) -> Line {
    let mut line = Line::of(Style::Bold, "calls");
    for (word, style) in
        [("deny", Style::Bad), ("ask", Style::Ask), ("contain", Style::Good), ("allow", Style::Good)]
    {
        let count = watch.counts.get(word).copied().unwrap_or(0);
        line = line.with(Style::Plain, "  ").with(style, &format!("{count} {word}"));
    }
    if watch.filter.is_empty() && watch.muted.is_empty() {
        return line;
    }
    let shown = watch.shown().count();
    line.with(Style::Plain, &format!("   showing {shown} of the last {}: ", watch.calls.len()))
        .with(Style::Bold, watch.filter.text())
}

/// So many calls around the selected one.
fn calls(watch: &Watch, room: usize) -> Vec<Line> {
    let shown: Vec<&Record> = watch.shown().collect();
    let current = watch.current().map(|record| record.seq);
    let at = current.and_then(|seq| shown.iter().position(|record| record.seq == seq)).unwrap_or(0);
    let is_last = watch.selected.is_none();
    let from = if is_last {
        shown.len().saturating_sub(room)
    } else {
        at.saturating_sub(room / 2).min(shown.len().saturating_sub(room))
    };
    let mut lines: Vec<Line> = shown
        .iter()
        .skip(from)
        .take(room)
        .map(|record| {
            let mut line = call(watch, record, current == Some(record.seq));
            line.is_selected = current == Some(record.seq);
            line
        })
        .collect();
    if shown.is_empty() {
        let why =
            if watch.calls.is_empty() { "no calls yet" } else { "no call is like that; escape shows all" };
        lines.push(Line::of(Style::Dim, why));
    }
    lines.truncate(room);
    lines.resize(room, Line::default());
    lines
}

fn call(watch: &Watch, record: &Record, is_current: bool) -> Line {
    let style = match word(record) {
        "deny" => Style::Bad,
        "ask" => Style::Ask,
        "allow" | "contain" => Style::Good,
        _ => Style::Plain,
    };
    let who = if record.agent.is_empty() { &record.host } else { &record.agent };
    let mut line = Line::of(Style::Plain, if is_current { ">" } else { " " })
        .with(Style::Dim, record.time.get(11..19).unwrap_or(""))
        .with(style, &format!(" {:<7} ", record.decision.as_str()))
        .with(Style::Plain, &format!("{:<12} ", short(who, 12)));
    // Before what an agent wrote, which may be long: a person needs all of the code.
    if let Some(code) = watch.code(record) {
        line = line.with(Style::Ask, &format!("[waits: {code}] "));
    }
    line = line.with(Style::Plain, &about(record));
    if record.redacted > 0 {
        line = line.with(Style::Ask, &format!("  [{} redacted]", record.redacted));
    }
    if let Some(refused) = record.contained.as_ref().and_then(|contained| contained.denied.first()) {
        line = line.with(Style::Bad, &format!("  refused inside: {refused}"));
    }
    line
}

fn details(watch: &Watch, width: usize) -> Vec<Line> {
    let Some(record) = watch.current() else { return Vec::new() };
    let mut lines = vec![Line::of(Style::Bold, &format!("record {}", record.seq)).with(
        Style::Dim,
        &format!("  {}  {}  session {}  {}", record.time, record.host, record.session, record.root),
    )];
    let mut say = |style: Style, text: &str| {
        lines.extend(wrapped(text, width).iter().map(|line| Line::of(style, line)));
    };
    // Lines of what an agent wrote could be taken for ours.
    let own = |text: &str| text.replace('\n', "\n  | ");
    for finding in &record.findings {
        let rule = if finding.rule.is_empty() { String::new() } else { format!(": {}", finding.rule) };
        say(Style::Bad, &own(&format!("{} [{}{rule}]", without_name(&finding.message), finding.policy)));
    }
    for unproved in &record.unproved {
        say(Style::Ask, &own(&format!("not proved: {} ({})", unproved.text, unproved.reason)));
    }
    if let Some(contained) = &record.contained {
        say(Style::Good, &format!("contained, level {}, network {}", contained.level, contained.network));
        for denied in &contained.denied {
            say(Style::Bad, &own(&format!("refused inside: {denied}")));
        }
    }
    if let Some(approval) = &record.approval {
        say(Style::Ask, &format!("approved by {} ({}), code {}", approval.by, approval.how, approval.code));
    }
    if let Some(code) = watch.code(record) {
        say(Style::Ask, &format!("waits for you: a approves, r rejects (code {code})"));
    }
    // What an agent wrote comes last: it may be long, and what does not fit is cut off.
    match watch.drawn.as_ref().filter(|(seq, drawn)| *seq == record.seq && !drawn.is_empty()) {
        Some((_, drawn)) => say(Style::Plain, drawn),
        None => {
            for (name, value) in &record.args {
                say(Style::Plain, &own(&format!("{name}: {value}")));
            }
        }
    }
    lines
}

/// A message without the name of its rule at the end.
fn without_name(message: &str) -> &str {
    match message.rsplit_once(" [") {
        Some((text, name)) if name.ends_with(']') => text,
        _ => message,
    }
}

fn foot(watch: &Watch) -> Line {
    match &watch.typing {
        Some((Typing::Filter, text)) => {
            Line::of(Style::Bold, "filter: ").with(Style::Plain, &format!("{text}_"))
        }
        Some((Typing::Note(wish), text)) => {
            let what = match wish {
                Wish::LockOut { agent, path, .. } => format!("lock {agent} out of {path}, because: "),
                _ => "reject, because: ".to_owned(),
            };
            Line::of(Style::Bold, &what).with(Style::Plain, &format!("{text}_"))
        }
        None if !watch.notice.is_empty() => Line::of(Style::Ask, &watch.notice),
        None => {
            Line::of(Style::Dim, "? help  / filter  n denial  enter details  a approve  r reject  q quit")
        }
    }
}

fn short(text: &str, width: usize) -> String {
    toolgate_model::shorten(text, width)
}

#[cfg(test)]
mod tests {
    use toolgate_evidence::Record;

    use super::*;
    use crate::state::{AGENTS, CALLS};
    use crate::{Filter, Key, Waiting};

    fn record(seq: u64, agent: &str, decision: &str, command: &str) -> Record {
        let finding = serde_json::json!({
            "policy": "outside-scope", "kind": "outside-scope", "decision": decision, "path": "/x",
            "message": "Bash writes `/x`, outside what this session may use [outside-scope]",
        });
        let findings = if decision == "deny" { vec![finding] } else { Vec::new() };
        serde_json::from_value(serde_json::json!({
            "seq": seq, "time": "2026-11-18T05:00:07.000Z", "host": "claude-code", "event": "PreToolUse", "session": agent, "agent": agent,
            "tool": "Bash", "root": "/w/alpha", "args": { "command": command }, "decision": decision, "findings": findings,
            "input": format!("sha256:{seq}"), "prev": "",
        }))
        .unwrap()
    }

    fn watch() -> Watch {
        let mut watch = Watch::default();
        watch.tick(1_000);
        for (seq, decision) in ["allow", "deny", "contain", "allow"].into_iter().enumerate() {
            watch.add(record(seq as u64 + 1, "ripley", decision, &format!("command {}", seq + 1)), 990);
        }
        for seq in 5..9 {
            watch.add(record(seq, "dallas", "deny", "rm -rf /x"), 995);
        }
        watch.add(record(9, "ash", "allow", "ls"), 100);
        watch
    }

    fn page(watch: &Watch) -> Vec<String> {
        let (lines, _) = draw(watch, (80, 24));
        assert_eq!(lines.len(), 24);
        for line in &lines {
            let drawn = line.drawn(80, false);
            assert!(
                drawn
                    .replace("\u{1b}[7m", "")
                    .replace("\u{1b}[1m", "")
                    .replace("\u{1b}[0m", "")
                    .chars()
                    .count()
                    <= 80
            );
        }
        lines.iter().map(Line::text).collect()
    }

    fn type_text(watch: &mut Watch, text: &str) {
        for c in text.chars() {
            assert_eq!(watch.key(Key::Char(c), 10), None);
        }
    }

    #[test]
    fn agents_that_need_somebody_come_first() {
        let mut watch = watch();
        let told = page(&watch);
        assert!(told[1].starts_with("dallas") && told[1].contains("blocked"), "{told:#?}");
        assert!(told[2].starts_with("ripley") && told[2].contains("works"), "{told:#?}");
        assert!(told[3].starts_with("ash") && told[3].contains("idle"), "{told:#?}");
        watch.waits(vec![Waiting {
            code: "k7qm".into(),
            session: "ripley".into(),
            input: "sha256:2".into(),
        }]);
        let told = page(&watch);
        assert!(told[0].contains("1 call waits for you") && told[1].starts_with("ripley"), "{told:#?}");
        assert!(told.iter().any(|line| line.contains("[waits: k7qm] Bash command 2")), "{told:#?}");
    }

    #[test]
    fn keys_go_from_denial_to_denial_and_answer_what_waits() {
        let mut watch = watch();
        watch.waits(vec![Waiting {
            code: "k7qm".into(),
            session: "ripley".into(),
            input: "sha256:2".into(),
        }]);
        assert_eq!(watch.key(Key::Char('a'), 10), None, "the newest call does not wait");
        assert!(page(&watch)[23].contains("does not wait"));
        for wanted in [8, 7, 6, 5, 2, 2] {
            watch.key(Key::Char('N'), 10);
            assert_eq!(watch.current().unwrap().seq, wanted);
        }
        assert_eq!(watch.key(Key::Char('a'), 10), Some(Wish::Approve { code: "k7qm".into() }));
        assert_eq!(watch.key(Key::Char('r'), 10), None);
        type_text(&mut watch, "too wide q");
        assert!(page(&watch)[23].contains("reject, because: too wide q"));
        let wish = Wish::Reject { code: "k7qm".into(), note: "too wide q".into() };
        assert_eq!(watch.key(Key::Enter, 10), Some(wish));
        watch.key(Key::Char('n'), 10);
        assert_eq!(watch.current().unwrap().seq, 5);
        assert_eq!(watch.key(Key::Enter, 10), Some(Wish::Explain { seq: 5 }));
        watch.draw_call(5, "as drawn".into());
        let told = page(&watch).join("\n");
        assert!(
            told.contains("as drawn") && told.contains("outside what this session may use [outside-scope]"),
            "{told}"
        );
        assert!(!told.contains("[outside-scope] [outside-scope]"));
    }

    #[test]
    fn a_filter_says_how_many_it_leaves() {
        let mut watch = watch();
        watch.key(Key::Char('/'), 10);
        type_text(&mut watch, "verdict:deny agent:dallas");
        watch.key(Key::Enter, 10);
        let told = page(&watch);
        assert!(
            told.iter().any(|line| line.contains("5 deny") && line.contains("showing 4 of the last 9")),
            "{told:#?}"
        );
        assert!(!told.iter().any(|line| line.contains("command 2") && line.starts_with(' ')), "{told:#?}");
        watch.key(Key::Escape, 10);
        assert_eq!(watch.shown().count(), 9);
        watch.key(Key::Char('m'), 10);
        assert_eq!(watch.shown().count(), 8, "the calls of the last agent are not shown");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut watch = Watch::showing(Filter::default());
        for seq in 0..10_000 {
            watch.add(record(seq, &format!("a{seq}"), "deny", "x"), seq);
        }
        assert_eq!((watch.calls.len(), watch.agents.len()), (CALLS, AGENTS));
        assert!(watch.agents.keys().all(|[agent, ..]| agent.len() == 5), "those that were heard last");
        assert_eq!(watch.counts.get("deny"), Some(&10_000));
        for size in [(1, 1), (2, 3), (10, 5), (200, 60), (80, 24)] {
            watch.shows_details = true;
            assert_eq!(draw(&watch, size).0.len(), size.1);
        }
    }
}
