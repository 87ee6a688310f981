//! The playground: what would become of a command, now and with other settings, and what these would change about past calls.

use maud::{Markup, html};
use toolgate_model::visible;

use super::settings::places;
use super::{Failed, Query, badge, grouped, rule_link, time, to_type, with_code, without_name};
use crate::ask::{EffectSaid, Judged, Replayed, Said};
use crate::hub::Hub;
use crate::{Desk, Question};

/// What is typed there where nobody has typed anything.
const EXAMPLE: &str = "rm -rf ../build && make test > report.txt";
/// So many days of past calls are judged.
const DAYS: u32 = 7;
/// The same at most.
const MOST_DAYS: u32 = 90;

pub(super) fn playground(hub: &Hub, query: &Query) -> Result<Markup, Failed> {
    let command = query.text("command").unwrap_or(EXAMPLE);
    let here = hub.desk().here().display().to_string();
    let root = query.text("root").unwrap_or(&here);
    let (file, settings) = hub.desk().own_settings().map_err(Failed::Failed)?;
    let mut places = places(hub);
    if std::path::Path::new(root).is_dir() {
        places.insert(root.to_owned());
    }
    Ok(html! {
        h1 { "Playground" }
        p class="soft" { "Nothing is run, and no setting is changed." }
        form id="play" class="play" action="/playground" {
            label for="command" { "Command" }
            textarea id="command" name="command" rows="3" spellcheck="false" autocomplete="off" { (command) }
            div class="line" {
                label for="root" { "Place" }
                select id="root" name="root" { @for place in &places { option value=(place) selected[place == root] { (visible(place)) } } }
                button class="main" title="Ctrl+Enter" { "Judge" }
            }
            details {
                summary { "Change the settings" }
                label for="settings" { "Your " code { (visible(&file.display().to_string())) } ", as it would be" }
                textarea id="settings" name="settings" rows="12" spellcheck="false" autocomplete="off" data-own=(settings) { (settings) }
                div class="line" {
                    button type="button" id="replay" { "Try on past calls" }
                    label for="days" { "of the last" }
                    input id="days" name="days" type="number" min="1" max=(MOST_DAYS) value=(DAYS);
                    span { "days" }
                }
                p class="soft" { "Only tried here. To keep it, change the file yourself; where it loosens, the gate asks in a terminal." }
            }
        }
        section id="result" aria-label="Result" aria-live="polite" {}
    })
}

/// What would become of a command; beside it, what would with other settings.
pub(crate) fn judged(desk: &dyn Desk, question: &Question) -> Result<Markup, Failed> {
    let judge = |question: &Question| {
        let json = desk.check(question)?;
        Judged::read(&json)
    };
    let now = judge(&Question { settings: None, ..question.clone() }).map_err(Failed::Failed)?;
    let Some(_) = &question.settings else { return Ok(verdict("Verdict", &now)) };
    Ok(html! {
        div class="compared" {
            (verdict("Now", &now))
            @match judge(question) {
                Ok(then) => {
                    (verdict("With your change", &then))
                }
                Err(why) => { section { h2 { "With your change" } pre tabindex="0" { code { (visible(&why)) } } } }
            }
        }
    })
}

fn verdict(title: &str, judged: &Judged) -> Markup {
    html! {
        section class={ "verdict " (judged.verdict.decision) } {
            h2 { (title) " " (badge(&judged.verdict.decision)) }
            @if judged.command.is_some() {
                pre class="drawn" tabindex="0" { code {
                    @for piece in judged.pieces() {
                        @match piece.said {
                            Said::Nothing => { (visible(piece.text)) }
                            said => { span class={ "said " (said.word()) } { (visible(piece.text)) } }
                        }
                    }
                } }
            }
            @if !judged.verdict.findings.is_empty() {
                ul class="findings" {
                    @for finding in &judged.verdict.findings {
                        li class=(finding.decision) {
                            p class="head" { (badge(&finding.decision)) " " (rule_link(&finding.policy, &finding.rule)) }
                            p { (with_code(without_name(&finding.message))) }
                        }
                    }
                }
            }
            @if judged.effects.is_empty() { p class="soft" { "It does nothing that is known." } }
            @else {
                h3 { "Effects" }
                ul class="effects" { @for effect in &judged.effects { li class=(judged.said(effect).word()) { (effect_line(effect)) } } }
            }
            @if let Some(cwd) = &judged.cwd { p class="soft" { "in " code { (visible(cwd)) } } }
        }
    }
}

fn effect_line(effect: &EffectSaid) -> Markup {
    let reach = match effect.reach.as_deref() {
        Some("below") => " and all below",
        Some("git-data") => ", git data only",
        Some("met") => " on its way",
        _ => "",
    };
    html! {
        b { (visible(&effect.does)) } " "
        @if let Some(path) = &effect.path { code { (visible(path)) } (reach) }
        @else if !effect.words.is_empty() { code { (visible(&effect.words.join(" "))) } }
        @else if let Some(text) = &effect.text { code { (visible(text)) } }
        @if let Some(gap) = &effect.gap { span class="soft" { " (" (visible(gap)) ")" } }
        @if !effect.via.is_empty() { span class="soft" { " through " (visible(&effect.via.join(" → "))) } }
    }
}

/// What other settings would decide differently about the calls of the past.
pub(crate) fn replayed(desk: &dyn Desk, settings: &str, days: u32) -> Result<Markup, Failed> {
    let days = days.clamp(1, MOST_DAYS);
    let json = desk.replay(settings, days).map_err(Failed::Failed)?;
    let found = Replayed::read(&json).map_err(Failed::Failed)?;
    let changed = found.changed.unwrap_or_default();
    let count: u64 = changed.values().map(|group| group.count).sum();
    Ok(html! {
        section class="verdict" {
            h2 { "On past calls" }
            p {
                "Of " b { (grouped(found.calls)) } " calls in " (grouped(found.sessions)) " sessions of the last " (days) " days, "
                b { (grouped(count)) } " would be decided differently."
            }
            @if !found.unjudged.is_empty() {
                p class="soft" {
                    "Not judged: "
                    @for (at, (why, count)) in found.unjudged.iter().enumerate() { @if at > 0 { "; " } (grouped(*count)) " (" (visible(why)) ")" }
                    "."
                }
            }
            @for (change, group) in &changed {
                h3 { (visible(change)) ": " (grouped(group.count)) }
                ul class="changes" {
                    @for example in &group.examples {
                        li {
                            code { (visible(&example.shown)) }
                            span class="soft" { " " (visible(&example.host)) @if let Some(at) = &example.time { ", " (time(at)) } }
                            @if !example.reason.is_empty() { p { (with_code(&example.reason)) } }
                        }
                    }
                }
                @if group.count > group.examples.len() as u64 { p class="soft" { "and " (grouped(group.count - group.examples.len() as u64)) " more" } }
            }
            p class="soft" { "In a terminal, with the changed settings in a file:" }
            (to_type(&format!("toolgate replay --since {days}d --against FILE")))
        }
    })
}
