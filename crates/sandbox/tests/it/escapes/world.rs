//! A throw-away world for one attempt: a home, our own state, a repository with two worktrees, sockets, terminals and another
//! process. An attempt has succeeded if the world shows it: something outside of the worktree has changed, a secret came
//! out, a connection arrived, the other process was touched.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, lchown, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags, XattrFlags, lgetxattr, llistxattr, setxattr};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Files that hold the secret. No attempt may print it.
const SECRETS: &[&str] = &[
    "home/.ssh/id_ed25519",
    "home/.aws/credentials",
    "home/.netrc",
    "home/.config/gh/hosts.yml",
    "home/.bash_history",
    "home/.claude/history.jsonl",
    "home/.cargo/credentials.toml",
    "state/keys/signing",
    "state/sessions/one/terms",
    "state/sessions/two/terms",
    "main/.env",
    "trees/two/.env",
    "trees/one/.env",
    "trees/one/config/secret.env",
    "trees/one/vault/key",
    "home/.cargo/vault/key",
    "tmp/other-session",
    "tmp/output",
];

/// Files that hold nothing secret, and what is in them. `@` is the world's root.
const FILES: &[(&str, &str)] = &[
    ("home/.bashrc", "# start\n"),
    ("home/.profile", "# start\n"),
    ("home/.gitconfig", "[user]\n\tname = me\n"),
    ("home/.claude/settings.json", "{}\n"),
    ("home/.cargo/config.toml", "[net]\n"),
    ("home/.cargo/bin/tool", "#!/bin/sh\n"),
    ("home/.cache/pip/wheel", "wheel\n"),
    ("home/.npm/index", "index\n"),
    ("home/bin/toolgate", "#!/bin/sh\n"),
    ("home/.config/toolgate/toolgate.toml", "\n"),
    ("home/.config/autostart/login.desktop", "[Desktop Entry]\n"),
    ("state/pins/one.toml", "root = \"trees/one\"\n"),
    ("state/trust", "nothing\n"),
    ("state/ledger", "1 ls\n"),
    ("main/src.txt", "main\n"),
    ("main/.git/HEAD", "ref: refs/heads/main\n"),
    ("main/.git/config", "[core]\n\tbare = false\n"),
    ("main/.git/packed-refs", "# pack-refs with: peeled\n"),
    ("main/.git/info/exclude", "\n"),
    ("main/.git/hooks/pre-commit", "#!/bin/sh\n"),
    ("main/.git/objects/info/packs", "\n"),
    ("main/.git/refs/heads/main", "0000000000000000000000000000000000000001\n"),
    ("main/.git/refs/tags/v1", "0000000000000000000000000000000000000001\n"),
    ("main/.git/logs/refs/heads/main", "\n"),
    ("main/.git/worktrees/one/HEAD", "ref: refs/heads/one\n"),
    ("main/.git/worktrees/one/commondir", "../..\n"),
    ("main/.git/worktrees/one/gitdir", "@/trees/one/.git\n"),
    ("main/.git/worktrees/two/HEAD", "ref: refs/heads/two\n"),
    ("main/.git/worktrees/two/commondir", "../..\n"),
    ("main/.git/worktrees/two/gitdir", "@/trees/two/.git\n"),
    ("trees/one/.git", "gitdir: @/main/.git/worktrees/one\n"),
    ("trees/one/.claude/settings.json", "{}\n"),
    ("trees/one/src/lib.rs", "//! one\n"),
    ("trees/one/build/out", "built\n"),
    ("trees/two/.git", "gitdir: @/main/.git/worktrees/two\n"),
    ("trees/two/src.txt", "two\n"),
    ("spool/cron/me", "# m h dom mon dow command\n"),
];

/// Where the services of a desktop and of other programs listen.
const SERVICES: &[&str] = &[
    "run/ssh-agent",
    "run/gpg-agent",
    "run/docker.sock",
    "run/bus",
    "run/systemd-private",
    "run/tmux-default",
    "run/wayland-0",
    "run/X0",
    "run/kitty",
    "state/gate.sock",
    "home/.cargo/daemon",
];

/// What the attempt may change: these are not looked at.
const ITS_OWN: &[&str] = &[
    "trees/one",
    "tmp/output",
    "state/sessions/one/tmp",
    "state/sessions/one/layers",
    "state/sessions/one/git",
    "state/sessions/one/quarantine",
    "state/sessions/one/standing",
    "state/sessions/one/turn",
    "state/sessions/in-use",
    "main/.git/worktrees/one",
    "main/.git/objects",
    "main/.git/logs",
    "clone",
];
/// What is made new between two attempts.
const RESTORED: &[&str] =
    &["trees/one", "state/sessions/one/tmp", "state/sessions/one/layers", "main/.git/worktrees/one"];
