//! What the log says of a stretch of time, for people: gathered in one pass, and written as a page for a terminal, Markdown or HTML.
//!
//! Promise: memory and output are bounded however long the log is. Every number leads to its rows; where there are more rows than are
//! kept, the page says how many are left out and names the command that lists them all. Nothing from the log is markup: what an agent
//! called a file cannot become a link, a script or an escape code.

mod corrections;
mod document;
mod facts;
mod html;
mod markdown;
mod page;
mod terminal;

pub use corrections::Corrections;
pub use document::Document;
pub use facts::{AgentFacts, Entry, Facts, Kept, Proof, RuleFacts, Standing};
pub use html::html;
pub use markdown::markdown;
pub use page::page;
pub use terminal::terminal;
