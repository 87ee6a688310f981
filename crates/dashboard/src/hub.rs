//! What is known without looking into the log: its end as it grows, and who waits. One thread reads; pages and live streams share what it has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::broadcast::{Receiver, Sender, channel};
use toolgate_evidence::proof::Cursor;
use toolgate_evidence::proof::index::{Query, search_back};
use toolgate_evidence::{LedgerError, Record, last_position};
use toolgate_watch::{Filter, Watch, is_notable};

use crate::Desk;

/// So many records of the past are read at the beginning.
const PAST: usize = 2_000;
/// So long is read for that at most.
const LONGEST: Duration = Duration::from_secs(5);
/// So many records are read at once.
const AT_ONCE: usize = 2_000;
/// How often new records are looked for.
const LOOK: Duration = Duration::from_millis(250);
/// The same, where the log has a line that is no record: then more is read.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How often it is looked who waits.
const ASK: Duration = Duration::from_secs(1);
/// So many calls wait for a live stream that is slow. One that has missed some is told to ask anew.
const BEHIND: usize = 256;

pub(crate) struct Hub {
    desk: Arc<dyn Desk>,
    watch: Mutex<Watch>,
    news: Sender<Arc<Record>>,
}

impl Hub {
    /// Begins to follow the log.
    pub(crate) fn following(desk: Arc<dyn Desk>) -> Arc<Hub> {
        let (news, _) = channel(BEHIND);
        let hub = Arc::new(Hub { desk, watch: Mutex::new(Watch::showing(Filter::default())), news });
        let weak = Arc::downgrade(&hub);
        thread::spawn(move || follow(&weak));
        hub
    }

    pub(crate) fn desk(&self) -> &dyn Desk {
        &*self.desk
    }

    /// What is known of the end of the log.
    pub(crate) fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls that come from now on.
    pub(crate) fn listen(&self) -> Receiver<Arc<Record>> {
        self.news.subscribe()
    }

    fn add(&self, record: Record, is_news: bool) {
        let time = humantime::parse_rfc3339(&record.time).map_or(0, seconds);
        if is_news && is_notable(&record) {
            // Nobody may be listening.
            let _ = self.news.send(Arc::new(record.clone()));
        }
        self.watch().add(record, time);
    }

    /// The end of the log as it is now. The number of its last record.
    fn begin(&self) -> u64 {
        let state = self.desk.state();
        let end = last_position(state).ok().flatten().map_or(0, |last| last.seq);
        let mut past = Vec::new();
        let _ = search_back(state, &Query::default(), end.saturating_add(1), LONGEST, |record| {
            past.push(record);
            past.len() < PAST
        });
        for record in past.into_iter().rev() {
            self.add(record, false);
        }
        end
    }
}

fn follow(hub: &Weak<Hub>) {
    let Some(mut end) = hub.upgrade().map(|hub| hub.begin()) else { return };
    let mut cursor = Cursor::after(end);
    let mut asked: Option<Instant> = None;
    // It ends with the server.
    while let Some(hub) = hub.upgrade() {
        let state = hub.desk.state().to_path_buf();
        let read = cursor.read(&state, AT_ONCE, |_, record| {
            end = record.seq;
            hub.add(record, true);
            Ok::<_, LedgerError>(())
        });
        let mut pause = LOOK;
        if read.is_err() {
            let mut news = Vec::new();
            let _ = search_back(&state, &Query::default(), u64::MAX, LONGEST, |record| {
                let is_new = record.seq > end && news.len() < AT_ONCE;
                if is_new {
                    news.push(record);
                }
                is_new
            });
            for record in news.into_iter().rev() {
                end = end.max(record.seq);
                hub.add(record, true);
            }
            pause = LOOK_AGAIN;
        }
        if asked.is_none_or(|asked| asked.elapsed() >= ASK) {
            let waiting = hub.desk.waiting();
            hub.watch().waits(waiting);
            asked = Some(Instant::now());
        }
        hub.watch().tick(seconds(SystemTime::now()));
        drop(hub);
        thread::sleep(pause);
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
