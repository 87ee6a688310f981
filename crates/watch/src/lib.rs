//! Agents and their calls on a terminal, as they come: who works, who waits for a person, what was denied.
//!
//! Promise: what is kept is bounded, however long the log is and however fast it grows. Nothing here changes anything: what a person decides
//! is a [`Wish`], which the caller carries out in the way that proves that it was a person. Nothing that an agent wrote reaches the terminal as
//! anything but text.

mod filter;
mod keys;
mod line;
mod screen;
mod state;
mod view;

pub use filter::Filter;
pub use keys::{Key, Keys};
pub use line::{Line, Style};
pub use screen::Screen;
pub use state::{Doing, Seen, Waiting, Watch, Wish, about, is_notable};
pub use view::draw;
