//! Agents: who works, who waits, who is blocked.

use maud::{Markup, html};
use toolgate_evidence::rfc3339;
use toolgate_model::{shorten, visible};
use toolgate_watch::{Doing, Seen};

use super::sessions::waiting;
use super::{encoded, grouped, short_place, time, to_type};
use crate::hub::Hub;

pub(super) fn agents(hub: &Hub) -> Markup {
    let waits = waiting(hub);
    let watch = hub.watch();
    let agents = watch.agents();
    html! {
        h1 { "Agents" }
        (waits)
        @if agents.is_empty() {
            p class="soft none" { "No agent was heard of yet." }
        } @else {
            div class="wide" tabindex="0" role="region" aria-label="Agents" data-refresh="" {
                table class="agents" {
                    thead { tr {
                        @for name in ["Agent", "Place", "State", "Calls", "Denied", "Last heard", "Last call"] { th scope="col" { (name) } }
                    } }
                    tbody { @for seen in &agents { (line(seen)) } }
                }
            }
            p class="soft" { "Counted over the end of the log. An agent is blocked after three denials in a row." }
        }
        h2 { "In a terminal" }
        (to_type("toolgate watch"))
        (to_type("toolgate agent list"))
    }
}

fn line(seen: &Seen<'_>) -> Markup {
    let (class, said) = match seen.doing {
        Doing::Waits => ("ask", "waits for you"),
        Doing::Blocked => ("deny", "blocked"),
        Doing::Works => ("allow", "works"),
        Doing::Idle => ("other", "idle"),
    };
    let heard = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seen.heard);
    html! {
        tr {
            td class="who" {
                a href={ "/session?session=" (encoded(seen.session)) } {
                    @if seen.agent.is_empty() { span class="agent" { (visible(seen.host)) } }
                    @else { span class="agent" { (visible(seen.agent)) } " " span class="soft" { (visible(seen.host)) } }
                }
            }
            td class="place soft" title=(visible(seen.root)) { (visible(short_place(seen.root))) }
            td { span class={ "badge " (class) } { (said) } }
            td class="number" { (grouped(seen.calls)) }
            td class={ "number" @if seen.denied > 0 { " bad" } } { (grouped(seen.denied)) }
            td class="time" { (time(&rfc3339(heard))) }
            td class="what" { code { (visible(&shorten(seen.last, 200))) } }
        }
    }
}