/// What it may not change though it lies in a place of its own.
const KEPT: &[&str] = &[
    "trees/one/.git",
    "trees/one/.claude/settings.json",
    "main/.git/worktrees/one/commondir",
    "main/.git/objects/info/packs",
    "main/.git/objects/info/alternates",
];
/// What it may not change in a plain clone, but for times: level `landlock` puts it back.
const KEPT_IN_CLONE: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "info/attributes",
    "objects/info/alternates",
    "worktrees",
    "modules",
    "refs/heads/other",
];
/// Directories in which the launcher makes something itself.
const MADE_IN: &[&str] = &["state/sessions", "state/sessions/one"];

/// Who makes the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct User {
    /// `None`: whoever runs the tests.
    pub(crate) other: Option<u32>,
    pub(crate) word: &'static str,
}

impl User {
    /// A command that this user runs.
    pub(crate) fn command(self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let Some(id) = self.other else { return Command::new(program) };
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id.to_string(), "--regid", &id.to_string(), "--clear-groups", "--"]);
        command.arg(program);
        command
    }
}

/// What a world needs beside its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Another process of the same user.
    Victim,
    /// Memory, queues and keys of that process.
    Shared,
    /// A terminal for the attempt, and one of somebody else.
    Terminals,
    /// Programs that run with more rights than who starts them. Only root can make them.
    Privileged,
    /// A plain clone of git with a hook, a submodule's repository and a linked worktree.
    Clone,
}

pub(crate) struct World {
    pub(crate) root: PathBuf,
    pub(crate) user: User,
    secret: String,
    services: Vec<(&'static str, UnixListener)>,
    abstracts: UnixListener,
    datagrams: UnixDatagram,
    tcp: TcpListener,
    udp: UdpSocket,
    victim: Option<Victim>,
    pub(crate) terminal: Option<Terminal>,
    other_terminal: Option<Terminal>,
    before: BTreeMap<PathBuf, String>,
}

impl World {
    pub(crate) fn new(root: PathBuf, user: User) -> io::Result<World> {
        let secret = fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().to_owned();
        fs::DirBuilder::new().mode(0o700).create(&root)?;
        for path in ["run", "state/sessions/one/tmp", "main/.git/logs/refs/heads"] {
            fs::create_dir_all(root.join(path))?;
        }
        fill(&root, &secret, |_| true)?;
        symlink(root.join("home/.ssh"), root.join("home/keys"))?;
        for program in ["home/.cargo/bin/tool", "home/bin/toolgate"] {
            fs::set_permissions(root.join(program), fs::Permissions::from_mode(0o755))?;
        }
        fs::set_permissions(root.join("home/.ssh/id_ed25519"), fs::Permissions::from_mode(0o600))?;
        let mut services = Vec::new();
        for path in SERVICES {
            let listener = UnixListener::bind(root.join(path))?;
            listener.set_nonblocking(true)?;
            services.push((*path, listener));
        }
        let abstracts = UnixListener::bind_addr(&SocketAddr::from_abstract_name(secret_name(&root))?)?;
        let datagrams = UnixDatagram::bind(root.join("run/log"))?;
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
        abstracts.set_nonblocking(true)?;
        datagrams.set_nonblocking(true)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        if let Some(id) = user.other {
            give(&root, id)?;
        }
        Ok(World {
            root,
            user,
            secret,
            services,
            abstracts,
            datagrams,
            tcp,
            udp,
            victim: None,
            terminal: None,
            other_terminal: None,
            before: BTreeMap::new(),
        })
    }

    /// Has in it what an attempt needs, and remembers how everything is.
    pub(crate) fn get_ready(&mut self, needs: &[Need]) -> io::Result<()> {
        if needs.contains(&Need::Privileged) {
            privileged(&self.root, &self.secret)?;
        }
        if needs.contains(&Need::Clone) {
            make_clone(self.user, &self.root)?;
        }
        if needs.contains(&Need::Terminals) {
            self.terminal = Some(Terminal::new(self.user)?);
            self.other_terminal = Some(Terminal::new(self.user)?);
        }
        let shared = needs.contains(&Need::Shared);
        if shared || needs.contains(&Need::Victim) {
            self.victim =
                Some(Victim::new(self.user, &self.root, &self.secret, shared, self.other_terminal.as_ref())?);
        }
        self.before = self.fingerprint()?;
        Ok(())
    }

