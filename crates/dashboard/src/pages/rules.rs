//! Policies and rules, with their explanations and how often each objected.

use std::collections::BTreeMap;

use maud::{Markup, html};
use toolgate_policies::{POLICIES, RulePage, rules};

use super::{Failed, bar, encoded, grouped, to_type, with_code};
use crate::hub::Hub;

/// The policy whose rules stand in packs.
const PACKS: &str = "destructive";

pub(super) fn rules_page(hub: &Hub) -> Markup {
    let mut fired: BTreeMap<String, u64> = BTreeMap::new();
    for record in hub.watch().calls() {
        for finding in &record.findings {
            let named = if finding.rule.is_empty() { &finding.policy } else { &finding.rule };
            *fired.entry(named.clone()).or_default() += 1;
        }
    }
    let mut most: Vec<(&String, &u64)> = fired.iter().collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let highest = most.first().map_or(1, |(_, count)| **count);
    let count = |id: &str| fired.get(id).copied().unwrap_or_default();
    let mut packs: BTreeMap<&str, Vec<RulePage>> = BTreeMap::new();
    for rule in rules() {
        packs.entry(rule.pack).or_default().push(rule);
    }
    html! {
        h1 { "Rules" }
        p class="soft" { "What objects to calls, and how often each did among the last calls of the log. The floor holds whatever the settings say." }
        @if !fired.is_empty() {
            h2 { "Objected lately" }
            ul class="bars" {
                @for (id, count) in most.iter().take(10) { (bar(id, **count, highest)) }
            }
        }
        h2 { "Policies" }
        (table("Policies", POLICIES.iter().map(|policy| (policy.id, if policy.floor { "floor" } else { "" }, policy.summary(), count(policy.id)))))
        @for (pack, rules) in &packs {
            h2 { "Pack " (pack) @if rules.iter().any(|rule| rule.optional) { span class="soft" { ", where the settings name it" } } }
            (table(pack, rules.iter().map(|rule| (rule.id, if rule.floor { "floor" } else { rule.response.word() }, rule.reason, count(rule.id)))))
        }
    }
}

fn table<'r>(name: &str, rows: impl Iterator<Item = (&'r str, &'r str, &'r str, u64)>) -> Markup {
    html! {
        div class="wide" tabindex="0" role="region" aria-label=(name) {
            table class="rules" {
                thead { tr { @for name in ["Rule", "Default", "What it objects to", "Objected"] { th scope="col" { (name) } } } }
                tbody {
                    @for (id, word, says, count) in rows {
                        tr {
                            td { a class="rule" href={ "/rules/" (encoded(id)) } { (id) } }
                            td class="soft" { (word) }
                            td { (with_code(says)) }
                            td class="number" { @if count > 0 { a href={ "/calls?q=" (encoded(&format!("policy:{id}"))) } { (grouped(count)) } } }
                        }
                    }
                }
            }
        }
    }
}

/// One policy or rule.
pub(super) fn rule(id: &str) -> Result<Markup, Failed> {
    let calls = html! { p { a href={ "/calls?q=" (encoded(&format!("policy:{id}"))) } { "Calls to which it objected" } } };
    if let Some(policy) = POLICIES.iter().find(|policy| policy.id == id) {
        return Ok(html! {
            h1 { (policy.id) }
            @if policy.floor { p class="soft" { "Part of the floor: no setting switches it off." } }
            (manual(&policy.doc()))
            @if policy.id == PACKS { p { a href="/rules" { "Its rules, pack by pack" } } }
            (calls)
        });
    }
    let Some(rule) = rules().find(|rule| rule.id == id) else {
        return Err(Failed::Missing(
            "no policy and no rule of a pack has this id; it may be one of your own settings".to_owned(),
        ));
    };
    Ok(html! {
        h1 { (rule.id) }
        p class="lead" { "A rule of the pack " b { (rule.pack) } ", by the policy " a class="rule" href={ "/rules/" (PACKS) } { (PACKS) } }
        dl class="facts" {
            dt { "Reason" } dd { (with_code(rule.reason)) }
            @if !rule.instead.is_empty() { dt { "Instead" } dd { (with_code(rule.instead)) } }
            dt { "Example" } dd { code { (rule.example) } }
            dt { "Default" } dd { @if rule.floor { "part of the floor: no setting switches it off" } @else { (rule.response.word()) } }
        }
        p { a href={ "/playground?command=" (encoded(rule.example)) } { "Judge the example in the playground" } }
        @if !rule.floor {
            h2 { "To change it, in a terminal" }
            (to_type(&format!("toolgate allow rule {}", rule.id)))
            p class="soft" { "or in toolgate.toml:" }
            pre tabindex="0" { code { "[rules]\n" (rule.id) " = \"ask\"    # or \"allow\", or \"deny\"" } }
        }
        (calls)
    })
}

/// A manual page: paragraphs, lists and code, as the policy's file has them.
fn manual(text: &str) -> Markup {
    html! {
        @for block in text.split("\n\n") {
            @if block.starts_with("```") {
                pre tabindex="0" { code { (block.trim_start_matches("```toml").trim_matches('`').trim()) } }
            } @else if block.starts_with("- ") {
                ul { @for item in format!("\n{block}").split("\n- ").filter(|item| !item.is_empty()) { li { (with_code(item)) } } }
            } @else if let Some(title) = block.strip_prefix('#') {
                h2 { (with_code(title.trim_start_matches('#').trim())) }
            } @else {
                p { (with_code(block)) }
            }
        }
    }
}
