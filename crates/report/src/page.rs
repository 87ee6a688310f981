//! The page that a report is: what stands first, and which rows each number leads to.

use toolgate_model::{Decision, visible};

use crate::document::{Bar, Cell, Column, Document, Holds, Number, Section, Table, Tone, grouped, minute};
use crate::facts::{Entry, Facts, Kept, Standing};

/// So many rules are listed with how agents went on after them.
const CORRECTED: usize = 40;

/// The page of these facts.
pub fn page(facts: &Facts) -> Document {
    Document {
        title: "What the agents did".to_owned(),
        about: about(facts),
        verdict: verdict(facts),
        proof: proof(facts),
        numbers: numbers(facts),
        times: facts
            .times
            .iter()
            .map(|(from, (calls, denied))| Bar {
                from: visible(from).replace('T', " "),
                calls: *calls,
                denied: *denied,
            })
            .collect(),
        sections: sections(facts),
    }
}

fn about(facts: &Facts) -> String {
    let mut about = if facts.records == 0 {
        "No records".to_owned()
    } else {
        format!("{} to {} UTC", minute(&facts.first), minute(&facts.last))
    };
    for (name, value) in &facts.chosen {
        about.push_str(&format!(", {name} {value}"));
    }
    about.push_str(&format!(". Made {} UTC.", minute(&facts.made)));
    about
}

/// `1 call`, `2 calls`.
fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" })
}

fn verdict(facts: &Facts) -> (Tone, String) {
    if facts.calls == 0 {
        return (Tone::Unsure, "The log holds no calls of agents for this choice.".to_owned());
    }
    let places: std::collections::BTreeSet<_> = facts.agents.iter().map(|agent| &agent.root).collect();
    let mut text = format!(
        "{} made {} in {}.",
        counted(facts.agents.len() as u64, "agent"),
        counted(facts.calls, "call"),
        counted(places.len() as u64, "place")
    );
    text.push_str(&match facts.denied.total {
        0 => " None was denied.".to_owned(),
        1 => " 1 was denied before it ran.".to_owned(),
        denied => format!(" {} denied before they ran.", were(denied)),
    });
    if facts.asked.total > 0 {
        text.push_str(&format!(" A person was asked about {}.", grouped(facts.asked.total)));
    }
    if facts.approved.total > 0 {
        text.push_str(&format!(" {} approved by a person.", were(facts.approved.total)));
    }
    if facts.refused.total > 0 {
        text.push_str(&format!(
            " The sandbox refused something in {}.",
            counted(facts.refused.total, "call")
        ));
    }
    let mut tone = Tone::Good;
    if facts.observed.total > 0 {
        tone = Tone::Bad;
        let ran = counted(facts.observed.total, "call");
        text.push_str(&format!(
            " {ran} ran although a rule was against it, because the settings only observe."
        ));
    }
    if facts.approved.total + facts.changes.total > 0 && tone == Tone::Good {
        tone = Tone::Unsure;
        text.push_str(" Look at what persons approved and changed.");
    }
    (tone, text)
}

fn were(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "was" } else { "were" })
}

fn proof(facts: &Facts) -> (Tone, String) {
    let part =
        |wanted: &str| facts.proof.parts.iter().find(|(name, _)| *name == wanted).map(|(_, text)| text);
    let (tone, first) = match facts.proof.standing {
        Standing::Good => (Tone::Good, "The log verifies"),
        Standing::Bad => (Tone::Bad, "The log does not verify: do not rely on this page"),
        Standing::CannotTell => (Tone::Unsure, "Whether the log is whole cannot be told"),
    };
    let mut text = first.to_owned();
    for name in ["sealed", "apart", "witnessed", "complete"] {
        if let Some(found) = part(name) {
            text.push_str(&format!("; {name}: {found}"));
        }
    }
    text.push('.');
    (tone, text)
}

fn numbers(facts: &Facts) -> Vec<Number> {
    let bad_if = |count: u64, tone: Tone| if count > 0 { tone } else { Tone::Plain };
    let number = |count, what, tone, rows| Number { count, what, tone: bad_if(count, tone), rows };
    let mut numbers = vec![
        number(facts.calls, "calls", Tone::Plain, "agents"),
        number(facts.denied.total, "denied", Tone::Bad, "denied"),
        number(facts.asked.total, "asked", Tone::Unsure, "asked"),
        number(facts.approved.total, "approved", Tone::Unsure, "approved"),
        number(facts.decided(Decision::Contain), "contained", Tone::Good, "contained"),
        number(facts.refused.total, "refused in the sandbox", Tone::Unsure, "refused"),
        number(facts.redacted, "texts redacted", Tone::Good, "redacted"),
        number(facts.changes.total, "changes", Tone::Unsure, "changes"),
    ];
    if facts.observed.total > 0 {
        numbers.push(number(facts.observed.total, "only observed", Tone::Bad, "observed"));
    }
    numbers
}

fn text(name: &'static str) -> Column {
    Column { name, holds: Holds::Text }
}

fn time(name: &'static str) -> Column {
    Column { name, holds: Holds::Time }
}

fn number(name: &'static str) -> Column {
    Column { name, holds: Holds::Number }
}

fn code(name: &'static str) -> Column {
    Column { name, holds: Holds::Code }
}

