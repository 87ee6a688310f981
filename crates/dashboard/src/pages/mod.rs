//! The pages: what is asked for by its path, made of the log, the rules and the settings.
//!
//! INVARIANT: every text goes through `maud`, which escapes it; `PreEscaped` is not used. What no eye could read (marks of direction, control
//! characters) is spelled out.

mod agents;
mod calls;
mod playground;
mod record;
mod rules;
mod sessions;
mod settings;

use maud::{DOCTYPE, Markup, html};
use toolgate_evidence::{LedgerError, Record};
use toolgate_model::visible;
use toolgate_watch::Filter;

use crate::hub::Hub;
use crate::log::Counts;

pub(crate) use calls::row;
pub(crate) use playground::{judged, replayed};

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum Failed {
    Missing(String),
    Failed(String),
}

impl From<LedgerError> for Failed {
    fn from(error: LedgerError) -> Failed {
        Failed::Failed(error.to_string())
    }
}

/// The names and values behind the question mark.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn of(text: &str) -> Query {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Query(pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
    }

    fn text(&self, wanted: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn number(&self, wanted: &str) -> Option<u64> {
        self.text(wanted)?.parse().ok()
    }

    pub(crate) fn filter(&self) -> Filter {
        Filter::parse(self.text("q").unwrap_or_default())
    }

    pub(crate) fn session(&self) -> Option<String> {
        self.text("session").map(str::to_owned)
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let mut ahead = rest.clone();
        match (byte, hex(ahead.next()), hex(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = ahead;
            }
            (b'+', ..) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A value as it may stand in an address.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The pages that the head of each leads to.
const NAV: [(&str, &str); 7] = [
    ("/denials", "Denials"),
    ("/", "Sessions"),
    ("/calls", "Search"),
    ("/agents", "Agents"),
    ("/rules", "Rules"),
    ("/settings", "Settings"),
    ("/playground", "Playground"),
];

/// Whether there is a page by this path.
pub(crate) fn is_page(path: &str) -> bool {
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    NAV.iter().any(|(page, _)| *page == path)
        || path == "/session"
        || path.strip_prefix("/record/").is_some_and(number)
        || path.strip_prefix("/rules/").is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
}

/// The page that everybody gets, without anything in it.
pub(crate) fn shell() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "toolgate" }
                link rel="icon" href="/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/page.css";
                script src="/page.js" defer {}
            }
            body {
                a class="skip" href="#main" { "Skip to the page" }
                header {
                    a class="name" href="/" { img src="/icon.svg" alt="" width="22" height="22"; "toolgate" }
                    nav aria-label="Pages" {
                        @for (path, name) in NAV { a href=(path) { (name) } }
                    }
                    p id="state" role="status" { span class="dot" {} span id="state-text" { "not connected" } }
                }
                main id="main" tabindex="-1" {
                    noscript { p { "This page needs its script, which the program itself serves." } }
                    p id="empty" { "Nothing is shown yet." }
                }
                p id="said" class="unseen" role="status" {}
            }
        }
    }
}

/// What the main part of a page holds.
pub(crate) fn page(hub: &Hub, path: &str, query: &Query) -> Result<Markup, Failed> {
    if !is_page(path) {
        return Err(Failed::Missing("there is no such page".to_owned()));
    }
    match path {
        "/" => sessions::sessions(hub, query),
        "/session" => sessions::session(hub, query),
        "/calls" => calls::search(hub, query),
        "/denials" => calls::denials(hub, query),
        "/agents" => Ok(agents::agents(hub)),
        "/rules" => Ok(rules::rules_page(hub)),
        "/settings" => settings::settings(hub, query),
        "/playground" => playground::playground(hub, query),
        other => {
            if let Some(number) = other.strip_prefix("/record/") {
                let number = number.parse().map_err(|_| Failed::Missing("there is no such record".into()))?;
                return record::record(hub, number);
            }
            rules::rule(&decoded(other.strip_prefix("/rules/").unwrap_or_default()))
        }
    }
}

/// A verdict in its colour. The word says it too.
fn badge(word: &str) -> Markup {
    let class = match word {
        "deny" | "ask" | "contain" | "allow" => word,
        _ => "other",
    };
    html! { span class={ "badge " (class) } { (visible(word)) } }
}

