//! The proxy of one sandbox: takes its connections, and makes those that are listed.
//!
//! The sandbox has a network of its own, in which every address is its own too. Listeners of that network are handed to this process, which is
//! not in it. So the proxy takes what a program believes to send to somebody, and knows to whom by the address: one that it has given out
//! for a name, or a real one. Nothing else leads out, so this process is all there is: where it has ended, nothing is open.
//!
//! One thread waits for all connections; a few look names up. What is held for a connection is bounded, and read from one side no faster
//! than the other side takes it.

mod connection;
mod first;
mod names;
mod resolver;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event as Polled, EventData, EventFlags};
use rustix::net::{SocketFlags, accept_with};

use crate::dns::{self, Question, Reply};
use crate::list::Lists;
use crate::name::{Host, Name};

use connection::{Connection, Does};
use names::Names;
pub use resolver::LookUp;
use resolver::Resolver;

/// What the proxy has of a sandbox.
#[derive(Debug)]
pub struct Sandbox {
    /// Where connections come, at the ports of the list.
    pub listeners: Vec<TcpListener>,
    /// Where names are asked for.
    pub questions: UdpSocket,
    /// The same, for long answers, which there are none of.
    pub long_questions: TcpListener,
    /// Is at its end when the sandbox has ended.
    pub life: OwnedFd,
}

/// What the proxy tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Something was refused. Told before the program knows of it, and once for each host.
    Refused {
        /// The host, as far as the program has named it plainly.
        host: String,
        /// The port; 0 where a name was only asked for.
        port: u16,
        /// Why.
        why: String,
    },
    /// A connection has ended.
    Ended(Passed),
}

/// A connection that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passed {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address that was dialled, if any.
    pub address: Option<IpAddr>,
    /// Bytes from the program.
    pub sent: u64,
    /// Bytes to it.
    pub received: u64,
    /// Why it was refused; empty where it was not.
    pub refused: String,
}

/// Who is told. It must not wait: all connections wait for it.
pub type Tell = Box<dyn FnMut(Event)>;

/// So many connections at a time. Each takes two descriptors.
pub const MOST_CONNECTIONS: usize = 10_000;
const MOST_REFUSALS: usize = 256;
const MOST_QUESTIONS: usize = 1024;

const LIFE: u64 = 0;
const WAKE: u64 = 1;
const QUESTIONS: u64 = 2;
const LONG_QUESTIONS: u64 = 3;
const LISTENERS: u64 = 16;
const CONNECTIONS: u64 = 1 << 32;

/// Who waits for a name.
enum Asker {
    Datagram(SocketAddr, Question),
    Connection(usize, u64),
    Stream(usize, u64, Question),
}

/// What all connections share.
struct Shared {
    lists: Lists,
    names: Names,
    resolver: Resolver,
    waiting: Vec<(Name, Asker)>,
    tell: Tell,
    told: BTreeSet<String>,
    epoll: OwnedFd,
    /// What a connection reads into first.
    scratch: Vec<u8>,
}

/// Serves a sandbox until it has ended.
pub fn serve(sandbox: Sandbox, lists: Lists, look_up: LookUp, most: usize, tell: Tell) -> io::Result<()> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let resolver = Resolver::new(look_up)?;
    let add = |source: &dyn AsFd, token| {
        epoll::add(&epoll, source.as_fd(), EventData::new_u64(token), EventFlags::IN)
    };
    add(&sandbox.life, LIFE)?;
    add(resolver.descriptor(), WAKE)?;
    sandbox.questions.set_nonblocking(true)?;
    add(&sandbox.questions, QUESTIONS)?;
    let listeners = sandbox.listeners.iter().zip(LISTENERS..);
    for (listener, token) in listeners.chain([(&sandbox.long_questions, LONG_QUESTIONS)]) {
        listener.set_nonblocking(true)?;
        add(listener, token)?;
    }
    let shared = Shared {
        lists,
        names: Names::default(),
        resolver,
        waiting: Vec::new(),
        tell,
        told: BTreeSet::new(),
        epoll,
        scratch: vec![0; 64 * 1024],
    };
    Proxy { sandbox, shared, connections: Vec::new(), free: Vec::new(), open: 0, most, serial: 0 }.run()
}

