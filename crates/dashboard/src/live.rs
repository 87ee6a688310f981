//! Calls as they come: server-sent events, read by the page's own script, since no other way of reading them sends a header.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;
use toolgate_evidence::Record;

use crate::hub::Hub;
use crate::log::Wanted;
use crate::pages::row;

/// So many events wait for a reader.
const WAITING: usize = 32;
/// A reader who takes nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// A word from time to time tells whether there is still a reader.
const STILL: Duration = Duration::from_secs(15);

/// One call, as the page puts it in.
#[derive(Serialize)]
struct Call {
    seq: u64,
    denied: bool,
    waiting: usize,
    row: String,
}

/// The calls that are wanted, from the one behind this number on, or from now on.
pub(crate) fn stream(hub: Arc<Hub>, wanted: Wanted, after: Option<u64>) -> Receiver<Bytes> {
    let (sender, receiver) = channel(WAITING);
    tokio::spawn(send(hub, wanted, after, sender));
    receiver
}

async fn send(hub: Arc<Hub>, wanted: Wanted, after: Option<u64>, sender: Sender<Bytes>) {
    let mut news = hub.listen();
    let mut last = after.unwrap_or_default();
    // What came while the page was made.
    let missed: Vec<Record> = match after {
        Some(after) => hub.watch().calls().filter(|record| record.seq > after).cloned().collect(),
        None => Vec::new(),
    };
    if !say(&sender, ": here\n\n".to_owned()).await {
        return;
    }
    for record in missed {
        last = last.max(record.seq);
        if !tell(&hub, &wanted, &record, &sender).await {
            return;
        }
    }
    loop {
        match timeout(STILL, news.recv()).await {
            Err(_) => {
                if !say(&sender, ": still here\n\n".to_owned()).await {
                    return;
                }
            }
            Ok(Ok(record)) if record.seq > last => {
                last = record.seq;
                if !tell(&hub, &wanted, &record, &sender).await {
                    return;
                }
            }
            Ok(Ok(_)) => {}
            Ok(Err(RecvError::Lagged(_))) => {
                if !say(&sender, "event: missed\ndata: {}\n\n".to_owned()).await {
                    return;
                }
            }
            Ok(Err(RecvError::Closed)) => return,
        }
    }
}

/// Whether there is still somebody to tell.
async fn tell(hub: &Hub, wanted: &Wanted, record: &Record, sender: &Sender<Bytes>) -> bool {
    let is_of_session = wanted.session.as_ref().is_none_or(|session| *session == record.session);
    if !is_of_session || !wanted.filter.wants(record) {
        return true;
    }
    let (waiting, row) = {
        let watch = hub.watch();
        (watch.waiting().len(), row(record, watch.code(record)).into_string())
    };
    let call = Call { seq: record.seq, denied: record.is_denied(), waiting, row };
    // JSON has no line breaks, so nothing in a call can begin an event of its own.
    let Ok(data) = serde_json::to_string(&call) else { return true };
    say(sender, format!("event: call\ndata: {data}\n\n")).await
}

async fn say(sender: &Sender<Bytes>, text: String) -> bool {
    timeout(PATIENCE, sender.send(Bytes::from(text))).await.is_ok_and(|sent| sent.is_ok())
}
