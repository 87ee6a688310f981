//! The settings in force, and where each comes from.

use std::collections::BTreeSet;
use std::path::Path;

use maud::{Markup, html};
use toolgate_model::visible;

use super::{Failed, Query, to_type};
use crate::hub::Hub;

/// So many places are offered.
const PLACES: usize = 50;

/// The layer that the program itself is.
const BUILT_IN: &str = "built in";

fn table(rows: &[(&str, &str)]) -> Markup {
    html! { dl class="facts" { @for (key, value) in rows { dt { (visible(key)) } dd { code { (visible(value)) } } } } }
}

/// The places that agents were heard of in, with the one where the server was started.
pub(super) fn places(hub: &Hub) -> BTreeSet<String> {
    let watch = hub.watch();
    let roots = watch.agents().into_iter().map(|seen| seen.root.to_owned()).filter(|root| !root.is_empty());
    let here = hub.desk().here().display().to_string();
    roots.filter(|root| Path::new(root).is_dir()).take(PLACES).chain([here]).collect()
}

pub(super) fn settings(hub: &Hub, query: &Query) -> Result<Markup, Failed> {
    let here = hub.desk().here().display().to_string();
    let root = query.text("root").unwrap_or(&here);
    let places = places(hub);
    if !places.contains(root) {
        return Err(Failed::Missing("no agent was heard of in this place".to_owned()));
    }
    let found = hub.desk().settings(Path::new(root)).map_err(Failed::Failed)?;
    let mut layers: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for setting in &found.settings {
        let row = (setting.key.as_str(), setting.value.as_str());
        match layers.last_mut() {
            Some((from, rows)) if *from == setting.from => rows.push(row),
            _ => layers.push((&setting.from, vec![row])),
        }
    }
    Ok(html! {
        h1 { "Settings in force" }
        form class="search" action="/settings" {
            label for="root" { "Place" }
            select id="root" name="root" { @for place in &places { option value=(place) selected[place == root] { (visible(place)) } } }
            button { "Show" }
        }
        @if !found.without_effect.is_empty() {
            section class="notice" aria-labelledby="without" {
                h2 id="without" { "Without effect" }
                ul { @for line in &found.without_effect { li { (visible(line)) } } }
            }
        }
        // What people wrote comes first, what the program itself says last.
        @for (from, rows) in layers.iter().rev().filter(|(from, _)| *from != BUILT_IN) {
            h2 class="from" { code { (visible(from)) } }
            (table(rows))
        }
        @for (from, rows) in layers.iter().filter(|(from, _)| *from == BUILT_IN) {
            details { summary { "Defaults, " code { (visible(from)) } } (table(rows)) }
        }
        h2 { "In a terminal" }
        (to_type("toolgate config show --all"))
        (to_type("toolgate trust"))
    })
}