fn sections(facts: &Facts) -> Vec<Section> {
    let mut sections = vec![agents(facts)];
    let by = text("policy and rule");
    let listed = [
        ("denied", "Denied", &facts.denied, "why", by, "toolgate ledger tail --denied -n 100000"),
        ("observed", "Ran because the settings only observe", &facts.observed, "why", by, ""),
        ("asked", "A person was asked", &facts.asked, "why", by, ""),
        ("approved", "Approved by a person", &facts.approved, "code", text("by whom, and how"), ""),
        ("contained", "Ran in the sandbox", &facts.contained, "not proved", text(""), ""),
        ("refused", "Refused by the sandbox", &facts.refused, "what", text("level"), ""),
        ("redacted", "Outputs that secrets were removed from", &facts.cleaned, "how many", text(""), ""),
        (
            "changes",
            "Changes of settings, trust, registration and log",
            &facts.changes,
            "what came of it",
            text("by whom, and how"),
            "",
        ),
    ];
    for (id, title, kept, why, by, all) in listed {
        if kept.total > 0 {
            sections.push(rows(id, title, kept, why, by, all));
        }
    }
    sections.push(rules(facts));
    sections.push(corrected(facts));
    sections.push(Section {
        id: "proof",
        title: "Whether the log can be relied on",
        text: vec![
            "`toolgate ledger verify` checks it again; docs/record.md says what each part proves.".to_owned(),
        ],
        table: Some(Table {
            head: vec![text("part"), text("found")],
            rows: facts
                .proof
                .parts
                .iter()
                .map(|(name, found)| vec![Cell::new(*name), Cell::new(found.clone())])
                .collect(),
            rest: None,
        }),
    });
    sections
}

fn agents(facts: &Facts) -> Section {
    let head = vec![
        text("agent"),
        text("host"),
        code("place"),
        number("sessions"),
        number("calls"),
        number("denied"),
        number("asked"),
        number("contained"),
        number("approved"),
        number("redacted"),
        time("last call"),
    ];
    let rows = facts
        .agents
        .iter()
        .map(|agent| {
            let name = if agent.agent.is_empty() { "(no name)" } else { &agent.agent };
            vec![
                Cell::new(name),
                Cell::new(agent.host.clone()),
                Cell::new(agent.root.clone()),
                Cell::new(grouped(agent.sessions)),
                Cell::new(grouped(agent.calls)),
                Cell::count(agent.denied, "denied"),
                Cell::count(agent.asked, "asked"),
                Cell::count(agent.contained, "contained"),
                Cell::count(agent.approved, "approved"),
                Cell::count(agent.redacted, "redacted"),
                Cell::new(minute(&agent.last)),
            ]
        })
        .collect();
    Section {
        id: "agents",
        title: "Agents and places",
        text: vec![
            "`toolgate ledger tail --agent NAME --root DIR -n 100000` lists the calls of one.".to_owned(),
        ],
        table: Some(Table { head, rows, rest: None }),
    }
}

fn rows(
    id: &'static str,
    title: &'static str,
    kept: &Kept,
    why: &'static str,
    by: Column,
    all: &str,
) -> Section {
    let has_by = !by.name.is_empty();
    let mut head = vec![number("record"), time("time"), text("agent"), text("tool"), code("what"), text(why)];
    if has_by {
        head.push(by);
    }
    let row = |entry: &Entry| {
        let mut cells = vec![
            Cell::new(entry.seq.to_string()),
            Cell::new(minute(&entry.time)),
            Cell::new(entry.who.clone()),
            Cell::new(entry.tool.clone()),
            Cell::new(entry.what.clone()),
            Cell::new(entry.why.clone()),
        ];
        if has_by {
            cells.push(Cell::new(entry.by.clone()));
        }
        cells
    };
    let left_out = kept.total.saturating_sub(kept.rows.len() as u64);
    let rest = (left_out > 0).then(|| {
        let command =
            if all.is_empty() { "toolgate report --format json, or a shorter range, has more" } else { all };
        let command =
            if all.is_empty() { command.to_owned() } else { format!("`{command}` lists all of them") };
        format!("{} earlier ones are left out. {command}.", grouped(left_out))
    });
    let rows = kept.rows.iter().map(row).collect();
    Section { id, title, text: Vec::new(), table: Some(Table { head, rows, rest }) }
}

fn rules(facts: &Facts) -> Section {
    let head =
        vec![text("policy"), text("rule"), number("denied"), number("asked or told"), number("last record")];
    let rows = facts
        .rules
        .iter()
        .map(|rule| {
            vec![
                Cell::new(rule.policy.clone()),
                Cell::new(rule.rule.clone()),
                Cell::count(rule.denied, "denied"),
                Cell::count(rule.other, "asked"),
                Cell::new(rule.last.to_string()),
            ]
        })
        .collect();
    let mut said = vec!["`toolgate explain POLICY` says what each is about.".to_owned()];
    if !facts.silent.is_empty() {
        said.push(format!("These policies had no objection: {}.", facts.silent.join(", ")));
    }
    Section {
        id: "rules",
        title: "Rules that objected",
        text: said,
        table: Some(Table { head, rows, rest: None }),
    }
}

fn corrected(facts: &Facts) -> Section {
    let mut lines = facts.corrections.lines().into_iter();
    let mut said = vec![lines.next().unwrap_or_else(|| "Nothing was denied.".to_owned())];
    said.extend(lines.by_ref().take(CORRECTED).map(|line| line.trim().to_owned()));
    let left_out = lines.count();
    if left_out > 0 {
        said.push(format!("and {left_out} more: `toolgate ledger counts` lists them"));
    }
    said.push(
        "An estimate: a later call of the same session with the same program or the same file name passed, before the person spoke."
            .to_owned(),
    );
    Section { id: "corrected", title: "How agents went on after a denial", text: said, table: None }
}
