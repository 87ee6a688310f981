//! One record in full: what was called, what was objected, what was enforced, and what a person can type about it.

use maud::{Markup, html};
use toolgate_evidence::Record;
use toolgate_model::visible;
use toolgate_policies::{POLICIES, rules};

use super::{
    Failed, badge, encoded, quoted, rule_link, short_place, time, to_type, who, with_code, without_name,
};
use crate::hub::Hub;
use crate::log;

pub(super) fn record(hub: &Hub, seq: u64) -> Result<Markup, Failed> {
    let found = log::record(hub.desk().state(), seq)?;
    let (record, others) = found
        .ok_or_else(|| Failed::Missing(format!("the log has no record {seq}; it may have been dropped")))?;
    let code = hub.watch().code(&record).map(str::to_owned);
    let json = serde_json::to_string_pretty(&record).map_err(|error| Failed::Failed(error.to_string()))?;
    let command = command(&record);
    let place = if record.cwd.is_empty() { &record.root } else { &record.cwd };
    Ok(html! {
        h1 { "Record " (record.seq) " " (badge(record.decision.as_str())) }
        p class="lead" {
            (who(&record)) " in " span title=(visible(&record.root)) { (visible(short_place(&record.root))) } ", " (time(&record.time)) ", "
            a href={ "/session?session=" (encoded(&record.session)) } { "its session" }
        }
        h2 { @if record.tool.is_empty() { (visible(&record.event)) } @else { (visible(&record.tool)) } }
        dl class="args" {
            @for (name, value) in &record.args {
                dt { (visible(name)) }
                dd { pre tabindex="0" { code { (visible(value)) } } }
            }
        }
        @if record.shortened { p class="soft" { "Texts were shortened to keep the record small." } }
        (findings(&record))
        (enforced(&record, &others))
        (to_do(&record, code.as_deref()))
        @if let Some(command) = command {
            p { a href={ "/playground?command=" (encoded(command)) "&root=" (encoded(place)) } { "Judge this command in the playground" } }
        }
        h2 { "Facts" }
        (facts(&record))
        @if !others.is_empty() {
            h2 { "The same call" }
            ul { @for other in &others { li { a href={ "/record/" (other.seq) } { "record " (other.seq) } ", " (visible(&other.event)) } } }
        }
        details { summary { "As it is recorded" } pre tabindex="0" { code { (visible(&json)) } } }
        p class="pager" {
            @if seq > 1 { a href={ "/record/" (seq - 1) } { "The record before" } " " }
            a href={ "/record/" (seq + 1) } { "The one behind" }
        }
    })
}

fn command(record: &Record) -> Option<&str> {
    let found = record.args.iter().find(|(name, _)| matches!(name.as_str(), "command" | "cmd"));
    found.map(|(_, command)| command.as_str())
}

fn findings(record: &Record) -> Markup {
    html! {
        @if !record.findings.is_empty() {
            h2 { "Objections" }
            ul class="findings" {
                @for finding in &record.findings {
                    li class=(finding.decision.known().map_or("other", toolgate_model::Decision::word)) {
                        p class="head" {
                            (badge(finding.decision.as_str())) " " (rule_link(&finding.policy, &finding.rule))
                            @if !finding.rule.is_empty() { span class="soft" { " of " (visible(&finding.policy)) } }
                            @if let Some(would) = &finding.would { span class="soft" { " only observed, would be " (visible(would.as_str())) } }
                        }
                        p { (with_code(without_name(&finding.message))) }
                        @if !finding.path.is_empty() { p class="soft" { "about " code { (visible(&finding.path)) } } }
                    }
                }
            }
        }
        @if !record.unproved.is_empty() {
            h2 { "Not proved" }
            ul { @for unproved in &record.unproved { li { code { (visible(&unproved.text)) } " " span class="soft" { (visible(&unproved.reason)) } } } }
        }
    }
}

