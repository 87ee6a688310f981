//! Looks names up, beside the loop: the C library's resolver waits.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::name::Name;

/// What looks a name up: the machine's resolver, or a test's.
pub type LookUp = Arc<dyn Fn(&Name) -> io::Result<Vec<IpAddr>> + Send + Sync>;

const THREADS: usize = 4;
const MOST_WAITING: usize = 1024;
const MOST_KEPT: usize = 4096;
const MOST_ADDRESSES: usize = 16;
/// How long an answer is used again. The addresses of some names change by the minute.
const LIFETIME: Duration = Duration::from_secs(30);

pub(super) struct Resolver {
    look_up: LookUp,
    asks: Option<SyncSender<Name>>,
    answers: Receiver<(Name, Vec<IpAddr>)>,
    answer: Sender<(Name, Vec<IpAddr>)>,
    wakes: PipeReader,
    wake: Arc<PipeWriter>,
    kept: BTreeMap<Name, (Instant, Vec<IpAddr>)>,
}

impl Resolver {
    pub(super) fn new(look_up: LookUp) -> io::Result<Resolver> {
        let (wakes, wake) = io::pipe()?;
        let (answer, answers) = channel();
        Ok(Resolver {
            look_up,
            asks: None,
            answers,
            answer,
            wakes,
            wake: Arc::new(wake),
            kept: BTreeMap::new(),
        })
    }

    /// Says when there are answers.
    pub(super) fn descriptor(&self) -> &PipeReader {
        &self.wakes
    }

    /// The addresses of a name, if they are known: none of one that has none.
    pub(super) fn known(&self, name: &Name) -> Option<Vec<IpAddr>> {
        let (at, addresses) = self.kept.get(name)?;
        (at.elapsed() < LIFETIME).then(|| addresses.clone())
    }

    /// Has a name looked up. `false`: too many are waiting.
    pub(super) fn ask(&mut self, name: &Name) -> bool {
        let asks = self.asks.get_or_insert_with(|| {
            let (asks, asked) = sync_channel(MOST_WAITING);
            let asked = Arc::new(Mutex::new(asked));
            for _ in 0..THREADS {
                let (asked, look_up) = (Arc::clone(&asked), Arc::clone(&self.look_up));
                let (answer, wake) = (self.answer.clone(), Arc::clone(&self.wake));
                thread::spawn(move || work(&asked, &look_up, &answer, &wake));
            }
            asks
        });
        !matches!(asks.try_send(name.clone()), Err(TrySendError::Full(_) | TrySendError::Disconnected(_)))
    }

    /// What has been answered since. Called when the descriptor says that there is something.
    pub(super) fn answered(&mut self) -> Vec<(Name, Vec<IpAddr>)> {
        // One byte for each; those that come meanwhile wake the loop again.
        let _ = self.wakes.read(&mut [0; 64]);
        let answers: Vec<_> = self.answers.try_iter().collect();
        for (name, addresses) in &answers {
            if self.kept.len() >= MOST_KEPT {
                self.kept.retain(|_, (at, _)| at.elapsed() < LIFETIME);
            }
            if self.kept.len() >= MOST_KEPT {
                self.kept.clear();
            }
            self.kept.insert(name.clone(), (Instant::now(), addresses.clone()));
        }
        answers
    }
}

fn work(
    asked: &Mutex<Receiver<Name>>,
    look_up: &LookUp,
    answer: &Sender<(Name, Vec<IpAddr>)>,
    wake: &PipeWriter,
) {
    loop {
        let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(name) = next else { return };
        let mut addresses = look_up(&name).unwrap_or_default();
        for address in &mut addresses {
            *address = address.to_canonical();
        }
        addresses.truncate(MOST_ADDRESSES);
        if answer.send((name, addresses)).is_err() {
            return;
        }
        let mut wake = wake;
        let _ = wake.write_all(&[0]);
    }
}
