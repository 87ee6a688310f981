//! The process that takes the connections of one sandbox. `egress.rs` starts it, with a socket as its standard input and a pipe as its output.

use std::fs;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, TcpListener, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use toolgate_egress::proxy::{Event, MOST_CONNECTIONS, Passed, Sandbox, serve};
use toolgate_egress::{Lists, Name};
use toolgate_evidence::{Draft, Ledger};
use toolgate_gate::launch::Caller;
use toolgate_gate::process;
use toolgate_hosts::host;
use toolgate_model::Decision;
use toolgate_sandbox::{HANDED_OVER, MOST_PORTS};
use toolgate_secrets::redact;

use crate::egress::COMMAND;

/// The event of a record about a connection.
const CONNECTION: &str = "connection";
/// A list has a thousand entries.
const MOST_JOB: usize = 16 * 1024 * 1024;
/// What waits to be written into the log. Beyond that connections are not recorded, rather than held up.
const MOST_UNWRITTEN: usize = 4096;

/// Reads the arguments of this process, and does what they ask for. `None`: they are for others to read.
pub fn of_arguments() -> Option<ExitCode> {
    process::words().nth(1).filter(|word| word == COMMAND)?;
    Some(if run().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run() -> io::Result<()> {
    let mut life = fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut length = [0; 4];
    life.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_ne_bytes(length)).ok().filter(|length| *length <= MOST_JOB);
    let mut job = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
    life.read_exact(&mut job)?;
    let (lists, caller): (Lists, Option<(PathBuf, Caller)>) =
        postcard::from_bytes(&job).map_err(io::Error::other)?;
    let mut handed = take_descriptors(&life)?.into_iter();
    let (Some(questions), Some(long_questions)) = (handed.next(), handed.next()) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let sandbox = Sandbox {
        listeners: handed.map(TcpListener::from).collect(),
        questions: UdpSocket::from(questions),
        long_questions: TcpListener::from(long_questions),
        life: life.into(),
    };
    let refused = io::stdout().as_fd().try_clone_to_owned()?;
    fcntl_setfl(&refused, OFlags::NONBLOCK)?;
    let mut refused = fs::File::from(refused);
    let (note, notes) = sync_channel(MOST_UNWRITTEN);
    let recorder = thread::spawn(move || record_all(caller.as_ref(), &notes));
    let tell = Box::new(move |event| match event {
        Event::Refused { host, port, why } => {
            let port = if port == 0 { String::new() } else { format!(":{port}") };
            let shown = if host.contains(':') && !port.is_empty() { format!("[{host}]") } else { host };
            // One write, so that no line is cut off. Nobody may be listening any more.
            let _ = refused.write_all(format!("{shown}{port}\t{why}\n").as_bytes());
        }
        Event::Ended(passed) => {
            let _ = note.try_send(passed);
        }
    });
    let served = serve(sandbox, lists, Arc::new(look_up), most_connections(), tell);
    let _ = recorder.join();
    served
}

/// The descriptors that the sandbox has handed over. It says nothing else, ever.
fn take_descriptors(life: &fs::File) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_PORTS + 2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = recvmsg(life, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes != 1 || byte != [HANDED_OVER] {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let messages = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(messages.flatten().collect())
}

fn look_up(name: &Name) -> io::Result<Vec<IpAddr>> {
    // A dot at the end: the machine's own domains are not tried.
    let found = (format!("{name}."), 0).to_socket_addrs()?;
    Ok(found.map(|address| address.ip()).collect())
}

/// As many as there are descriptors for.
fn most_connections() -> usize {
    const OTHERS: u64 = 128;
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = current.saturating_sub(OTHERS) / 2;
    usize::try_from(most).unwrap_or(usize::MAX).clamp(1, MOST_CONNECTIONS)
}

/// Writes each connection into the log of its caller.
fn record_all(caller: Option<&(PathBuf, Caller)>, notes: &Receiver<Passed>) {
    const PATIENCE: Duration = Duration::from_secs(5);
    for passed in notes {
        let Some((state, caller)) = caller else { continue };
        let Some(host) = host(&caller.host) else { continue };
        let address = passed.address.map(|address| address.to_string()).unwrap_or_default();
        let draft = Draft::new(SystemTime::now(), host.id(), redact(CONNECTION))
            .session(redact(&caller.session))
            .call(redact(&caller.call))
            .agent(redact(&caller.agent))
            .tool(redact(&caller.tool))
            .root(redact(&caller.root))
            .rules(&caller.rules)
            .toolgate(env!("CARGO_PKG_VERSION"))
            .decision(Decision::Contain)
            .connection(
                (redact(&passed.host), passed.port, address),
                (passed.sent, passed.received),
                redact(&passed.refused),
            );
        let _ = Ledger::at(state).append(draft, Instant::now() + PATIENCE);
    }
}
