//! The timeline: sessions, and what each did when.

use maud::{Markup, html};
use toolgate_evidence::Record;
use toolgate_model::{Decision, visible};

use super::calls::{PAGE, older, table};
use super::{Failed, Query, encoded, grouped, numbers, short_place, time, to_type, unreadable, who};
use crate::hub::Hub;
use crate::log::{self, Counts, Part, Wanted};

/// So many calls are one page of the timeline.
const CALLS: usize = 2_000;
/// So many sessions of them are shown.
const SESSIONS: usize = 60;
/// So many calls that wait are shown.
const WAITING: usize = 5;
/// The width of a strip. Each call of the page has its own place on it.
const WIDTH: usize = 1_000;

/// One session on the page.
struct Strip<'p> {
    /// Its last call.
    last: &'p Record,
    first: &'p str,
    counts: Counts,
    /// Where its calls are among those of the page, from the left.
    ticks: Vec<(usize, &'static str)>,
}

pub(super) fn sessions(hub: &Hub, query: &Query) -> Result<Markup, Failed> {
    let before = query.number("before");
    let wanted = Wanted { before, ..Wanted::default() };
    let part = log::calls(hub.desk().state(), &wanted, CALLS)?;
    let strips = strips(&part);
    let waiting = if before.is_none() {
        waiting(hub)
    } else {
        html! {}
    };
    let count = hub.watch().waiting().len();
    let (from, to) = (part.calls.last(), part.calls.first());
    Ok(html! {
        h1 { "Sessions" }
        (numbers(&part.counts, count))
        (waiting)
        (unreadable(part.unreadable))
        @if let (Some(from), Some(to)) = (from, to) {
            p class="soft" { (grouped(part.counts.all())) " calls from " (time(&from.time)) " to " (time(&to.time)) ", in the order in which they came." }
        } @else {
            p class="soft none" { "No agent was heard of yet. " code { "toolgate init" } " registers the gate with one." }
        }
        @if !strips.is_empty() {
            div class="wide" tabindex="0" role="region" aria-label="Sessions" data-refresh=[before.is_none().then_some("")] {
                table class="sessions" {
                    thead { tr {
                        @for name in ["Session", "Place", "Last heard", "Calls", "Denied"] { th scope="col" { (name) } }
                        th scope="col" class="strip" { "Timeline" }
                    } }
                    tbody { @for strip in strips.iter().take(SESSIONS) { (line(strip, part.calls.len())) } }
                }
            }
            @if strips.len() > SESSIONS { p class="soft" { "and " (strips.len() - SESSIONS) " sessions more among these calls" } }
        }
        (older(&part, "/?"))
    })
}

fn line(strip: &Strip<'_>, all: usize) -> Markup {
    let Strip { last, first, counts, ticks } = strip;
    let spoken = format!("{} calls, {} denied, {} asked", counts.all(), counts.deny, counts.ask);
    html! {
        tr {
            td class="who" {
                a href={ "/session?session=" (encoded(&last.session)) } { (who(last)) span class="unseen" { " " (visible(&last.session)) } }
            }
            td class="place soft" title=(visible(&last.root)) { (visible(short_place(&last.root))) }
            td class="time" title={ "since " (first) } { (time(&last.time)) }
            td class="number" { (grouped(counts.all())) }
            td class={ "number" @if counts.deny > 0 { " bad" } } { (grouped(counts.deny)) }
            td class="strip" {
                svg viewBox={ "0 0 " (WIDTH) " 20" } preserveAspectRatio="none" role="img" aria-label=(spoken) {
                    // What matters is drawn last, over the rest.
                    @for word in ["other", "allow", "contain", "ask", "deny"] {
                        @for (at, _) in ticks.iter().filter(|(_, found)| *found == word) {
                            @let height = if matches!(word, "deny" | "ask") { 20 } else { 10 };
                            rect class=(word) x=(at * (WIDTH - 3) / all.max(1)) y=(20 - height) width="3" height=(height) {}
                        }
                    }
                }
            }
        }
    }
}

/// The sessions of a page, the one that was heard of last first.
fn strips(part: &Part) -> Vec<Strip<'_>> {
    let mut strips: Vec<Strip<'_>> = Vec::new();
    let mut numbers = std::collections::BTreeMap::new();
    for (age, record) in part.calls.iter().enumerate() {
        let word = record.decision.known().map_or("other", Decision::word);
        let number = *numbers.entry((&record.host, &record.session)).or_insert(strips.len());
        if number == strips.len() {
            let counts = Counts::default();
            strips.push(Strip { last: record, first: &record.time, counts, ticks: Vec::new() });
        }
        if let Some(strip) = strips.get_mut(number) {
            strip.counts.add(record);
            strip.first = &record.time;
            strip.ticks.push((part.calls.len() - 1 - age, word));
        }
    }
    strips
}

/// The calls that wait for a person, each with the command by which a person answers.
pub(super) fn waiting(hub: &Hub) -> Markup {
    let watch = hub.watch();
    let waiting = watch.waiting();
    let call = |session: &str, input: &str| {
        watch.calls().rev().find(|record| record.session == session && record.input == input)
    };
    html! {
        @if !waiting.is_empty() {
            section class="waiting" aria-labelledby="waiting" {
                h2 id="waiting" { "Waiting for you" }
                ul {
                    @for found in waiting.iter().take(WAITING) {
                        li {
                            @if let Some(record) = call(&found.session, &found.input) {
                                p { span class="who" { (who(record)) } a href={ "/record/" (record.seq) } { code { (visible(&toolgate_model::shorten(&toolgate_watch::about(record), 200))) } } }
                            }
                            (to_type(&format!("toolgate approve {}", found.code)))
                        }
                    }
                }
                p class="soft" {
                    @if waiting.len() > WAITING { "And " (waiting.len() - WAITING) " more: " code { "toolgate pending" } ". " }
                    "This page cannot approve. Type the command in a terminal, where you prove that you are a person."
                }
            }
        }
    }
}

/// One session, call by call.
pub(super) fn session(hub: &Hub, query: &Query) -> Result<Markup, Failed> {
    let id = query.session().ok_or_else(|| Failed::Missing("which session?".to_owned()))?;
    let before = query.number("before");
    let wanted = Wanted { session: Some(id.clone()), before, ..Wanted::default() };
    let part = log::calls(hub.desk().state(), &wanted, PAGE)?;
    let Some(last) = part.calls.first() else {
        if part.next.is_none() {
            return Err(Failed::Missing("the log has no call of this session".to_owned()));
        }
        let path = format!("/session?session={}&", encoded(&id));
        return Ok(
            html! { h1 { "Session" } p class="soft none" { "None of its calls was found so far." } (older(&part, &path)) },
        );
    };
    let live = before.is_none().then(|| format!("session={}", encoded(&id)));
    Ok(html! {
        h1 { "Session of " (who(last)) }
        dl class="facts" {
            dt { "Id" } dd { code { (visible(&id)) } }
            dt { "Place" } dd { code { (visible(&last.root)) } }
            dt { "Last heard" } dd { (time(&last.time)) }
        }
        (numbers_of(&part.counts))
        (unreadable(part.unreadable))
        (table(hub, &part, live.as_deref()))
        (older(&part, &format!("/session?session={}&", encoded(&id))))
    })
}

fn numbers_of(counts: &Counts) -> Markup {
    html! {
        p class="soft" {
            "On this page: " (grouped(counts.deny)) " denied, " (grouped(counts.ask)) " asked, " (grouped(counts.contain)) " contained, "
            (grouped(counts.allow)) " allowed."
        }
    }
}
