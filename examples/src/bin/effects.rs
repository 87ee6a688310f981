//! Says what a bash command would do, without running it: each effect, the part of the command that it comes from, and the
//! way there through wrappers and scripts.
//!
//! ```sh
//! cargo run -p toolgate-examples --bin effects -- 'sudo bash -c "rm -r build" > log'
//! ```
//!
//! Scripts that the command names are looked up on the disk, below the directory in which this is run.

#![expect(clippy::print_stdout, reason = "it reports to a person")]

use std::env;
use std::error::Error;
use std::iter;

use toolgate_effects::{Scene, analyse};
use toolgate_gate::disk::Disk;
use toolgate_model::{Effect, Origin, Reach, Unknown, Via};

fn main() -> Result<(), Box<dyn Error>> {
    let command = env::args().nth(1).ok_or("name a command, in one argument")?;
    // The tree alone, for whoever needs no more than that. Lines before the error would still run.
    if let Some(error) = toolgate_shell::parse(&command).error {
        println!("syntax error at byte {}: {}", error.at, error.what);
    }
    let (disk, cwd, home) = (Disk::default(), env::current_dir()?, env::var("HOME").ok());
    let scene = Scene {
        world: &disk,
        cwd: cwd.to_str(),
        root: None,
        home: home.as_deref(),
        tmp: None,
        unset: &|name| env::var_os(name).is_none(),
    };
    for effect in analyse(&command, &scene).effects {
        let (what, origin) = described(&effect);
        println!("{what}");
        let Some(Origin { span: (from, to), via }) = origin else { continue };
        let text = command.get(*from as usize..*to as usize).unwrap_or_default();
        println!("  at {from}..{to}: {text}");
        // The last step comes first; people read from the outside in.
        let steps = iter::successors(via.as_deref(), |via| via.before.as_deref());
        let mut steps: Vec<&str> = steps.map(|Via { step, .. }| step.as_str()).collect();
        steps.reverse();
        if !steps.is_empty() {
            println!("  via {}", steps.join(" > "));
        }
    }
    Ok(())
}

/// An effect in words, and where it comes from.
fn described<'e>(effect: &'e Effect<'_>) -> (String, Option<&'e Origin>) {
    match effect {
        Effect::Use(access, target) => {
            let all = if target.reach == Reach::Below { " and all below it" } else { "" };
            (format!("{} {}{all}", access.verb(), target.path.text()), target.origin.as_ref())
        }
        Effect::Run(run) => (format!("runs {}", run.words.join(" ")), run.origin.as_ref()),
        Effect::Connect => ("connects to another machine".to_owned(), None),
        Effect::Unknown(Unknown::Shell { gap, text, origin }) => {
            (format!("cannot be known ({}): {text}", gap.word()), Some(origin))
        }
        Effect::Unknown(Unknown::Tool(tool) | Unknown::McpTool(tool)) => {
            (format!("calls the unlisted tool {tool}"), None)
        }
    }
}
