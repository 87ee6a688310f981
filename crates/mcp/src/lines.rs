//! Messages on lines: one JSON text each, in both directions.
//!
//! Why not the SDK's own: a message that is too long or of a strange form is dropped there, and its sender waits for an
//! answer until it gives up. Here it gets one.
//!
//! Against whom: a client that never ends its line. No more of a line is kept than [`LONGEST`].

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use crate::shortened;

/// The longest line. The largest file that can be written fits as base64, and as text unless most of it has to be escaped.
pub(crate) const LONGEST: usize = 8 * 1024 * 1024;

/// What is kept of both ends of a line that is too long: the request's number stands in one of them.
const END: usize = 256;

pub(crate) struct Lines<R, W> {
    read: BufReader<R>,
    /// What has come of the line so far. Outlives a read that is given up in the middle, as the SDK does when it has
    /// something to send.
    line: Vec<u8>,
    /// The line is too long, and only its ends are in `line`.
    too_long: bool,
    write: Arc<Mutex<W>>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Lines<R, W> {
    pub(crate) fn new(read: R, write: W) -> Lines<R, W> {
        Lines {
            read: BufReader::new(read),
            line: Vec::new(),
            too_long: false,
            write: Arc::new(Mutex::new(write)),
        }
    }

    /// The next line and whether all of it is there; `None` at the end. What stands before the end without a newline is no
    /// line: its sender was cut off.
    async fn next(&mut self) -> io::Result<Option<(Vec<u8>, bool)>> {
        loop {
            let piece = self.read.fill_buf().await?;
            if piece.is_empty() {
                return Ok(None);
            }
            let (part, ends) = match piece.iter().position(|byte| *byte == b'\n') {
                Some(at) => (piece.get(..at).unwrap_or_default(), true),
                None => (piece, false),
            };
            let used = part.len() + usize::from(ends);
            self.line.extend_from_slice(part);
            self.read.consume(used);
            if self.line.len() > if self.too_long { 4 * END } else { LONGEST } {
                self.too_long = true;
                let last = self.line.len().saturating_sub(END);
                self.line.drain(END..last);
                self.line.shrink_to_fit();
            }
            if ends {
                let whole = !std::mem::take(&mut self.too_long);
                return Ok(Some((std::mem::take(&mut self.line), whole)));
            }
        }
    }

    async fn refuse(&mut self, why: String, id: Option<RequestId>) -> io::Result<()> {
        let message = TxJsonRpcMessage::<RoleServer>::error(ErrorData::invalid_request(why, None), id);
        send(&self.write, &message).await
    }

    async fn message(&mut self) -> io::Result<Option<RxJsonRpcMessage<RoleServer>>> {
        while let Some((line, whole)) = self.next().await? {
            if !whole {
                let why = format!("the message is longer than {LONGEST} bytes; send less at once");
                self.refuse(why, id_in(&line)).await?;
                continue;
            }
            let Ok(value) = serde_json::from_slice::<Value>(&line) else {
                // It has no number that an answer could name, and an answer to nothing may be answered in turn.
                if !line.trim_ascii().is_empty() {
                    note("a line on stdin is not JSON");
                }
                continue;
            };
            drop(line);
            let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            match serde_json::from_value(value) {
                Ok(message) => return Ok(Some(message)),
                // Others may say what we do not know, as long as they want no answer.
                Err(_) if id.is_none() => note("a message on stdin is not one of the protocol"),
                Err(error) => {
                    let why = shortened(format!("this is not a message of the protocol: {error}"));
                    self.refuse(why, id).await?;
                }
            }
        }
        Ok(None)
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move { send(&write, &message).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.message().await.unwrap_or_else(|error| {
            note(&format!("the client is gone: {error}"));
            None
        })
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.shutdown().await
    }
}

async fn send<W: AsyncWrite + Unpin>(
    write: &Mutex<W>,
    message: &TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

/// The number of a request of which both ends are known. Inside a text the quotes would have backslashes, and no tool has
/// an argument of this name.
fn id_in(ends: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(ends);
    let (_, rest) = text.split_once("\"id\":")?;
    serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()
}

fn note(what: &str) {
    use std::io::Write;
    let _ = writeln!(io::stderr(), "toolgate: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    /// What arrives of `sent`, as methods; and what is answered at once.
    fn exchange(sent: &[u8]) -> (Vec<String>, Vec<Value>) {
        run(async {
            let (write, read) = tokio::io::duplex(1024 * 1024);
            let mut lines = Lines::new(sent, write);
            let mut methods = Vec::new();
            while let Some(message) = lines.receive().await {
                let value = serde_json::to_value(&message).unwrap();
                methods.push(value["method"].as_str().unwrap().to_owned());
            }
            drop(lines);
            let mut answers = Vec::new();
            let mut reader = BufReader::new(read).lines();
            while let Some(line) = reader.next_line().await.unwrap() {
                answers.push(serde_json::from_str(&line).unwrap());
            }
            (methods, answers)
        })
    }

    #[test]
    fn a_message_that_is_too_long_is_answered_with_an_error() {
        let long = "x".repeat(LONGEST + 10);
        let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
        for (line, id) in [
            (
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"x":"{long}"}}}}"#),
                Value::from(7),
            ),
            (
                format!(r#"{{"method":"ping","params":{{"x":"{long}"}},"jsonrpc":"2.0","id":"a"}}"#),
                Value::from("a"),
            ),
            (long.clone(), Value::Null),
        ] {
            let (methods, answers) = exchange(format!("{line}\n{ping}\n").as_bytes());
            assert_eq!(methods, ["ping"], "the next one arrives");
            assert_eq!(answers.len(), 1);
            assert_eq!(answers[0]["error"]["code"], -32600);
            assert_eq!(answers[0].get("id").cloned().unwrap_or_default(), id);
        }
    }

    #[test]
    fn an_endless_line_is_not_kept_in_memory() {
        run(async {
            let (mut client, read) = tokio::io::duplex(64 * 1024);
            let mut lines = Lines::new(read, tokio::io::sink());
            let piece = vec![b'x'; 1024 * 1024];
            let send = async move {
                for _ in 0..64 {
                    client.write_all(&piece).await.unwrap();
                }
            };
            let ((), kept) = tokio::join!(send, async {
                assert!(lines.next().await.unwrap().is_none());
                lines.line.capacity()
            });
            assert!(kept < 64 * 1024, "{kept}");
        });
    }

    #[test]
    fn malformed_messages_are_skipped_or_answered_with_an_error() {
        let (methods, answers) = exchange(
            [
                "not json",
                "",
                "\u{feff}",
                "\0\0",
                "[]",
                "3",
                "null",
                r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":2}"#,
                r#"{"jsonrpc":"2.0","method":"$/unknown"}"#,
                r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#,
            ]
            .join("\n")
            .as_bytes(),
        );
        assert_eq!(methods, ["$/unknown", "ping"]);
        let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(ids, [1, 2], "the last line has no end, and is none");
    }

    #[test]
    fn a_line_that_is_not_text_is_skipped() {
        let (methods, answers) =
            exchange(b"\xff\xfe\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n");
        assert_eq!((methods.as_slice(), answers.len()), (["ping".to_owned()].as_slice(), 0));
    }
}
