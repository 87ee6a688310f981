//! The log, the agents, the rules and a playground, as pages for the person at this machine.
//!
//! Promise: whoever has not the address that was printed gets nothing but an empty shell: no record, no name, no count. Nothing here changes
//! anything; where something could be approved or allowed, the page shows the command for a terminal. What is kept, read, sent and waited for is
//! bounded, however long the log is and whoever connects.
//!
//! Against whom: a web page that the person has open (foreign `Host`, foreign `Origin`), an agent that asks the port, another user of the machine,
//! and what agents wrote: a file named `<script>` is text here as everywhere. Texts become pages in `maud` alone, which escapes them.
//!
//! Reading order: [`serve`] → `guard` → `site` → `log` → `pages`.

mod ask;
mod guard;
mod hub;
mod live;
mod log;
mod pages;
mod peer;
mod server;
mod site;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use toolgate_watch::Waiting;

/// What the pages leave to the one who runs them.
pub trait Desk: Send + Sync + 'static {
    /// The directory of the log.
    fn state(&self) -> &Path;

    /// The calls that wait for a person now.
    fn waiting(&self) -> Vec<Waiting>;

    /// Where a session is judged that names no place.
    fn here(&self) -> &Path;

    /// The settings in force in a place.
    fn settings(&self, root: &Path) -> Result<InForce, String>;

    /// The person's own file of settings: where it is, and its text. Empty where there is none.
    fn own_settings(&self) -> Result<(PathBuf, String), String>;

    /// What `toolgate check --effects --json` prints about a command, and nothing is run.
    fn check(&self, question: &Question) -> Result<Vec<u8>, String>;

    /// What `toolgate replay --against` prints as JSON about the past calls of so many days, with these settings.
    fn replay(&self, settings: &str, days: u32) -> Result<Vec<u8>, String>;
}

/// A command that somebody wonders about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The text.
    pub command: String,
    /// Where it would be run.
    pub root: PathBuf,
    /// Other settings in place of the person's own file.
    pub settings: Option<String>,
}

/// The settings in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InForce {
    /// In the order of the layers.
    pub settings: Vec<Setting>,
    /// What is set and says nothing, each in a line.
    pub without_effect: Vec<String>,
}

/// One setting and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub key: String,
    /// What it is set to.
    pub value: String,
    /// The file, the profile, or the program itself.
    pub from: String,
}

/// How pages are served.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port; 0 for any that is free.
    pub port: u16,
    /// After so long without a question it ends.
    pub idle: Duration,
    /// Ends it.
    pub stop: Arc<AtomicBool>,
}

/// Serves the pages until nobody has asked for a while, or `stop` is set. `announce` is given each address that a page can be opened by, once
/// each: the first at once, and another one whenever `again` says so.
pub fn serve(
    desk: Arc<dyn Desk>,
    options: &Options,
    announce: &(dyn Fn(&str) + Sync),
    again: &AtomicBool,
) -> io::Result<()> {
    server::serve(desk, options, announce, again)
}