    /// Makes everything new that an attempt may have changed, where nothing else was changed.
    pub(crate) fn clean(&mut self) -> io::Result<()> {
        (self.victim, self.terminal, self.other_terminal) = (None, None, None);
        for made in ["clone", "clone-tree"].map(|made| self.root.join(made)) {
            if made.exists() {
                fs::remove_dir_all(made)?;
            }
        }
        for own in RESTORED {
            let path = self.root.join(own);
            // A link in its place would have us clean something else.
            if fs::symlink_metadata(&path).is_ok_and(|data| !data.is_dir()) {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            for entry in fs::read_dir(&path).into_iter().flatten() {
                let path = entry?.path();
                if fs::symlink_metadata(&path)?.is_dir() {
                    fs::remove_dir_all(path)?;
                } else {
                    fs::remove_file(path)?;
                }
            }
        }
        fill(&self.root, &self.secret, |path| RESTORED.iter().any(|own| path.starts_with(own)))?;
        if let Some(id) = self.user.other {
            for own in RESTORED.iter().map(|own| self.root.join(own)).filter(|own| own.exists()) {
                give(&own, id)?;
            }
        }
        let mut piece = [0; 64];
        for (_, listener) in &self.services {
            while listener.accept().is_ok() {}
        }
        while self.abstracts.accept().is_ok() {}
        while self.datagrams.recv(&mut piece).is_ok() {}
        while self.tcp.accept().is_ok() {}
        while self.udp.recv(&mut piece).is_ok() {}
        Ok(())
    }

    /// What an attempt is told: where things are, and nothing of what is in them.
    pub(crate) fn variables(&self) -> io::Result<Vec<(&'static str, String)>> {
        let place = |path: &str| self.root.join(path).to_string_lossy().into_owned();
        let mut variables = vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("WORLD", place("")),
            ("HOME", place("home")),
            ("STATE", place("state")),
            ("MAIN", place("main")),
            ("ONE", place("trees/one")),
            ("TWO", place("trees/two")),
            ("RUN", place("run")),
            ("ABSTRACT", String::from_utf8_lossy(&secret_name(&self.root)).into_owned()),
            ("TCP", self.tcp.local_addr()?.port().to_string()),
            ("UDP", self.udp.local_addr()?.port().to_string()),
            ("KEY", shared_key(&self.root).to_string()),
            ("NAME", shared_name(&self.root)),
        ];
        if let Some(victim) = &self.victim {
            variables.push(("VICTIM", victim.process.id().to_string()));
        }
        if let Some(terminal) = &self.other_terminal {
            variables.push(("OTHER_TERMINAL", terminal.name.to_string_lossy().into_owned()));
        }
        Ok(variables)
    }

    pub(crate) fn victim_group(&self) -> Option<i32> {
        self.victim.as_ref().and_then(|victim| i32::try_from(victim.process.id()).ok())
    }

    /// What can be seen from outside after an attempt that has written `output`.
    pub(crate) fn evidence(&mut self, output: &str) -> io::Result<Evidence> {
        let after = self.fingerprint()?;
        let mut changed: Vec<String> = Vec::new();
        for path in self.before.keys().chain(after.keys()) {
            if self.before.get(path) != after.get(path) {
                changed.push(path.display().to_string());
            }
        }
        changed.dedup();
        let mut arrived: Vec<String> = Vec::new();
        for (name, listener) in &self.services {
            arrived.extend(listener.accept().is_ok().then(|| (*name).to_owned()));
        }
        let mut piece = [0; 64];
        arrived.extend(self.abstracts.accept().is_ok().then(|| "abstract socket".to_owned()));
        arrived.extend(self.datagrams.recv(&mut piece).is_ok().then(|| "run/log".to_owned()));
        arrived.extend(self.tcp.accept().is_ok().then(|| "TCP".to_owned()));
        arrived.extend(self.udp.recv(&mut piece).is_ok().then(|| "UDP".to_owned()));
        let victim = self.victim.as_mut().and_then(Victim::touched);
        let terminals = [&mut self.terminal, &mut self.other_terminal];
        let typed = terminals.into_iter().flatten().any(Terminal::was_typed_to);
        let says = output.lines().any(|line| line == "ESCAPED");
        Ok(Evidence { secret: output.contains(&self.secret), changed, arrived, victim, typed, says })
    }

