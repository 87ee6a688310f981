//! Calls: all that a filter wants, and those that were denied.

use std::collections::BTreeMap;

use maud::{Markup, html};
use toolgate_evidence::Record;
use toolgate_model::{shorten, visible};
use toolgate_watch::{Filter, about};

use super::{
    Failed, Query, badge, bar, encoded, grouped, rule_link, short_place, time, unreadable, who, with_code,
    without_name,
};
use crate::hub::Hub;
use crate::log::{self, Part, Wanted};

/// So many calls are on a page.
pub(super) const PAGE: usize = 100;
/// So many denials are looked at for their rules.
const RULES: usize = 500;
/// So many of them are shown.
const DENIALS: usize = 40;
/// A call is shown in so many letters; its own page has all of it.
const LONGEST: usize = 300;

/// One call as a row. `code` is by what a person answers to it, where it waits.
pub(crate) fn row(record: &Record, code: Option<&str>) -> Markup {
    let finding = record.findings.first();
    html! {
        tr class=(record.decision.known().map_or("other", toolgate_model::Decision::word)) {
            td class="time" { (time(&record.time)) }
            td { (badge(record.decision.as_str())) }
            td class="who" { (who(record)) }
            td class="place soft" title=(visible(&record.root)) { (visible(short_place(&record.root))) }
            td class="what" {
                a href={ "/record/" (record.seq) } { code { (visible(&shorten(&about(record), LONGEST))) } }
                @if let Some(code) = code { " " span class="badge ask" { "waits: " (code) } }
                @if record.redacted > 0 { " " span class="badge other" { (record.redacted) " redacted" } }
                @if let Some(denied) = record.contained.as_ref().and_then(|contained| contained.denied.first()) {
                    p class="why" { "denied inside: " (with_code(denied)) }
                }
                @if let Some(finding) = finding {
                    p class="why" { (with_code(&shorten(without_name(&finding.message), LONGEST))) }
                }
            }
            td class="by" { @if let Some(finding) = finding { (rule_link(&finding.policy, &finding.rule)) } }
        }
    }
}

/// Calls as a table, which grows at its head where it follows the log.
pub(super) fn table(hub: &Hub, part: &Part, live: Option<&str>) -> Markup {
    let watch = hub.watch();
    let newest = part
        .calls
        .first()
        .map_or(0, |record| record.seq)
        .max(watch.calls().next_back().map_or(0, |record| record.seq));
    html! {
        div class="wide" tabindex="0" role="region" aria-label="Calls" {
            table class="calls" {
                thead { tr {
                    @for name in ["Time", "Verdict", "Agent", "Place", "Call", "Rule"] { th scope="col" { (name) } }
                } }
                tbody data-live=[live.map(|live| format!("/live?{live}&after={newest}"))] {
                    @for record in &part.calls { (row(record, watch.code(record))) }
                }
            }
        }
        @if part.calls.is_empty() { p class="soft none" { "No call here is like that." } }
    }
}

/// The link to older calls.
pub(super) fn older(part: &Part, path: &str) -> Markup {
    html! {
        @if let Some(next) = part.next {
            p class="pager" { a href={ (path) "before=" (next) } { "Older calls" } }
        }
    }
}

/// Search over everything.
pub(super) fn search(hub: &Hub, query: &Query) -> Result<Markup, Failed> {
    let text = query.text("q").unwrap_or_default();
    let before = query.number("before");
    let wanted = Wanted { filter: query.filter(), before, session: None };
    let part = log::calls(hub.desk().state(), &wanted, PAGE)?;
    let live = before.is_none().then(|| format!("q={}", encoded(text)));
    Ok(html! {
        h1 { "Search" }
        (form(text))
        p class="soft" {
            @if text.is_empty() { (grouped(part.calls.len() as u64)) " calls, the newest first." }
            @else {
                (grouped(part.calls.len() as u64)) " of " (grouped(part.counts.all())) " calls looked at: "
                (grouped(part.counts.deny)) " denied, " (grouped(part.counts.ask)) " asked, "
                (grouped(part.counts.contain)) " contained, " (grouped(part.counts.allow)) " allowed."
            }
        }
        (unreadable(part.unreadable))
        (table(hub, &part, live.as_deref()))
        (older(&part, &format!("/calls?q={}&", encoded(text))))
    })
}

fn form(text: &str) -> Markup {
    html! {
        form class="search" action="/calls" role="search" {
            label for="q" { "Filter" }
            input id="q" name="q" type="search" value=(text) autocomplete="off" spellcheck="false"
                aria-describedby="q-help" placeholder="verdict:deny agent:ripley path:src/**";
            button { "Search" }
            p id="q-help" class="soft" {
                @for (filter, name) in [
                    ("verdict:deny", "denied"), ("verdict:ask", "asked"), ("verdict:contain", "contained"), ("tool:bash", "shell"),
                ] {
                    a href={ "/calls?q=" (encoded(filter)) } { (name) } " "
                }
                "or " code { "verdict: agent: host: session: tool: policy: path:" } ", and words that must occur."
            }
        }
    }
}

/// What was denied, with the reason in full, and by which rules.
pub(super) fn denials(hub: &Hub, query: &Query) -> Result<Markup, Failed> {
    let before = query.number("before");
    let wanted = Wanted { filter: Filter::parse("verdict:deny"), before, session: None };
    let mut part = log::calls(hub.desk().state(), &wanted, RULES)?;
    let mut rules: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for record in &part.calls {
        if let Some(finding) = record.findings.first() {
            *rules.entry((&finding.policy, &finding.rule)).or_default() += 1;
        }
    }
    let mut rules: Vec<_> = rules
        .into_iter()
        .map(|((policy, rule), count)| (policy.to_owned(), rule.to_owned(), count))
        .collect();
    rules.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    let most = rules.first().map_or(1, |(.., count)| *count);
    let looked = part.calls.len() as u64;
    if let Some(last) = part.calls.get(DENIALS) {
        part.next = Some(last.seq + 1);
        part.calls.truncate(DENIALS);
    }
    let live = before.is_none().then_some("q=verdict%3Adeny");
    Ok(html! {
        h1 { "Denials" }
        (unreadable(part.unreadable))
        @if rules.is_empty() {
            p class="soft none" { "Nothing was denied." }
        } @else {
            section aria-labelledby="by-rule" {
                h2 id="by-rule" { "By rule" span class="soft" { ", the last " (grouped(looked)) } }
                ul class="bars" {
                    @for (policy, rule, count) in rules.iter().take(8) {
                        (bar(if rule.is_empty() { policy } else { rule }, *count, most))
                    }
                }
            }
        }
        h2 { "Calls" }
        (table(hub, &part, live))
        (older(&part, "/denials?"))
    })
}
