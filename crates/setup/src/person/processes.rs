//! Processes as `/proc` shows them. What cannot be read is `None`, and whoever asks decides what that means.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A window on the processes of this machine.
#[derive(Debug, Clone)]
pub(super) struct Processes {
    /// `/proc`, but in tests.
    pub(super) proc: PathBuf,
}

/// Files of a process are read so far.
const LONGEST: u64 = 256 * 1024;

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) parent: u32,
    pub(super) session: u32,
    /// The number of its controlling terminal; 0 where it has none.
    pub(super) terminal: u32,
}

impl Processes {
    fn path(&self, process: u32, name: &str) -> PathBuf {
        self.proc.join(process.to_string()).join(name)
    }

    fn bytes(&self, process: u32, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(self.path(process, name)).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn text(&self, process: u32, name: &str) -> Option<String> {
        self.bytes(process, name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Its parent, session and terminal.
    pub(super) fn stat(&self, process: u32) -> Option<Stat> {
        let text = self.text(process, "stat")?;
        // The name stands in parentheses and may hold anything; the fields follow the last of them.
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        // A signed number in which the bits of a device stand.
        let terminal = fields.next()?.parse::<i32>().ok()?.cast_unsigned();
        Some(Stat { parent, session, terminal })
    }

    /// A line of `/proc/PID/status`.
    pub(super) fn status(&self, process: u32, name: &str) -> Option<String> {
        let text = self.text(process, "status")?;
        let value =
            |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(|value| value.trim().to_owned());
        text.lines().find_map(value)
    }

    /// The number of the user who runs it.
    pub(super) fn user(&self, process: u32) -> Option<u32> {
        self.status(process, "Uid")?.split_ascii_whitespace().next()?.parse().ok()
    }

    /// The name that it gives itself.
    pub(super) fn name(&self, process: u32) -> Option<String> {
        self.text(process, "comm").map(|name| name.trim_end().to_owned())
    }

    /// The file that it runs, under the name that it had.
    pub(super) fn program(&self, process: u32) -> Option<PathBuf> {
        let program = fs::read_link(self.path(process, "exe")).ok()?;
        let text = program.to_str()?;
        Some(text.strip_suffix(" (deleted)").map_or_else(|| program.clone(), PathBuf::from))
    }

    /// The words of its command line.
    pub(super) fn words(&self, process: u32) -> Option<Vec<String>> {
        let text = self.text(process, "cmdline")?;
        Some(text.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect())
    }

    /// The names of the variables that it was started with, where they are ours to read.
    pub(super) fn variables(&self, process: u32) -> Option<Vec<String>> {
        let text = self.text(process, "environ")?;
        let name = |entry: &str| entry.split_once('=').map(|(name, _)| name.to_owned());
        Some(text.split('\0').filter_map(name).collect())
    }

    /// The ranges of users that exist for it.
    pub(super) fn user_map(&self, process: u32) -> Option<Vec<String>> {
        let map = self.text(process, "uid_map")?;
        Some(map.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// One of its namespaces, by its number.
    pub(super) fn namespace(&self, process: u32, kind: &str) -> Option<PathBuf> {
        fs::read_link(self.path(process, "ns").join(kind)).ok()
    }

    /// All processes, by number.
    pub(super) fn all(&self) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(&self.proc) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// Whether it holds the other side of this pseudo-terminal; `None` where we may not look.
    pub(super) fn holds_master(&self, process: u32, index: u32) -> Option<bool> {
        let descriptors = fs::read_dir(self.path(process, "fd")).ok()?;
        for descriptor in descriptors.flatten() {
            let is_master = fs::read_link(descriptor.path()).is_ok_and(|to| is_multiplexor(&to));
            if is_master {
                let info = self.path(process, "fdinfo").join(descriptor.file_name());
                let info = fs::read_to_string(info).unwrap_or_default();
                let number = |line: &str| line.strip_prefix("tty-index:")?.trim().parse::<u32>().ok();
                // One that does not say which terminal it is might be any.
                if info.lines().find_map(number).is_none_or(|found| found == index) {
                    return Some(true);
                }
            }
        }
        Some(false)
    }
}

fn is_multiplexor(path: &Path) -> bool {
    matches!(path.to_str(), Some("/dev/ptmx" | "/dev/pts/ptmx"))
}

/// The number of a terminal as `/proc/PID/stat` writes it, of a descriptor's device.
pub(super) fn terminal_number(device: rustix::fs::Dev) -> Option<u32> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Some((minor & 0xff) | (major.checked_mul(256)?) | ((minor & !0xff).checked_mul(4096)?))
}

/// Which pseudo-terminal a number is; `None` where it is another kind of terminal.
pub(super) fn pseudo_terminal(terminal: u32) -> Option<u32> {
    let major = (terminal >> 8) & 0xfff;
    let minor = (terminal & 0xff) | ((terminal >> 12) & 0xfff00);
    (136..144).contains(&major).then(|| (major - 136) * 0x100_000 + minor)
}

/// Whether a number is that of a console, which the kernel makes.
pub(super) fn is_console(terminal: u32) -> bool {
    let (major, minor) = ((terminal >> 8) & 0xfff, terminal & 0xff);
    major == 4 && minor > 0 && minor < 64
}