struct Proxy {
    sandbox: Sandbox,
    shared: Shared,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    open: usize,
    most: usize,
    serial: u64,
}

impl Proxy {
    fn run(mut self) -> io::Result<()> {
        /// How often old connections are looked for.
        const SWEEP: Duration = Duration::from_secs(1);
        let mut events: Vec<Polled> = Vec::with_capacity(256);
        let mut swept = Instant::now();
        loop {
            // A time limit is only needed where something could pass it.
            let patience = (self.open > 0).then_some(Timespec { tv_sec: 1, tv_nsec: 0 });
            events.clear();
            match epoll::wait(&self.shared.epoll, spare_capacity(&mut events), patience.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut is_over = false;
            let mut ended = Vec::new();
            for event in &events {
                match event.data.u64() {
                    LIFE => is_over = true,
                    WAKE => self.names_known(&mut ended),
                    QUESTIONS => self.answer_datagrams(),
                    LONG_QUESTIONS => self.accept(None),
                    token @ LISTENERS..CONNECTIONS => self.accept(usize::try_from(token - LISTENERS).ok()),
                    token => {
                        let Ok(place) = usize::try_from((token - CONNECTIONS) >> 1) else { continue };
                        self.with(place, &mut ended, |connection, shared| {
                            connection.ready(token & 1 == 1, event.flags, shared)
                        });
                    }
                }
            }
            if is_over {
                // All programs of the sandbox are gone. What they were sent nobody reads.
                self.connections.iter_mut().flatten().for_each(|connection| connection.end(&mut self.shared));
                return Ok(());
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                for place in 0..self.connections.len() {
                    self.with(place, &mut ended, |connection, shared| {
                        connection.look_at_clock(swept, shared)
                    });
                }
            }
            // Not before all events of this round are done with: one of them may be about what has ended.
            self.free.append(&mut ended);
        }
    }

    /// Does something with a connection, and drops it if that has ended it.
    fn with(
        &mut self,
        place: usize,
        ended: &mut Vec<usize>,
        work: impl FnOnce(&mut Connection, &mut Shared) -> Does,
    ) {
        let Some(slot) = self.connections.get_mut(place) else { return };
        let Some(connection) = slot.as_mut() else { return };
        if work(connection, &mut self.shared) == Does::End {
            connection.end(&mut self.shared);
            *slot = None;
            self.open -= 1;
            ended.push(place);
        }
    }

    /// Takes what has come to a listener. `None`: the one for questions.
    fn accept(&mut self, listener: Option<usize>) {
        /// Others have their turn, too.
        const AT_ONCE: usize = 64;
        for _ in 0..AT_ONCE {
            let of_ports = listener.map(|listener| self.sandbox.listeners.get(listener));
            let Some(listener) = of_ports.unwrap_or(Some(&self.sandbox.long_questions)) else { return };
            let accepted = accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC);
            let Ok(client) = accepted else { return };
            if self.open >= self.most {
                connection::reset(&client);
                continue;
            }
            let place = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            self.serial += 1;
            let made =
                Connection::new(client.into(), (place, self.serial), of_ports.is_none(), &mut self.shared);
            match made {
                Some(connection) => {
                    if let Some(slot) = self.connections.get_mut(place) {
                        *slot = Some(Box::new(connection));
                    }
                    self.open += 1;
                }
                None => self.free.push(place),
            }
        }
    }