/// What was enforced while it ran, as its own record and the later ones of the same call say.
fn enforced(record: &Record, others: &[Record]) -> Markup {
    let all = || std::iter::once(record).chain(others);
    let contained: Vec<_> = all().filter_map(|record| record.contained.as_ref()).collect();
    let redacted: u64 = all().map(|record| record.redacted).sum();
    html! {
        @if !contained.is_empty() {
            h2 { "Contained" }
            @for contained in contained {
                p {
                    @if contained.level.is_empty() { "It did not run." }
                    @else { "Level " b { (visible(&contained.level)) } ", network " b { (visible(&contained.network)) } "." }
                }
                @if contained.denied.is_empty() {
                    @if !contained.level.is_empty() { p class="soft" { "Nothing was denied inside." } }
                } @else {
                    h3 { "Denied inside" }
                    ul class="denied" { @for denied in &contained.denied { li { (with_code(denied)) } } }
                }
            }
        }
        @if redacted > 0 { p { (redacted) " secrets were taken out of what it gave back." } }
        @if let Some(approval) = &record.approval {
            h2 { "Approved" }
            p {
                "By " b { (visible(&approval.by)) } ", known by " b { (visible(&approval.how)) } ", code " code { (visible(&approval.code)) }
                @if approval.number > 0 { ", use " (approval.number) } "."
            }
        }
    }
}

/// The commands by which a person changes what is decided about such calls.
fn to_do(record: &Record, code: Option<&str>) -> Markup {
    let mut commands = vec![format!("toolgate why {}", record.seq)];
    if let Some(code) = code {
        commands.push(format!("toolgate approve {code}"));
        commands.push(format!("toolgate reject {code} 'why not'"));
    }
    for finding in &record.findings {
        let named = if finding.rule.is_empty() { &finding.policy } else { &finding.rule };
        commands.push(format!("toolgate explain {}", quoted(named)));
        let is_open = rules().any(|rule| rule.id == finding.rule && !rule.floor);
        if is_open && record.decision.known() != Some(toolgate_model::Decision::Allow) {
            commands.push(format!("toolgate allow rule {}", quoted(&finding.rule)));
        }
        if finding.policy == "outside-scope" && !finding.path.is_empty() {
            commands.push(format!("toolgate allow read {}", quoted(&finding.path)));
        }
    }
    let file = record.args.iter().find(|(name, _)| name.ends_with("path")).map(|(_, value)| value);
    if let (Some(file), false) = (file, record.agent.is_empty()) {
        commands.push(format!(
            "toolgate lockout add {} --agent {} --reason 'why'",
            quoted(file),
            quoted(&record.agent)
        ));
    }
    commands.dedup();
    html! {
        h2 { "In a terminal" }
        @for command in &commands { (to_type(command)) }
        @if record.findings.iter().any(|finding| POLICIES.iter().any(|policy| policy.floor && policy.id == finding.policy)) {
            p class="soft" { "A policy of the floor objects: nobody can approve that." }
        }
    }
}

fn facts(record: &Record) -> Markup {
    let micros = record.micros.map(|micros| format!("{micros} µs")).unwrap_or_default();
    let answer = record.answer.as_ref().map(|answer| answer.as_str().to_owned()).unwrap_or_default();
    let would = record.would.as_ref().map(|would| would.as_str().to_owned()).unwrap_or_default();
    let rows = [
        ("Event", &record.event),
        ("Host", &record.host),
        ("Session", &record.session),
        ("Call", &record.call),
        ("Root", &record.root),
        ("Directory", &record.cwd),
        ("Would be", &would),
        ("Answer", &answer),
        ("Took", &micros),
        ("User", &record.user),
        ("Machine", &record.machine),
        ("toolgate", &record.toolgate),
        ("Input", &record.input),
        ("Rules", &record.rules),
        ("Line before", &record.prev),
    ];
    html! {
        dl class="facts" {
            @for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
                dt { (name) } dd { code { (visible(value)) } }
            }
        }
    }
}
