//! One connection: what the program has said, where it goes, and the bytes between both.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::dns::{self, Question, Reply};
use crate::head::{Body, Chunks, Head, Target, names_http};
use crate::list::Request;
use crate::name::{Host, Name};

use super::first::{First, Socks, first, goal_of, socks};
use super::{Asker, CONNECTIONS, Event, MOST_QUESTIONS, Passed, Shared};

/// Whether a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    GoOn,
    End,
}

/// How the program's bytes are read.
#[derive(Debug)]
enum Reading {
    /// As the beginning of something. `inside`: of what a proxy was asked for, so nobody asks for another.
    First { inside: bool },
    /// As the request behind the greeting of SOCKS.
    SocksRequest,
    /// Not now: the answer to a proxy's request has to come first.
    Not,
    /// As the body of a request.
    Body(Body),
    /// As they are.
    Any,
    /// They are not: the request is over.
    Over,
    /// As questions to the resolver.
    Questions,
}

/// How a program that asks for a proxy is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    /// Not at all: the connection is reset.
    None,
    /// In those of HTTP.
    Http,
    /// In those of SOCKS.
    Socks,
}

/// The way to the server.
#[derive(Debug)]
enum Way {
    /// Nobody knows yet where to.
    Open,
    LookingUp(Name),
    Dialling {
        rest: Vec<SocketAddr>,
        until: Instant,
    },
    There,
}

/// One of the two ends.
#[derive(Debug)]
struct End {
    stream: TcpStream,
    /// What is still to be written to it.
    to_write: Vec<u8>,
    /// Nothing more is read from it.
    is_read: bool,
    /// Nothing more is written to it.
    is_shut: bool,
    /// What the loop waits for.
    waits: Option<EventFlags>,
}

impl End {
    fn new(stream: TcpStream) -> End {
        // What a program writes in small pieces it waits for.
        let _ = stream.set_nodelay(true);
        End { stream, to_write: Vec::new(), is_read: false, is_shut: false, waits: None }
    }

    /// Writes these bytes, and keeps what is not taken now.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while self.to_write.is_empty() && !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.to_write.extend_from_slice(rest);
        Ok(())
    }

    /// Writes what it takes.
    fn write(&mut self) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = self.to_write.get(done..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if done == self.to_write.len() {
            self.to_write = Vec::new();
        } else if done > 0 {
            self.to_write.drain(..done);
        }
        Ok(())
    }

    fn shut(&mut self) {
        if !self.is_shut && self.to_write.is_empty() {
            self.is_shut = true;
            let _ = self.stream.shutdown(Shutdown::Write);
        }
    }
}

pub(super) struct Connection {
    /// Its place, and a number that no other has.
    id: (usize, u64),
    client: End,
    server: Option<End>,
    /// What has been read from the program and not yet been understood.
    held: Vec<u8>,
    reading: Reading,
    way: Way,
    /// Where it goes, as far as that is known.
    goal: Option<Host>,
    port: u16,
    words: Words,
    /// What the program waits for before it goes on: the answer to a proxy's request.
    reply: Option<Vec<u8>>,
    began: Instant,
    moved: Instant,
    passed: Passed,
}

/// How long a program may take to say what it wants.
const TO_SAY: Duration = Duration::from_secs(30);
/// How long a server may take to answer the dial.
const TO_DIAL: Duration = Duration::from_secs(10);
/// How long nothing may pass.
const IDLE: Duration = Duration::from_hours(1);
/// So much is read of one side before the others have their turn.
const AT_ONCE: usize = 4;