    fn answer_datagrams(&mut self) {
        const AT_ONCE: usize = 64;
        let mut message = [0; 1500];
        for _ in 0..AT_ONCE {
            let (length, from) = match self.sandbox.questions.recv_from(&mut message) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let Some(question) = message.get(..length).and_then(dns::question) else { continue };
            if let Some(reply) = self.shared.reply(&question, || Asker::Datagram(from, question.clone())) {
                let _ = self.sandbox.questions.send_to(&question.answered(reply), from);
            }
        }
    }

    /// Goes on with whoever has waited for a name.
    fn names_known(&mut self, ended: &mut Vec<usize>) {
        for (name, addresses) in self.shared.resolver.answered() {
            let (known, waiting) =
                std::mem::take(&mut self.shared.waiting).into_iter().partition(|(asked, _)| *asked == name);
            self.shared.waiting = waiting;
            let known: Vec<(Name, Asker)> = known;
            for (_, asker) in known {
                match asker {
                    Asker::Datagram(to, question) => {
                        let reply = self.shared.reply_by(&name, &addresses);
                        let _ = self.sandbox.questions.send_to(&question.answered(reply), to);
                    }
                    Asker::Stream(place, serial, question) => {
                        let reply = self.shared.reply_by(&name, &addresses);
                        self.with(place, ended, |connection, shared| {
                            if connection.is(serial) {
                                connection.answer(&question, reply, shared)
                            } else {
                                Does::GoOn
                            }
                        });
                    }
                    Asker::Connection(place, serial) => self.with(place, ended, |connection, shared| {
                        if connection.is(serial) {
                            connection.looked_up(&addresses, shared)
                        } else {
                            Does::GoOn
                        }
                    }),
                }
            }
        }
    }
}

impl Shared {
    /// The answer to a question. `None`: later, when the name is known.
    fn reply(&mut self, question: &Question, asker: impl FnOnce() -> Asker) -> Option<Reply> {
        let Some(name) = question.name.clone() else { return Some(Reply::NoName) };
        if !self.lists.knows(&name) {
            self.refuse(name.as_str(), 0, "it is not listed");
            return Some(Reply::NoName);
        }
        match self.addresses_of(&name) {
            Some(addresses) => Some(self.reply_by(&name, &addresses)),
            None if self.waiting.len() < MOST_QUESTIONS && self.resolver.ask(&name) => {
                self.waiting.push((name, asker()));
                None
            }
            None => Some(Reply::NotNow),
        }
    }

    fn reply_by(&mut self, name: &Name, addresses: &[IpAddr]) -> Reply {
        if addresses.is_empty() {
            return Reply::NoName;
        }
        self.names.address_of(name).map_or(Reply::NotNow, Reply::Address)
    }

    /// Where a name leads, if that is known.
    fn addresses_of(&self, name: &Name) -> Option<Vec<IpAddr>> {
        self.lists.leads(name).or_else(|| self.resolver.known(name))
    }

    /// Tells of a refusal, once for each host.
    fn refuse(&mut self, host: &str, port: u16, why: &str) {
        if self.told.len() >= MOST_REFUSALS || self.told.contains(host) {
            return;
        }
        // Resolvers try a name that is not there below the machine's own domains, too.
        let is_searched =
            |told: &String| host.strip_prefix(told.as_str()).is_some_and(|rest| rest.starts_with('.'));
        if port == 0 && self.told.iter().any(is_searched) {
            return;
        }
        self.told.insert(host.to_owned());
        (self.tell)(Event::Refused { host: host.to_owned(), port, why: why.to_owned() });
    }

    /// What a destination of the sandbox is known to be: a name that was given the address, or an address of the list.
    fn meant_by(&self, to: SocketAddr) -> Option<Host> {
        let address = to.ip().to_canonical();
        if let IpAddr::V4(address) = address
            && let Some(name) = self.names.name_of(address)
        {
            return Some(Host::Name(name.clone()));
        }
        let host = Host::Address(address);
        self.lists.judge(&host, to.port(), crate::list::Request::Any).is_ok().then_some(host)
    }
}
