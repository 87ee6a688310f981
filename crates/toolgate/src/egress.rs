//! The way out of a sandbox whose network is a list: starts the proxy of one command, and hears what it has refused.
//!
//! Each command has a proxy of its own, a process that lives as long as its sandbox. Nobody else can speak to it: it has one end of a pair of
//! sockets, and the sandbox the other. Where it ends, nothing is open. It is not in the group of the call, so that background jobs keep it when a
//! host ends the call.
//!
//! In both programs; the proxy itself is in the whole one alone.

use std::path::Path;

use toolgate_gate::launch::Caller;
use toolgate_policies::{Containment, DeniedInside};
use toolgate_sandbox::Plan;

#[cfg(target_os = "linux")]
pub(crate) use linux::Egress;

/// The first word of its arguments.
#[cfg(target_os = "linux")]
pub(crate) const COMMAND: &str = "egress-proxy";

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, PipeReader, Read, Write, pipe};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::sync::Arc;

    use rustix::fs::{OFlags, fcntl_setfl};
    use toolgate_policies::unlisted;
    use toolgate_sandbox::{Egress as Way, Network};

    use super::{COMMAND, Caller, Containment, DeniedInside, Path, Plan};

    /// The proxy of a command, as its supervisor has it.
    pub(crate) struct Egress {
        refused: PipeReader,
    }

    /// Variables that lead programs to a proxy.
    const PROXIES: [&str; 5] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"];

    impl Egress {
        /// Starts the proxy where a plan needs one, and has the plan lead to it. `caller`: whose records the connections are, and where.
        pub(crate) fn open(
            plan: &mut Plan,
            terms: &Containment,
            caller: Option<(&Path, &Caller)>,
        ) -> Result<Option<Egress>, String> {
            if plan.network != Network::Listed {
                return Ok(None);
            }
            // Nothing of a proxy that a person has for their own programs can be reached.
            plan.environment.retain(|(name, _)| {
                !name
                    .to_str()
                    .is_some_and(|name| PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy)))
            });
            let mut begin = || -> io::Result<Egress> {
                let (socket, theirs) = UnixStream::pair()?;
                let (refused, refuse) = pipe()?;
                start(theirs.into(), refuse.into())?;
                let job = postcard::to_allocvec(&(&terms.hosts, caller)).map_err(io::Error::other)?;
                let length = u32::try_from(job.len()).map_err(io::Error::other)?;
                (&socket).write_all(&[&length.to_ne_bytes()[..], &job].concat())?;
                fcntl_setfl(&refused, OFlags::NONBLOCK)?;
                let ports = terms.hosts.ports().into_iter().collect();
                plan.egress = Some(Way { ports, socket: Arc::new(OwnedFd::from(socket)) });
                Ok(Egress { refused })
            };
            begin()
                .map(Some)
                .map_err(|error| format!("the proxy for listed hosts cannot be started: {error}"))
        }

        /// What it has refused so far.
        pub(crate) fn refused(&mut self) -> Vec<DeniedInside> {
            const MOST: u64 = 256 * 1024;
            let mut bytes = Vec::new();
            // It ends where nothing more is there: what was refused is told before the command knows of it.
            let _ = (&mut self.refused).take(MOST).read_to_end(&mut bytes);
            let text = String::from_utf8_lossy(&bytes);
            let told = text.lines().filter_map(|line| line.split_once('\t'));
            told.map(|(address, why)| unlisted(address, why)).collect()
        }
    }

    fn start(socket: OwnedFd, refuse: OwnedFd) -> io::Result<()> {
        let own = std::env::current_exe()?;
        // The small program has the whole one beside it.
        let program = if cfg!(feature = "cli") { own } else { own.with_file_name("toolgate-cli") };
        Command::new(program)
            .arg(COMMAND)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(socket))
            .stdout(Stdio::from(refuse))
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map(drop)
    }
}

/// Elsewhere there is no network of its own.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Egress;

#[cfg(not(target_os = "linux"))]
impl Egress {
    /// Nothing is run with a list there: the level that it needs is refused.
    pub(crate) fn open(
        _: &mut Plan,
        _: &Containment,
        _: Option<(&Path, &Caller)>,
    ) -> Result<Option<Egress>, String> {
        Ok(None)
    }

    /// Nothing.
    pub(crate) fn refused(&mut self) -> Vec<DeniedInside> {
        Vec::new()
    }
}