/// Has whoever is connected find it broken off.
pub(super) fn reset(stream: impl AsFd) {
    let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

impl Connection {
    pub(super) fn new(
        client: TcpStream,
        id: (usize, u64),
        asks: bool,
        shared: &mut Shared,
    ) -> Option<Connection> {
        let to = client.local_addr().ok()?;
        let now = Instant::now();
        let port = to.port();
        let mut made = Connection {
            id,
            client: End::new(client),
            server: None,
            held: Vec::new(),
            reading: if asks { Reading::Questions } else { Reading::First { inside: false } },
            way: Way::Open,
            goal: None,
            port,
            words: Words::None,
            reply: None,
            began: now,
            moved: now,
            passed: Passed { host: to.ip().to_canonical().to_string(), port, ..Passed::default() },
        };
        if !asks && let Some(host) = shared.meant_by(to) {
            // Whoever speaks first is known only to the two of them, so the way is made at once.
            made.passed.host = host.to_string();
            let is_listed = shared.lists.judge(&host, port, Request::Any);
            made.goal = Some(host);
            if is_listed.is_ok() && made.find_way(shared) == Does::End {
                made.end(shared);
                return None;
            }
        }
        if made.settle(shared) == Does::End {
            made.end(shared);
            return None;
        }
        Some(made)
    }

    pub(super) fn is(&self, serial: u64) -> bool {
        self.id.1 == serial
    }

    /// Something has happened at one of the ends.
    pub(super) fn ready(&mut self, of_server: bool, flags: EventFlags, shared: &mut Shared) -> Does {
        let is_dialling = matches!(self.way, Way::Dialling { .. });
        let done = match (of_server, is_dialling) {
            (true, true) => self.dialled(shared),
            (true, false) => self.read_server(shared),
            (false, _) if flags.intersects(EventFlags::ERR) => Does::End,
            (false, _) => self.read_client(shared),
        };
        if done == Does::End { Does::End } else { self.settle(shared) }
    }

    pub(super) fn look_at_clock(&mut self, now: Instant, shared: &mut Shared) -> Does {
        if let Way::Dialling { until, .. } = self.way
            && now >= until
        {
            let done = self.dial_next(shared);
            return if done == Does::End { done } else { self.settle(shared) };
        }
        let says_nothing =
            matches!(self.reading, Reading::First { .. } | Reading::SocksRequest | Reading::Questions)
                && (self.server.is_none() || !self.held.is_empty())
                && self.began.elapsed() > TO_SAY;
        if says_nothing && self.goal.is_none() && !matches!(self.reading, Reading::Questions) {
            return self.refuse("it said nothing that names a host", shared);
        }
        if says_nothing || self.moved.elapsed() > IDLE { Does::End } else { Does::GoOn }
    }

    /// What is left to be told at its end.
    pub(super) fn end(&mut self, shared: &mut Shared) {
        let is_known = self.goal.is_some() || !self.passed.refused.is_empty() || self.passed.sent > 0;
        if is_known && !matches!(self.reading, Reading::Questions) {
            (shared.tell)(Event::Ended(std::mem::take(&mut self.passed)));
        }
    }

    fn read_client(&mut self, shared: &mut Shared) -> Does {
        if self.client.write().is_err() {
            return Does::End;
        }
        for _ in 0..AT_ONCE {
            if !self.reads_client() {
                break;
            }
            let mut scratch = std::mem::take(&mut shared.scratch);
            let read = self.client.stream.read(&mut scratch);
            let done = match read {
                Ok(0) => {
                    self.client.is_read = true;
                    Ok(Does::GoOn)
                }
                Ok(count) => {
                    self.moved = Instant::now();
                    self.take(scratch.get(..count).unwrap_or_default(), shared)
                }
                Err(error) => Err(error),
            };
            shared.scratch = scratch;
            match done {
                Ok(Does::GoOn) => {}
                Ok(Does::End) => return Does::End,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Does::End,
            }
        }
        if self.client.is_read { self.said_all(shared) } else { Does::GoOn }
    }

    /// The program says nothing more. Where it has said nothing at all, it may still listen.
    fn said_all(&mut self, shared: &mut Shared) -> Does {
        match self.reading {
            // Nor does what it has said become the line of a request any more.
            Reading::First { .. }
                if self.goal.is_some() && !names_http(&self.held) && !matches!(self.port, 80 | 443) =>
            {
                self.pass_on_unseen(None, shared).unwrap_or(Does::End)
            }
            Reading::First { .. } | Reading::SocksRequest | Reading::Not | Reading::Body(_) => Does::End,
            Reading::Any | Reading::Over | Reading::Questions => Does::GoOn,
        }
    }

    /// Whether there is room for what the program sends.
    fn reads_client(&self) -> bool {
        let has_room = self.server.as_ref().is_none_or(|server| server.to_write.is_empty())
            && self.client.to_write.len() < 4096;
        !self.client.is_read
            && match self.reading {
                Reading::Not => false,
                Reading::First { .. } | Reading::SocksRequest => true,
                Reading::Questions => has_room,
                Reading::Body(_) | Reading::Any => has_room && matches!(self.way, Way::There),
                // Read and dropped, so that its end is seen.
                Reading::Over => true,
            }
    }

    /// Goes on with bytes of the program.
    fn take(&mut self, bytes: &[u8], shared: &mut Shared) -> io::Result<Does> {
        match &mut self.reading {
            Reading::Any => self.send_on(bytes)?,
            Reading::Over => {}
            Reading::Body(_) => return self.take_body(bytes, shared),
            Reading::First { .. } | Reading::SocksRequest | Reading::Questions | Reading::Not => {
                self.held.extend_from_slice(bytes);
                return self.understand(shared);
            }
        }
        Ok(Does::GoOn)
    }

    fn send_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(server) = &mut self.server else { return Err(ErrorKind::NotConnected.into()) };
        self.passed.sent += bytes.len() as u64;
        server.send(bytes)
    }

    fn take_body(&mut self, bytes: &[u8], shared: &mut Shared) -> io::Result<Does> {
        let Reading::Body(body) = &mut self.reading else { return Ok(Does::GoOn) };
        let count = match body {
            Body::Bytes(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= here as u64;
                here
            }
            Body::Chunks(chunks) => match chunks.advance(bytes) {
                Some(here) => here,
                None => {
                    return Ok(self.refuse("the body of its request cannot be read in one way alone", shared));
                }
            },
        };
        let is_over = matches!(body, Body::Bytes(0) | Body::Chunks(Chunks::Done));
        if is_over {
            self.reading = Reading::Over;
        }
        if count > 0 {
            self.send_on(bytes.get(..count).unwrap_or_default())?;
        }
        Ok(Does::GoOn)
    }

    /// Understands what is held, as far as it goes.
    fn understand(&mut self, shared: &mut Shared) -> io::Result<Does> {
        match self.reading {
            Reading::First { inside } => match first(&self.held, self.port) {
                First::Unfinished => Ok(Does::GoOn),
                First::Bad(why) => Ok(self.refuse(why, shared)),
                First::Other => self.pass_on_unseen(None, shared),
                First::Tls(name) => self.pass_on_unseen(name, shared),
                First::Http(head) => self.request(&head, inside, shared),
                First::Socks(_) if inside => Ok(self.refuse("a proxy inside of a proxy", shared)),
                First::Socks(length) => {
                    self.words = Words::Socks;
                    self.held.drain(..length);
                    self.client.to_write.extend([5, 0]);
                    self.client.write()?;
                    self.reading = Reading::SocksRequest;
                    self.understand(shared)
                }
            },
            Reading::SocksRequest => match socks(&self.held) {
                Socks::Unfinished => Ok(Does::GoOn),
                Socks::Bad => Ok(self.refuse("its request of SOCKS names no host in a plain form", shared)),
                Socks::Connect(host, port, length) => {
                    self.held.drain(..length);
                    let reply = vec![5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
                    Ok(self.go_through(&host, port, reply, shared))
                }
            },
            Reading::Questions => self.questions(shared),
            Reading::Not | Reading::Body(_) | Reading::Any | Reading::Over => Ok(Does::GoOn),
        }
    }

    /// What cannot be looked into: TLS, whose first message names a host, and everything else.
    fn pass_on_unseen(&mut self, name: Option<Name>, shared: &mut Shared) -> io::Result<Does> {
        match (&self.goal, name) {
            (Some(Host::Name(goal)), Some(name)) if *goal != name => {
                self.passed.host = name.to_string();
                return Ok(self.refuse(
                    "TLS was begun with another host than the one that it was connected to",
                    shared,
                ));
            }
            // The address is listed by its own word, whatever it is called.
            (Some(_), _) => {}
            (None, Some(name)) => self.goal = Some(Host::Name(name)),
            (None, None) => return Ok(self.refuse("it is not listed", shared)),
        }
        let Some(goal) = self.goal.clone() else { return Ok(Does::End) };
        self.passed.host = goal.to_string();
        if let Err(why) = shared.lists.judge(&goal, self.port, Request::Unseen) {
            return Ok(self.refuse(&why.to_string(), shared));
        }
        self.reading = Reading::Any;
        let done = if matches!(self.way, Way::Open) { self.find_way(shared) } else { Does::GoOn };
        if done == Does::End { Ok(done) } else { self.let_go() }
    }

    /// A request of HTTP.
    fn request(&mut self, head: &Head, inside: bool, shared: &mut Shared) -> io::Result<Does> {
        self.words = Words::Http;
        let (host, port, is_for_proxy) = goal_of(head, self.port);
        if is_for_proxy && inside {
            return Ok(self.refuse("a proxy inside of a proxy", shared));
        }
        self.held.drain(..head.length.min(self.held.len()));
        let path = match &head.target {
            Target::Connect(..) => {
                let reply = b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec();
                return Ok(self.go_through(&host, port, reply, shared));
            }
            Target::Direct(_, _, path) | Target::Through(_, _, path) => path.clone(),
        };
        let goal = match &self.goal {
            Some(Host::Address(address)) if !is_for_proxy => Host::Address(*address),
            Some(Host::Name(name)) if !is_for_proxy && host != Host::Name(name.clone()) => {
                self.passed.host = host.to_string();
                return Ok(self.refuse("its `Host` is another one than it was connected to", shared));
            }
            _ => host,
        };
        if is_for_proxy {
            self.server = None;
            self.way = Way::Open;
            self.port = port;
        }
        (self.passed.host, self.passed.port) = (goal.to_string(), self.port);
        self.goal = Some(goal.clone());
        if let Err(why) =
            shared.lists.judge(&goal, self.port, Request::Http { method: &head.method, path: &path })
        {
            return Ok(self.refuse(&why.to_string(), shared));
        }
        let done = if matches!(self.way, Way::Open) { self.find_way(shared) } else { Does::GoOn };
        if done == Does::End {
            return Ok(done);
        }
        let body = std::mem::replace(&mut self.held, head.passed_on());
        self.reading = if head.body == Body::Bytes(0) { Reading::Over } else { Reading::Body(head.body) };
        // What of the body has come with the head follows it.
        if let Reading::Body(body_left) = &mut self.reading {
            let count = match body_left {
                Body::Bytes(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(body.len());
                    *left -= here as u64;
                    Some(here)
                }
                Body::Chunks(chunks) => chunks.advance(&body),
            };
            let Some(count) = count else {
                return Ok(self.refuse("the body of its request cannot be read in one way alone", shared));
            };
            let is_over = matches!(body_left, Body::Bytes(0) | Body::Chunks(Chunks::Done));
            self.held.extend(body.iter().take(count));
            if is_over {
                self.reading = Reading::Over;
            }
        }
        self.let_go()
    }

    /// A way that a proxy was asked for: its own words name the host.
    fn go_through(&mut self, host: &Host, port: u16, reply: Vec<u8>, shared: &mut Shared) -> Does {
        self.server = None;
        self.way = Way::Open;
        self.port = port;
        (self.passed.host, self.passed.port) = (host.to_string(), port);
        self.goal = Some(host.clone());
        if let Err(why) = shared.lists.judge(host, port, Request::Any) {
            return self.refuse(&why.to_string(), shared);
        }
        self.reply = Some(reply);
        self.reading = Reading::Not;
        self.find_way(shared)
    }

    /// Hands over what is held, once the way is there.
    fn let_go(&mut self) -> io::Result<Does> {
        if matches!(self.way, Way::There)
            && matches!(self.reading, Reading::Any | Reading::Body(_) | Reading::Over)
        {
            let held = std::mem::take(&mut self.held);
            if !held.is_empty() {
                self.send_on(&held)?;
            }
        }
        Ok(Does::GoOn)
    }

    /// Looks for the addresses of where it goes.
    fn find_way(&mut self, shared: &mut Shared) -> Does {
        match self.goal.clone() {
            Some(Host::Address(address)) => self.dial(&[address], shared),
            Some(Host::Name(name)) => match shared.addresses_of(&name) {
                Some(addresses) => self.dial_listed(&name, &addresses, shared),
                None if shared.waiting.len() < MOST_QUESTIONS && shared.resolver.ask(&name) => {
                    shared.waiting.push((name.clone(), Asker::Connection(self.id.0, self.id.1)));
                    self.way = Way::LookingUp(name);
                    Does::GoOn
                }
                None => self.fail("its name could not be looked up: too many are at once"),
            },
            None => Does::End,
        }
    }

    pub(super) fn looked_up(&mut self, addresses: &[IpAddr], shared: &mut Shared) -> Does {
        let Way::LookingUp(name) = &self.way else { return Does::GoOn };
        let name = name.clone();
        let done = self.dial_listed(&name, addresses, shared);
        if done == Does::End { done } else { self.settle(shared) }
    }

    /// Dials the addresses of a name that may be dialled: these, and not what the name leads to a moment later.
    fn dial_listed(&mut self, name: &Name, addresses: &[IpAddr], shared: &mut Shared) -> Does {
        let may = |address: &&IpAddr| shared.lists.may_dial(name, **address, self.port);
        let listed: Vec<IpAddr> = addresses.iter().filter(may).copied().collect();
        match (addresses, listed.as_slice()) {
            ([], _) => self.fail("there is no address of it"),
            ([first, ..], []) => {
                let why = format!("it leads to {first}, which is not public and not listed as an address");
                self.refuse(&why, shared)
            }
            (_, listed) => self.dial(listed, shared),
        }
    }

    fn dial(&mut self, addresses: &[IpAddr], shared: &mut Shared) -> Does {
        let rest = addresses.iter().rev().map(|address| SocketAddr::new(*address, self.port)).collect();
        self.way = Way::Dialling { rest, until: Instant::now() };
        self.dial_next(shared)
    }

    fn dial_next(&mut self, shared: &mut Shared) -> Does {
        self.server = None;
        loop {
            let Way::Dialling { rest, until } = &mut self.way else { return Does::GoOn };
            let Some(to) = rest.pop() else { return self.fail("it could not be connected to") };
            *until = Instant::now() + TO_DIAL;
            self.passed.address = Some(to.ip());
            let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let made =
                socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None);
            let Ok(socket) = made else { return self.fail("there are too many connections") };
            match connect(&socket, &to) {
                Ok(()) | Err(Errno::INPROGRESS) => {
                    self.server = Some(End::new(socket.into()));
                    return self.watch(shared);
                }
                Err(_) => {}
            }
        }
    }

    /// The dial has succeeded, or failed.
    fn dialled(&mut self, shared: &mut Shared) -> Does {
        let Some(server) = &self.server else { return Does::End };
        let failed = !matches!(sockopt::socket_error(&server.stream), Ok(Ok(())));
        if failed {
            return self.dial_next(shared);
        }
        if server.stream.peer_addr().is_err() {
            return Does::GoOn;
        }
        self.way = Way::There;
        self.moved = Instant::now();
        if let Some(reply) = self.reply.take() {
            self.words = Words::None;
            self.client.to_write.extend(reply);
            self.reading = Reading::First { inside: true };
            self.began = Instant::now();
            if self.client.write().is_err() || !matches!(self.understand(shared), Ok(Does::GoOn)) {
                return Does::End;
            }
        }
        if self.let_go().is_err() { Does::End } else { Does::GoOn }
    }

    fn read_server(&mut self, shared: &mut Shared) -> Does {
        for _ in 0..AT_ONCE {
            let Some(server) = &mut self.server else { return Does::GoOn };
            if server.write().is_err() {
                // It may have answered before it had all of the request.
                server.to_write.clear();
                server.is_shut = true;
            }
            if server.is_read || !self.client.to_write.is_empty() {
                return Does::GoOn;
            }
            match server.stream.read(&mut shared.scratch) {
                Ok(0) => server.is_read = true,
                Ok(count) => {
                    self.moved = Instant::now();
                    self.passed.received += count as u64;
                    if self.client.send(shared.scratch.get(..count).unwrap_or_default()).is_err() {
                        return Does::End;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Does::GoOn,
                Err(_) => {
                    reset(&self.client.stream);
                    return Does::End;
                }
            }
        }
        Does::GoOn
    }

    /// Passes ends on, and has the loop wait for what comes next.
    fn settle(&mut self, shared: &mut Shared) -> Does {
        if let Some(server) = &mut self.server
            && matches!(self.way, Way::There)
        {
            if self.client.is_read && matches!(self.reading, Reading::Any) {
                server.shut();
            }
            if server.is_read {
                self.client.shut();
                let is_request = matches!(self.reading, Reading::Body(_) | Reading::Over);
                if self.client.is_shut && (is_request || server.is_shut) {
                    return Does::End;
                }
            }
        }
        if matches!(self.reading, Reading::Questions)
            && self.client.is_read
            && self.client.to_write.is_empty()
        {
            return Does::End;
        }
        self.watch(shared)
    }

    fn watch(&mut self, shared: &mut Shared) -> Does {
        let token = CONNECTIONS + ((self.id.0 as u64) << 1);
        let mut of_client = EventFlags::empty();
        of_client.set(EventFlags::IN, self.reads_client());
        of_client.set(EventFlags::OUT, !self.client.to_write.is_empty());
        let mut done = wait_for(&shared.epoll, &mut self.client, of_client, token);
        let is_there = matches!(self.way, Way::There);
        let has_room = self.client.to_write.is_empty();
        if let Some(server) = &mut self.server {
            let mut of_server = EventFlags::empty();
            of_server.set(EventFlags::IN, is_there && !server.is_read && has_room);
            of_server.set(EventFlags::OUT, !is_there || !server.to_write.is_empty());
            done = done.and_then(|()| wait_for(&shared.epoll, server, of_server, token + 1));
        }
        if done.is_ok() { Does::GoOn } else { Does::End }
    }

    /// A refusal: told, noted, and answered in words where there are any.
    fn refuse(&mut self, why: &str, shared: &mut Shared) -> Does {
        shared.refuse(&self.passed.host, self.passed.port, why);
        why.clone_into(&mut self.passed.refused);
        let text = format!(
            "toolgate: `{}:{}` is not reached from the sandbox: {why}\n",
            self.passed.host, self.passed.port
        );
        match self.words {
            Words::Http => {
                self.say(format!(
                    "HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                    text.len()
                ).as_bytes());
            }
            Words::Socks => self.say(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]),
            Words::None => reset(&self.client.stream),
        }
        Does::End
    }

    /// A connection that could not be made, though it may be.
    fn fail(&mut self, why: &str) -> Does {
        match self.words {
            Words::Http => {
                let text = format!("toolgate: `{}:{}`: {why}\n", self.passed.host, self.passed.port);
                self.say(format!(
                    "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                    text.len()
                ).as_bytes());
            }
            Words::Socks => self.say(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0]),
            Words::None => reset(&self.client.stream),
        }
        Does::End
    }

    /// Best effort: the answer is short, and a program that does not read gets none.
    fn say(&mut self, bytes: &[u8]) {
        self.client.to_write.extend_from_slice(bytes);
        let _ = self.client.write();
        let _ = self.client.stream.shutdown(Shutdown::Write);
    }

    fn questions(&mut self, shared: &mut Shared) -> io::Result<Does> {
        /// Questions are short.
        const MOST: usize = 600;
        loop {
            let [high, low, rest @ ..] = self.held.as_slice() else { return Ok(Does::GoOn) };
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            if length > MOST {
                return Ok(Does::End);
            }
            let Some(message) = rest.get(..length) else { return Ok(Does::GoOn) };
            let Some(question) = dns::question(message) else { return Ok(Does::End) };
            self.held.drain(..length + 2);
            let (place, serial) = self.id;
            if let Some(reply) = shared.reply(&question, || Asker::Stream(place, serial, question.clone())) {
                self.answered(&question, reply)?;
            }
        }
    }

    pub(super) fn answer(&mut self, question: &Question, reply: Reply, shared: &mut Shared) -> Does {
        if self.answered(question, reply).is_err() { Does::End } else { self.settle(shared) }
    }

    fn answered(&mut self, question: &Question, reply: Reply) -> io::Result<()> {
        let message = question.answered(reply);
        let length = u16::try_from(message.len()).map_err(io::Error::other)?;
        self.client.to_write.extend(length.to_be_bytes());
        self.client.to_write.extend(message);
        self.client.write()
    }
}

/// Has the loop wait for this at one end, and for nothing where there is nothing to wait for: the kernel would tell of a closed end all the time.
fn wait_for(epoll: &OwnedFd, end: &mut End, flags: EventFlags, token: u64) -> rustix::io::Result<()> {
    let wanted = (!flags.is_empty()).then_some(flags);
    if end.waits == wanted {
        return Ok(());
    }
    match (end.waits, wanted) {
        (None, Some(flags)) => epoll::add(epoll, &end.stream, EventData::new_u64(token), flags)?,
        (Some(_), Some(flags)) => epoll::modify(epoll, &end.stream, EventData::new_u64(token), flags)?,
        (Some(_), None) => epoll::delete(epoll, &end.stream)?,
        (None, None) => {}
    }
    end.waits = wanted;
    Ok(())
}
