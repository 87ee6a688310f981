//! The page as one HTML file: no script, no network, nothing to unpack.
//!
//! Against whom: an agent that calls a file `<script>`. All texts pass through `maud`, which escapes them; the page forbids scripts besides.

use maud::{DOCTYPE, Markup, html as markup};
use toolgate_model::visible;

use crate::document::{Bar, Cell, Column, Document, Holds, Section, Table, Tone, grouped};

/// Nothing is loaded and nothing runs, whatever the page may come to hold.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
const STYLE: &str = include_str!("report.css");
/// The size of the picture of hours.
const WIDTH: u64 = 960;
const HEIGHT: u64 = 120;
/// So many bars fit into it.
const MOST_BARS: usize = 320;

/// The page as one HTML file.
pub fn html(page: &Document) -> String {
    let document = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) ", toolgate" }
                style { (maud::PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (page.title) }
                    p class="about" { (flat(&page.about)) }
                    @for (tone, text) in [&page.verdict, &page.proof] {
                        p class={ "said " (class(*tone)) } {
                            @if !tone.word().is_empty() { strong { (tone.word()) } " " }
                            (with_code(&flat(text)))
                        }
                    }
                    nav aria-label="Numbers" {
                        @for number in &page.numbers {
                            @let inner = markup! { b { (grouped(number.count)) } span { (number.what) } };
                            @if number.count > 0 {
                                a class=(class(number.tone)) href={ "#" (number.rows) } { (inner) }
                            } @else {
                                div { (inner) }
                            }
                        }
                    }
                    (times(&page.times))
                }
                main { @for part in &page.sections { (section(part)) } }
            }
        }
    };
    document.into_string()
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        tone => tone.word(),
    }
}

fn section(section: &Section) -> Markup {
    markup! {
        section id=(section.id) {
            h2 { (section.title) }
            @for line in &section.text { p { (with_code(line)) } }
            @if let Some(found) = &section.table { (table(found)) }
        }
    }
}

fn table(table: &Table) -> Markup {
    markup! {
        @if table.rows.is_empty() {
            p { "None." }
        } @else {
            // The keyboard can scroll what is wider than the window.
            div class="wide" tabindex="0" role="region" aria-label="Table" {
                table {
                    thead { tr { @for column in &table.head { th scope="col" class=(kind(*column)) { (column.name) } } } }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for (found, column) in row.iter().zip(&table.head) {
                                    td class=(kind(*column)) { (cell(found, *column)) }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(rest) = &table.rest { p { (with_code(rest)) } }
        }
    }
}

fn kind(column: Column) -> &'static str {
    match column.holds {
        Holds::Text => "text",
        Holds::Time => "time",
        Holds::Number => "number",
        Holds::Code => "code",
    }
}

fn cell(cell: &Cell, column: Column) -> Markup {
    let text = visible(&cell.text);
    markup! {
        @match (cell.rows, column.holds) {
            (Some(rows), _) => a href={ "#" (rows) } { (text) },
            (None, Holds::Code) => code { (text) },
            (None, Holds::Text) => (with_code(&text)),
            (None, Holds::Time | Holds::Number) => (text),
        }
    }
}

/// A sentence in which backticks mark code.
fn with_code(line: &str) -> Markup {
    markup! {
        @for (at, part) in line.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn flat(text: &str) -> String {
    visible(text).replace('\n', " ")
}

/// Calls over time, with denials in front.
fn times(bars: &[Bar]) -> Markup {
    let bars = bars.get(bars.len().saturating_sub(MOST_BARS)..).unwrap_or_default();
    let most = bars.iter().map(|bar| bar.calls).max().unwrap_or(0).max(1);
    let step = WIDTH / (bars.len() as u64).max(1);
    let room = step.saturating_sub(1).max(1);
    let height = |count: u64| (count * HEIGHT).div_ceil(most);
    let unit = if bars.first().is_some_and(|bar| bar.from.len() == 10) { "day" } else { "hour" };
    markup! {
        @if bars.len() > 1 {
            figure {
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ "Calls by " (unit) ", at most " (most) } {
                    @for (at, bar) in bars.iter().enumerate() {
                        g {
                            title { (bar.from) ": " (grouped(bar.calls)) " calls, " (grouped(bar.denied)) " denied" }
                            @for (count, class) in [(bar.calls, "calls"), (bar.denied, "denied")] {
                                rect class=(class) x=(at as u64 * step) y=(HEIGHT - height(count)) width=(room) height=(height(count)) {}
                            }
                        }
                    }
                }
                figcaption {
                    "Calls by " (unit) " from " (bars.first().map_or("", |bar| bar.from.as_str())) " to "
                    (bars.last().map_or("", |bar| bar.from.as_str())) " UTC; denied ones in front."
                }
            }
        }
    }
}
