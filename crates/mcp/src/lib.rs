//! A workspace as five tools that an agent can be given instead of its own: `read_input`, `write_output`,
//! `list_declared`, `snapshot`, `receipt`. A Model Context Protocol server over stdin and stdout.
//!
//! Promise: [`serve`] gives whoever speaks on stdin what the workspace's declaration allows, and nothing else. What is
//! refused comes back as the answer of the tool, with the error's name and a form that passes, since a model reads that;
//! errors of the protocol stay errors of the protocol. stdout holds the protocol and stderr everything else.
//!
//! Against whom: an agent that names other files, and a client that sends anything at all. Which workspace it is, and
//! where receipts and denials are recorded, is settled before the first byte is read; nothing on stdin changes it.
//!
//! Reading order: [`serve`] → [`Keeper`] → `server` → `tools` → `lines`.

mod lines;
mod server;
mod tools;

use std::io;

use rmcp::service::{QuitReason, ServerInitializeError, serve_server};
use serde_json::Value;
use tokio::runtime::Builder;
use toolgate_workspace::{Error, Workspace};

use crate::lines::Lines;
use crate::server::Server;

/// What the server leaves to the one who runs it.
pub trait Keeper: Send + Sync + 'static {
    /// A call came to nothing. Whether that goes into a record is the keeper's to say; it does before the agent is told.
    fn failed(&self, tool: Tool, workspace: &Workspace, error: &Error);

    /// Signs a statement of the workspace as it is now, records it and keeps it.
    fn receipt(&self, workspace: &Workspace) -> Result<Signed, Error>;

    /// A call was answered; the workspace has other metrics now.
    fn answered(&self, workspace: &Workspace);
}

/// What an agent can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `read_input`
    ReadInput,
    /// `write_output`
    WriteOutput,
    /// `list_declared`
    ListDeclared,
    /// `snapshot`
    Snapshot,
    /// `receipt`
    Receipt,
}

/// A receipt that was made.
#[derive(Debug)]
pub struct Signed {
    /// What the agent is told: its name and what it is about.
    pub told: Value,
    /// The receipt, whole, for programs. A model has no use for it.
    pub envelope: Value,
}

/// Serves a workspace until stdin closes.
pub fn serve(workspace: Workspace, keeper: impl Keeper) -> io::Result<()> {
    // One thread for one client. A snapshot or a receipt of many files holds up what comes after it.
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let lines = Lines::new(tokio::io::stdin(), tokio::io::stdout());
    let served = runtime.block_on(async {
        match serve_server(Server::new(workspace, keeper), lines).await {
            Ok(running) => match running.waiting().await {
                Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
                Ok(_) => Ok(()),
            },
            // A client that looks whether the program starts, and goes.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(shortened(error.to_string()))),
        }
    });
    // Where the client broke the protocol, stdin is still open and a thread waits for it.
    runtime.shutdown_background();
    served
}

/// The start of what the client has sent, or of a message that quotes it: it may be as long as it likes.
fn shortened(mut text: String) -> String {
    const LONGEST: usize = 500;
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
    }
    text
}
