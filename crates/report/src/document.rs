//! A page without a form: sections, numbers and tables. [`crate::terminal`], [`crate::markdown`] and [`crate::html`] give it one.

/// A page.
#[derive(Debug)]
pub struct Document {
    pub(crate) title: String,
    /// What was chosen, and when the page was made.
    pub(crate) about: String,
    /// The sentence that says it all, and whether it is good news.
    pub(crate) verdict: (Tone, String),
    /// Whether the log can be relied on.
    pub(crate) proof: (Tone, String),
    pub(crate) numbers: Vec<Number>,
    pub(crate) times: Vec<Bar>,
    pub(crate) sections: Vec<Section>,
}

/// How something is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Unsure,
    Bad,
}

impl Tone {
    /// A word for where there are no colours.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Good => "good",
            Tone::Unsure => "look",
            Tone::Bad => "bad",
        }
    }
}

/// A number of the first screen, and the section with its rows.
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) count: u64,
    pub(crate) what: &'static str,
    pub(crate) tone: Tone,
    pub(crate) rows: &'static str,
}

/// Calls within an hour or a day.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) from: String,
    pub(crate) calls: u64,
    pub(crate) denied: u64,
}

#[derive(Debug)]
pub(crate) struct Section {
    /// What leads to it.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What is said before the table.
    pub(crate) text: Vec<String>,
    pub(crate) table: Option<Table>,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) head: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// What is left out, and how to have it.
    pub(crate) rest: Option<String>,
}

/// A column: its name, and what its cells hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) holds: Holds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Text,
    Time,
    Number,
    /// Something that an agent wrote: a command, a path.
    Code,
}

/// A cell: plain text, which no form may take for markup. It may lead to a section.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) rows: Option<&'static str>,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), rows: None }
    }

    /// A number with rows elsewhere on the page; none leads nowhere.
    pub(crate) fn count(count: u64, rows: &'static str) -> Cell {
        Cell { text: grouped(count), rows: (count > 0).then_some(rows) }
    }
}

/// A number as people read it: `1,204`.
pub(crate) fn grouped(number: u64) -> String {
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

/// A time of the log as people read it.
pub(crate) fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}
