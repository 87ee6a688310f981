//! An agent that reads and writes only what was declared before it began, and a receipt that says what came of it.
//!
//! ```sh
//! cargo run -p toolgate-examples --bin declared-io
//! ```
//!
//! All of it happens in a temporary directory, which is removed at the end.

#![expect(clippy::print_stdout, reason = "it reports to a person")]

use std::error::Error;
use std::fs;
use std::time::SystemTime;

use toolgate_workspace::{About, Declaration, Envelope, Pattern, SigningKey, Store, Workspace, Workspaces};

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let workspaces = Workspaces::open(&scratch.path().join("workspaces"))?;
    let declaration = Declaration {
        inputs: vec![Pattern::parse("input/words.txt")?],
        outputs: vec![Pattern::parse("output/")?],
        ..Declaration::default()
    };
    let workspace = workspaces.create("counter", declaration)?;
    fs::create_dir_all(workspace.path().join("input"))?;
    fs::write(workspace.path().join("input/words.txt"), "one two three")?;

    agent(&workspace)?;

    // Whoever runs the agent signs; the agent never sees the key.
    let store = Store::open(&scratch.path().join("store"))?;
    let key = SigningKey::open(&scratch.path().join("key.pem"))?;
    let about = About { time: SystemTime::now(), ruleset: None, ledger: None };
    let receipt = workspace.receipt(&store, &key, about, &())?.to_json();

    // Somebody else has the text and the public key.
    let receipt = Envelope::parse(receipt.as_bytes())?.verify(&[key.public()])?;
    for subject in &receipt.statement().subject {
        println!("the receipt vouches for {}", subject.name);
    }
    let stranger = SigningKey::open(&scratch.path().join("stranger.pem"))?.public();
    let refused = Envelope::parse(receipt.to_json().as_bytes())?.verify(&[stranger]).err();
    println!("another key: {}", refused.ok_or("a strange key verified it")?);
    workspace.cleanup()?;
    Ok(())
}

/// The agent has the workspace, and no other way to a file.
fn agent(workspace: &Workspace) -> Result<(), Box<dyn Error>> {
    let words = String::from_utf8(workspace.read("input/words.txt")?)?;
    let count = words.split_whitespace().count();
    workspace.write("output/count.txt", count.to_string().as_bytes())?;
    println!("the agent has counted {count} words");
    for path in ["/etc/passwd", "input/../../key.pem", "input/other.txt"] {
        let error = workspace.read(path).err().ok_or("an undeclared path was read")?;
        println!("read refused: {error}");
    }
    let error = workspace.write("input/words.txt", b"").err().ok_or("an input was written")?;
    println!("write refused: {error}");
    Ok(())
}