/// A sentence in which backticks mark code.
fn with_code(text: &str) -> Markup {
    let text = visible(text);
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A command to be typed in a terminal. A text that a terminal would obey is not offered.
fn to_type(command: &str) -> Markup {
    html! {
        @if visible(command) == command && !command.contains('\n') {
            div class="type" {
                code { (command) }
                button type="button" data-copy=(command) { "Copy" span class="unseen" { " " (command) } }
            }
        }
    }
}

/// A word for a shell, in quotes where it needs some.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A time as people read it: the day and the second. The page's script makes the reader's own time of it.
fn time(at: &str) -> Markup {
    let shown = at.get(..19).unwrap_or(at).replace('T', " ");
    html! { time datetime=(at) { (shown) } }
}

/// The last name of a place.
fn short_place(root: &str) -> &str {
    root.rsplit('/').find(|part| !part.is_empty()).unwrap_or(root)
}

/// Who made a call.
fn who(record: &Record) -> Markup {
    html! {
        @if record.agent.is_empty() { span class="agent" { (visible(&record.host)) } }
        @else { span class="agent" { (visible(&record.agent)) } " " span class="soft" { (visible(&record.host)) } }
    }
}

/// A message without the rule's name at its end, which stands beside it.
fn without_name(message: &str) -> &str {
    message.rsplit_once(" [").filter(|(_, name)| name.ends_with(']')).map_or(message, |(text, _)| text)
}

/// The name of a rule, as a link to its page.
fn rule_link(policy: &str, rule: &str) -> Markup {
    let named = if rule.is_empty() { policy } else { rule };
    html! { a class="rule" href={ "/rules/" (encoded(named)) } { (visible(named)) } }
}

/// How often a rule objected, beside the one that did so most often.
fn bar(rule: &str, count: u64, most: u64) -> Markup {
    html! {
        li {
            (rule_link(rule, ""))
            svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect class="deny" width=(count * 100 / most.max(1)) height="8" {}
            }
            b { (grouped(count)) }
        }
    }
}

/// Numbers by verdict, each a link to its calls.
fn numbers(counts: &Counts, waiting: usize) -> Markup {
    let rows = [
        ("deny", counts.deny, "denied"),
        ("ask", counts.ask, "asked"),
        ("contain", counts.contain, "contained"),
        ("allow", counts.allow, "allowed"),
    ];
    html! {
        ul class="numbers" {
            @for (word, count, said) in rows {
                li class=(word) {
                    a href={ "/calls?q=verdict%3A" (word) } { b { (grouped(count)) } " " (said) }
                }
            }
            @if waiting > 0 { li class="ask" { a href="/agents" { b { (waiting) } " waiting for you" } } }
        }
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What is to be said of lines that are no records.
fn unreadable(count: u64) -> Markup {
    html! {
        @if count > 0 {
            p class="notice" { "Not every line here is a record. " code { "toolgate ledger verify" } " says what was changed." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in ["", "verdict:deny path:src/**", "ä&=+%#?", "<script>"] {
            let query = Query::of(&format!("x=1&q={}", encoded(text)));
            assert_eq!(query.text("q").unwrap_or_default(), text);
        }
        assert_eq!(Query::of("q=a+b%2").text("q"), Some("a b%2"));
        assert_eq!(Query::of("q=%ff").text("q"), Some("\u{fffd}"));
    }

    #[test]
    fn what_is_no_page_is_none() {
        for page in ["/", "/calls", "/record/17", "/rules/outside-scope"] {
            assert!(is_page(page), "{page}");
        }
        for other in [
            "",
            "/../etc/passwd",
            "/record/",
            "/record/1/../2",
            "/record/x",
            "/rules/",
            "/rules/a/b",
            "/page/",
            "//",
        ] {
            assert!(!is_page(other), "{other}");
        }
    }

    #[test]
    fn only_a_plain_line_is_offered_for_a_terminal() {
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert!(to_type("toolgate approve X").into_string().contains("<code>toolgate approve X</code>"));
        assert_eq!(to_type("toolgate approve 'a\nb'").into_string(), "");
        assert_eq!(to_type("toolgate allow read 'a\u{202e}b'").into_string(), "");
    }

    #[test]
    fn the_shell_holds_nothing_but_names_of_pages() {
        let shell = shell().into_string();
        assert!(
            !shell.contains("style=") && !shell.contains("onclick") && !shell.contains("<script>"),
            "{shell}"
        );
    }
}