    /// Everything that must stay as it is.
    fn fingerprint(&self) -> io::Result<BTreeMap<PathBuf, String>> {
        let mut found = BTreeMap::new();
        self.look(&self.root, &mut found)?;
        for kept in KEPT {
            found.insert(PathBuf::from(kept), print_of(&self.root.join(kept), false));
        }
        for kept in KEPT_IN_CLONE.iter().map(|kept| Path::new("clone/.git").join(kept)) {
            let content = content_of(&self.root.join(&kept));
            found.insert(kept, content);
        }
        found.insert(PathBuf::from("trees/one"), inode(&self.root.join("trees/one")));
        Ok(found)
    }

    fn look(&self, directory: &Path, found: &mut BTreeMap<PathBuf, String>) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let relative = path.strip_prefix(&self.root).unwrap_or(&path);
            if ITS_OWN.iter().any(|own| relative == Path::new(own)) {
                continue;
            }
            let made_in = MADE_IN.iter().any(|place| relative == Path::new(place));
            found.insert(relative.to_owned(), print_of(&path, made_in));
            if fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir()) {
                // A directory that was closed to us shows in its own mode.
                let _ = self.look(&path, found);
            }
        }
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.victim = None;
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// What shows that an attempt has worked.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) secret: bool,
    pub(crate) changed: Vec<String>,
    pub(crate) arrived: Vec<String>,
    pub(crate) victim: Option<String>,
    pub(crate) typed: bool,
    /// Only its own word.
    pub(crate) says: bool,
}

fn fill(root: &Path, secret: &str, wanted: impl Fn(&str) -> bool) -> io::Result<()> {
    let secrets = SECRETS.iter().map(|path| (*path, format!("token = {secret}\n")));
    let others = FILES.iter().map(|(path, text)| (*path, text.replace('@', &root.to_string_lossy())));
    for (path, text) in secrets.chain(others).filter(|(path, _)| wanted(path)) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn make_clone(user: User, root: &Path) -> io::Result<()> {
    const SCRIPT: &str = "git init -q -b main clone && cd clone && echo one > file && git add file && git commit -qm one \
        && git worktree add -q -b other ../clone-tree && mv .git/worktrees/clone-tree .git/worktrees/tree \
        && echo \"gitdir: $PWD/.git/worktrees/tree\" > ../clone-tree/.git && rm -f .git/hooks/* && printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit \
        && chmod +x .git/hooks/pre-commit && git init -q --bare .git/modules/sub && rm -f .git/modules/sub/hooks/*";
    let mut command = user.command("sh");
    command.args(["-ec", SCRIPT]).current_dir(root).env_clear();
    command.envs([
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/nowhere"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ]);
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "me@example.com");
    }
    let made = command.output()?;
    let told = || io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned());
    if made.status.success() { Ok(()) } else { Err(told()) }
}

/// What is at a path and below it: texts, and whether they can be run.
fn content_of(path: &Path) -> String {
    let Ok(data) = fs::symlink_metadata(path) else { return "nothing".to_owned() };
    if data.is_dir() {
        let names = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let all: BTreeMap<PathBuf, String> = names.map(|path| (path.clone(), content_of(&path))).collect();
        return format!("{all:?}");
    }
    let link = fs::read_link(path).ok();
    let text = if link.is_none() { fs::read(path).ok() } else { None };
    format!("{link:?} {text:?} {}", data.mode() & 0o111)
}

fn inode(path: &Path) -> String {
    fs::symlink_metadata(path).map_or_else(|error| error.to_string(), |data| format!("{}", data.ino()))
}

fn print_of(path: &Path, made_in: bool) -> String {
    let Ok(data) = fs::symlink_metadata(path) else { return "nothing".to_owned() };
    let content = match data.file_type() {
        kind if kind.is_file() => format!("{:?}", fs::read(path).map_err(|error| error.kind())),
        kind if kind.is_symlink() => format!("{:?}", fs::read_link(path).ok()),
        kind if kind.is_socket() => "socket".to_owned(),
        _ => String::new(),
    };
    let mut names = vec![0; 4096];
    let length = llistxattr(path, names.as_mut_slice()).unwrap_or(0);
    let names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    let attributes: Vec<_> = names
        .filter(|name| !name.is_empty())
        .map(|name| {
            let mut value = vec![0; 4096];
            let length = lgetxattr(path, name, value.as_mut_slice()).unwrap_or(0);
            value.truncate(length);
            (name.to_owned(), value)
        })
        .collect();
    let time = if made_in { (0, 0) } else { (data.mtime(), data.mtime_nsec()) };
    let links = if data.is_dir() { 0 } else { data.nlink() };
    format!("{:o} {} {} {links} {time:?} {content} {attributes:?}", data.mode(), data.uid(), data.gid())
}

fn give(path: &Path, id: u32) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), id)?;
        }
    }
    lchown(path, Some(id), Some(id))
}

/// Copies of `cat` that root has given rights, beside a file that only root can read. All of it can be read by the plan.
fn privileged(root: &Path, secret: &str) -> io::Result<()> {
    let bin = root.join("home/.cargo/bin");
    let file = bin.join("of-root");
    fs::write(&file, format!("token = {secret}\n"))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    for name in ["setuid-cat", "capable-cat"] {
        fs::copy("/bin/cat", bin.join(name))?;
    }
    fs::set_permissions(bin.join("setuid-cat"), fs::Permissions::from_mode(0o4755))?;
    fs::set_permissions(bin.join("capable-cat"), fs::Permissions::from_mode(0o755))?;
    // Version 2, effective, CAP_DAC_READ_SEARCH.
    let words: [u32; 5] = [0x0200_0001, 1 << 2, 0, 0, 0];
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Ok(setxattr(bin.join("capable-cat"), "security.capability", &value, XattrFlags::empty())?)
}

fn secret_name(root: &Path) -> Vec<u8> {
    format!("toolgate-escape{}", root.display()).into_bytes()
}

fn shared_name(root: &Path) -> String {
    format!("toolgate-escape{}", root.display()).replace(['/', '.'], "-")
}

/// A key for shared memory that no other world has.
fn shared_key(root: &Path) -> u32 {
    let sum = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(16_777_619);
    root.as_os_str().as_encoded_bytes().iter().fold(2_166_136_261, sum) & 0x3fff_ffff
}

/// Another process of the same user. It holds the secret in its memory and its variables.
struct Victim {
    process: Child,
    before: String,
}

impl Victim {
    fn new(
        user: User,
        root: &Path,
        secret: &str,
        shared: bool,
        terminal: Option<&Terminal>,
    ) -> io::Result<Victim> {
        let mut command = user.command("/usr/bin/python3");
        command.args(["-IS", "-c", include_str!("victim.py")]).env_clear().env("TOKEN", secret);
        if shared {
            command.env("KEY", shared_key(root).to_string()).env("NAME", shared_name(root));
        }
        command.envs(terminal.map(|terminal| ("TERMINAL", &terminal.name)));
        command.current_dir(root.join("home")).process_group(0);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).read_line(&mut line)?;
        if line.is_empty() {
            return Err(io::Error::other("the other process did not start"));
        }
        let mut victim = Victim { process, before: String::new() };
        victim.before = victim.state();
        Ok(victim)
    }

    fn touched(&mut self) -> Option<String> {
        let mut after = self.state();
        if after == self.before {
            // A signal may still be on its way.
            std::thread::sleep(std::time::Duration::from_millis(30));
            after = self.state();
        }
        (after != self.before).then_some(after)
    }

    fn state(&self) -> String {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/{}/{name}", self.process.id())).unwrap_or_default()
        };
        let stat = read("stat");
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let runs = fields.first().is_some_and(|state| ["R", "S", "D"].contains(state));
        let status = read("status");
        let kept = status.lines().filter(|line| {
            ["TracerPid", "Cpus_allowed_list", "Uid", "Name"].iter().any(|name| line.starts_with(name))
        });
        let (nice, class) = (fields.get(16), fields.get(38));
        let rest = [read("limits"), read("oom_score_adj"), kept.collect::<Vec<_>>().join(" ")].join(" ");
        format!("runs {runs}, nice {nice:?}, class {class:?}, {rest}")
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It ends, and takes what it shares with it, when nobody holds its input.
        drop(self.process.stdin.take());
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.process),
            rustix::process::Signal::CONT,
        );
        for _ in 0..100 {
            if matches!(self.process.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A pseudo-terminal that is looked at from its other side.
pub(crate) struct Terminal {
    master: fs::File,
    pub(crate) name: PathBuf,
    /// Held so that what was written is still there when we look.
    _held: fs::File,
}

impl Terminal {
    fn new(user: User) -> io::Result<Terminal> {
        let master: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?.into_string().map_err(io::Error::other)?;
        rustix::fs::fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let held = rustix::fs::open(&name, flags, Mode::empty())?.into();
        if let Some(id) = user.other {
            lchown(&name, Some(id), None)?;
        }
        Ok(Terminal { master: master.into(), name: name.into(), _held: held })
    }

    pub(crate) fn open(&self) -> io::Result<fs::File> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(&self.name, flags, Mode::empty())?.into())
    }

    fn was_typed_to(&mut self) -> bool {
        let mut text = vec![0; 4096];
        let length = self.master.read(&mut text).unwrap_or(0);
        text.truncate(length);
        String::from_utf8_lossy(&text).contains("typed")
    }
}
