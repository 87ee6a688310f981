//! A command that really runs, in a scratch tree of its own, watched by the kernel: which files it touched.
//!
//! Nothing may be touched outside of the scratch tree. Names are fixed by the caller; the home, the temporary directory
//! and the working directory lie in the tree, the environment is empty, and where the tests run as root the command
//! does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use toolgate_model::{Access, Reach};

/// Nobody, in whose name commands run where the tests run as root.
const NOBODY: u32 = 65534;
/// Read by every program that starts; no rule of ours is about it.
const SYSTEM: [&str; 10] =
    ["/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/proc", "/dev", "/sys", "/run"];
/// Written without a trace.
const SINKS: [&str; 5] = ["/dev/null", "/dev/tty", "/dev/pts", "/dev/fd", "/proc/self"];
const CALLS: &str = "?open,openat,?openat2,?creat,?unlink,?unlinkat,?rmdir,?mkdir,?mkdirat,?rename,?renameat,\
    ?renameat2,?chmod,?fchmod,?fchmodat,?fchmodat2,?chown,?lchown,?fchown,?fchownat,?utime,?utimes,?futimesat,\
    ?utimensat,?truncate,?ftruncate,?symlink,?symlinkat,?link,?linkat,?mknod,?mknodat,?setxattr,?lsetxattr,\
    ?fsetxattr,?chdir,?fchdir,?execve,?execveat,?clone,?clone3,?fork,?vfork";

/// Says something that is seen whether or not the test's output is captured.
pub(crate) fn loudly(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Why nothing can be watched here, if so.
pub(crate) fn cannot_watch() -> Option<String> {
    let works = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !works("strace", &["-f", "-o", "/dev/null", "true"]) {
        return Some("strace is missing, or may not trace here".into());
    }
    if is_root() && !works("setpriv", &["--reuid=65534", "--regid=65534", "--clear-groups", "true"]) {
        return Some("the tests run as root, and setpriv cannot step down".into());
    }
    (!works("timeout", &["5", "bash", "-c", "true"])).then(|| "timeout or bash is missing".into())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A tree of its own, removed with it: `inside`, `outside`, `home` and `tmp` next to each other, far below `/tmp`.
pub(crate) struct Scratch {
    _dir: TempDir,
    top: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let dir = tempfile::Builder::new().prefix("zqwatch").tempdir_in("/tmp").unwrap();
        // Many names deep, so that climbing leads nowhere.
        let top = dir.path().canonicalize().unwrap().join("d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/d12");
        for name in ["inside", "outside", "home", "tmp"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Scratch { _dir: dir, top }
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.top.join(path)
    }
    pub(crate) fn inside(&self) -> PathBuf {
        self.path("inside")
    }
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        self.directory(path.parent().unwrap());
        if path.is_dir() {
            return;
        }
        fs::write(&path, text).unwrap();
        let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    pub(crate) fn dir(&self, path: &str) {
        self.directory(&self.path(path));
    }

    /// A directory, also where a file is in the way.
    fn directory(&self, path: &Path) {
        let above = path.ancestors().filter(|above| above.starts_with(&self.top) && above.is_file());
        above.for_each(|file| fs::remove_file(file).unwrap());
        fs::create_dir_all(path).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        symlink(target, self.path(path)).unwrap();
    }

    /// Runs a command with bash in `inside`, and tells what it touched. Leaving the tree fails the test.
    pub(crate) fn watch(&self, command: &str) -> Vec<Touch> {
        let (ours, breach) = self.watch_all(command);
        assert!(breach.is_empty(), "left the scratch tree: {command}\n{breach:#?}");
        ours
    }

    /// The same, and what it touched outside of the tree, other than the system's files to be read.
    pub(crate) fn watch_all(&self, command: &str) -> (Vec<Touch>, Vec<Touch>) {
        if is_root() {
            everything_below(&self.top).iter().chain([&self.top]).for_each(|path| {
                if !path.is_symlink() {
                    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
                }
            });
        }
        let model = Model::of(&self.top);
        let log = self.path("trace");
        let mut words: Vec<&str> = Vec::new();
        if is_root() {
            words.extend(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        words.extend(["timeout", "-k", "1", "5", "strace", "-f", "-y", "-qq", "-s", "65536"]);
        let traced = format!("trace={CALLS}");
        words.extend(["-e", "signal=none", "-e", &traced, "-o", log.to_str().unwrap()]);
        let mut spawned = Command::new(words[0]);
        spawned.args(&words[1..]).args(["bash", "--norc", "--noprofile", "-c", command]);
        spawned.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.home());
        spawned.env("TMPDIR", self.path("tmp")).current_dir(self.inside());
        spawned.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        spawned.status().unwrap();
        let trace = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        let touches = Tracer::new(model, self.inside()).read(&trace);
        let allowed = |touch: &Touch| match touch.kind {
            Kind::Read | Kind::Link => SYSTEM.iter().any(|top| touch.path.starts_with(top)),
            Kind::Write | Kind::Delete => SINKS.iter().any(|top| touch.path.starts_with(top)),
        };
        let (ours, others): (Vec<Touch>, Vec<Touch>) =
            touches.into_iter().partition(|touch| touch.path.starts_with(&self.top));
        // Some programs open a directory to find back to it; nothing is read from it that way.
        let looked = |touch: &Touch| touch.kind == Kind::Read && touch.path.is_dir();
        let breach = others.into_iter().filter(|touch| !allowed(touch) && !looked(touch)).collect();
        (ours, breach)
    }

    /// A path as people read it.
    pub(crate) fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.top).unwrap_or(path).display().to_string()
    }
}

fn everything_below(top: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut left = vec![top.to_path_buf()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                left.push(path.clone());
            }
            all.push(path);
        }
    }
    all
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Read,
    /// It was given another name.
    Link,
    Write,
    Delete,
}

/// One file that was touched, by its real name.
#[expect(clippy::struct_excessive_bools, reason = "each says a thing of its own")]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Touch {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// It was there before.
    pub(crate) existed: bool,
    /// It is there after.
    pub(crate) remains: bool,
    /// A program made it for itself and took it away again.
    pub(crate) temporary: bool,
    /// It is a directory that was made.
    pub(crate) made_dir: bool,
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.path.display())
    }
}

/// One effect that was said: what, where, how far.
pub(crate) type Said = (Access, PathBuf, Reach);

/// Whether what was said covers the touch.
pub(crate) fn covers(said: &[Said], touch: &Touch, tmp: &Path) -> bool {
    let changes = |access: Access| access.changes();
    let strong = |access: Access| match touch.kind {
        Kind::Read => changes(access) || matches!(access, Access::Read | Access::Search),
        Kind::Link => changes(access) || access == Access::Link,
        Kind::Write => changes(access),
        // Taking away what the command made, or what is made again, is no more than writing.
        Kind::Delete => access == Access::Delete || (changes(access) && (!touch.existed || touch.remains)),
    };
    let there = |path: &Path, reach: Reach| {
        touch.path == *path
            || (reach == Reach::Below && touch.path.starts_with(path))
            || is_some_of(path.as_os_str().as_bytes(), touch.path.as_os_str().as_bytes())
    };
    // `mkdir -p a/b` makes `a` too.
    let on_the_way = |path: &Path| touch.made_dir && !touch.existed && path.starts_with(&touch.path);
    // `sed -i` writes a file beside the one that it changes, and renames it.
    let beside = |path: &Path| touch.temporary && path.parent() == touch.path.parent();
    (touch.temporary && touch.path.starts_with(tmp))
        || said.iter().any(|(access, path, reach)| {
            (strong(*access) && there(path, *reach))
                || (changes(*access) && (on_the_way(path) || beside(path)))
        })
}

/// Whether the path is one of those that a partly known one may be: `dir/…` is some of what lies below `dir`, `a*` a
/// name that begins so. The real path is asked, so a link among them that leads elsewhere is not covered.
fn is_some_of(said: &[u8], path: &[u8]) -> bool {
    let rest = |said: &'_ [u8], mark: &str| said.strip_prefix(mark.as_bytes()).map(<[u8]>::to_vec);
    if let Some(after) = rest(said, "…") {
        return (0..=path.len()).any(|skip| is_some_of(&after, &path[skip..]));
    }
    if let Some(after) = rest(said, "*") {
        let name = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
        return (0..=name).any(|skip| is_some_of(&after, &path[skip..]));
    }
    match (said.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((b'?', said)), Some((byte, path))) if *byte != b'/' => is_some_of(said, path),
        (Some((one, said)), Some((other, path))) => one == other && is_some_of(said, path),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// What is known of the tree while the trace is read: links lead elsewhere, and come and go.
struct Model {
    existed: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    dirs: BTreeSet<PathBuf>,
}

impl Model {
    fn of(top: &Path) -> Model {
        let existed: BTreeSet<PathBuf> = everything_below(top).into_iter().collect();
        let links = existed.iter().filter_map(|path| Some((path.clone(), fs::read_link(path).ok()?)));
        let dirs = existed.iter().filter(|path| path.is_dir() && !path.is_symlink()).cloned();
        Model { links: links.collect(), dirs: dirs.chain([top.to_path_buf()]).collect(), existed }
    }

    /// Where an absolute path leads, as the kernel walks it.
    fn resolve(&self, path: &Path, follow: bool) -> PathBuf {
        let mut left: Vec<PathBuf> =
            path.components().rev().map(|name| PathBuf::from(name.as_os_str())).collect();
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(name) = left.pop() {
            match name.components().next() {
                Some(Component::ParentDir) => {
                    at.pop();
                }
                Some(Component::Normal(name)) => {
                    at.push(name);
                    let target = self.links.get(&at).filter(|_| (follow || !left.is_empty()) && links < 40);
                    if let Some(target) = target {
                        links += 1;
                        at.pop();
                        if target.is_absolute() {
                            at = PathBuf::from("/");
                        }
                        left.extend(target.components().rev().map(|name| PathBuf::from(name.as_os_str())));
                    }
                }
                _ => {}
            }
        }
        at
    }

    fn removed(&mut self, path: &Path) {
        self.links.remove(path);
        self.dirs.remove(path);
    }

    fn renamed(&mut self, from: &Path, to: &Path) {
        let moved = |path: &PathBuf| {
            path.strip_prefix(from).map_or_else(
                |_| path.clone(),
                |rest| if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) },
            )
        };
        self.removed(to);
        self.links = self.links.iter().map(|(path, target)| (moved(path), target.clone())).collect();
        self.dirs = self.dirs.iter().map(moved).collect();
    }
}

/// Reads a trace.
struct Tracer {
    model: Model,
    start: PathBuf,
    cwds: BTreeMap<u32, PathBuf>,
    touches: BTreeMap<(PathBuf, Kind), bool>,
    /// Who made what, to be told from what somebody else takes away.
    made: BTreeMap<PathBuf, u32>,
    temporary: BTreeSet<PathBuf>,
}

impl Tracer {
    fn new(model: Model, start: PathBuf) -> Tracer {
        Tracer {
            model,
            start,
            cwds: BTreeMap::new(),
            touches: BTreeMap::new(),
            made: BTreeMap::new(),
            temporary: BTreeSet::new(),
        }
    }

    fn read(mut self, trace: &str) -> Vec<Touch> {
        let lines = whole_lines(trace);
        for line in &lines {
            self.line(line);
        }
        let existed = &self.model.existed;
        let touch = |((path, kind), made_dir): (&(PathBuf, Kind), &bool)| Touch {
            existed: existed.contains(path),
            remains: path.symlink_metadata().is_ok(),
            temporary: self.temporary.contains(path)
                && !existed.contains(path)
                && path.symlink_metadata().is_err(),
            made_dir: *made_dir,
            path: path.clone(),
            kind: *kind,
        };
        self.touches.iter().map(touch).collect()
    }

    fn touch(&mut self, path: &Path, kind: Kind) {
        self.touches.entry((path.to_path_buf(), kind)).or_default();
    }

    fn make(&mut self, pid: u32, path: &Path, dir: bool) {
        *self.touches.entry((path.to_path_buf(), Kind::Write)).or_default() |= dir;
        self.made.insert(path.to_path_buf(), pid);
        if dir {
            self.model.dirs.insert(path.to_path_buf());
        }
    }

    fn take_away(&mut self, pid: u32, path: &Path) {
        self.name_gone(pid, path);
        self.model.removed(path);
    }

    fn name_gone(&mut self, pid: u32, path: &Path) {
        self.touch(path, Kind::Delete);
        if self.made.get(path) == Some(&pid) {
            self.temporary.insert(path.to_path_buf());
        }
    }

    fn cwd(&self, pid: u32) -> PathBuf {
        self.cwds.get(&pid).unwrap_or(&self.start).clone()
    }

    /// A path argument, from the directory that an argument before it names.
    fn at(&self, dir: &str, path: &str, follow: bool) -> Option<PathBuf> {
        let path = text(path)?;
        let from = described(dir)?;
        Some(self.model.resolve(&from.join(path), follow))
    }

    fn in_cwd(&self, pid: u32, path: &str, follow: bool) -> Option<PathBuf> {
        Some(self.model.resolve(&self.cwd(pid).join(text(path)?), follow))
    }

    fn line(&mut self, line: &Line) {
        let Line { pid, child, call, args, result } = line;
        let pid = *pid;
        if let Some(child) = child {
            let cwd = self.cwd(pid);
            self.cwds.insert(*child, cwd);
        }
        if result.starts_with('-') || result.starts_with('?') {
            return;
        }
        let arg = |at: usize| args.get(at).map(String::as_str).unwrap_or_default();
        let nofollow = args.iter().any(|arg| arg.contains("AT_SYMLINK_NOFOLLOW"));
        match call.as_str() {
            "open" | "openat" | "openat2" | "creat" => {
                let Some(path) = described(result) else { return };
                let flags = match call.as_str() {
                    "creat" => "O_CREAT|O_WRONLY|O_TRUNC",
                    "open" => arg(1),
                    _ => arg(2),
                };
                self.opened(pid, &path, flags);
            }
            "unlink" | "rmdir" => {
                self.each(self.in_cwd(pid, arg(0), false), |me, path| me.take_away(pid, path));
            }
            "unlinkat" => self.each(self.at(arg(0), arg(1), false), |me, path| me.take_away(pid, path)),
            "rename" => {
                self.renamed(pid, self.in_cwd(pid, arg(0), false), self.in_cwd(pid, arg(1), false));
            }
            "renameat" | "renameat2" => {
                self.renamed(pid, self.at(arg(0), arg(1), false), self.at(arg(2), arg(3), false));
            }
            "symlink" => self.linked(pid, arg(0), self.in_cwd(pid, arg(1), false)),
            "symlinkat" => self.linked(pid, arg(0), self.at(arg(1), arg(2), false)),
            "link" => {
                self.each(self.in_cwd(pid, arg(0), false), |me, path| me.touch(path, Kind::Link));
                self.each(self.in_cwd(pid, arg(1), false), |me, path| me.make(pid, path, false));
            }
            "linkat" => {
                let follow = args.iter().any(|arg| arg.contains("AT_SYMLINK_FOLLOW"));
                self.each(self.at(arg(0), arg(1), follow), |me, path| me.touch(path, Kind::Link));
                self.each(self.at(arg(2), arg(3), false), |me, path| me.make(pid, path, false));
            }
            "mkdir" => self.each(self.in_cwd(pid, arg(0), false), |me, path| me.make(pid, path, true)),
            "mkdirat" => self.each(self.at(arg(0), arg(1), false), |me, path| me.make(pid, path, true)),
            "mknod" => self.each(self.in_cwd(pid, arg(0), false), |me, path| me.make(pid, path, false)),
            "mknodat" => self.each(self.at(arg(0), arg(1), false), |me, path| me.make(pid, path, false)),
            "chmod" | "chown" | "utime" | "utimes" | "truncate" | "setxattr" => {
                self.each(self.in_cwd(pid, arg(0), true), |me, path| me.touch(path, Kind::Write));
            }
            "lchown" | "lsetxattr" => {
                self.each(self.in_cwd(pid, arg(0), false), |me, path| me.touch(path, Kind::Write));
            }
            "fchmodat" | "fchmodat2" | "fchownat" | "utimensat" | "futimesat" => {
                let path = self.at(arg(0), arg(1), !nofollow).or_else(|| described(arg(0)));
                self.each(path, |me, path| me.touch(path, Kind::Write));
            }
            "fchmod" | "fchown" | "ftruncate" | "fsetxattr" => {
                self.each(described(arg(0)), |me, path| me.touch(path, Kind::Write));
            }
            "execve" => self.each(self.in_cwd(pid, arg(0), true), |me, path| me.touch(path, Kind::Read)),
            "execveat" => self.each(self.at(arg(0), arg(1), true), |me, path| me.touch(path, Kind::Read)),
            "chdir" => {
                if let Some(path) = self.in_cwd(pid, arg(0), true) {
                    self.cwds.insert(pid, path);
                }
            }
            "fchdir" => {
                if let Some(path) = described(arg(0)) {
                    self.cwds.insert(pid, path);
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => {}
            other => panic!("a call that is traced and not read: {other}"),
        }
    }

    fn each(&mut self, path: Option<PathBuf>, act: impl FnOnce(&mut Tracer, &Path)) {
        if let Some(path) = path {
            act(self, &path);
        }
    }

    fn opened(&mut self, pid: u32, path: &Path, flags: &str) {
        let has = |flag: &str| flags.contains(flag);
        if has("O_PATH") || has("O_TMPFILE") {
            return;
        }
        if has("O_EXCL") {
            self.make(pid, path, false);
        } else if has("O_WRONLY") || has("O_RDWR") || has("O_CREAT") || has("O_TRUNC") {
            self.touch(path, Kind::Write);
        } else if !has("O_DIRECTORY") && !self.model.dirs.contains(path) {
            self.touch(path, Kind::Read);
        }
    }

    fn renamed(&mut self, pid: u32, from: Option<PathBuf>, to: Option<PathBuf>) {
        let (Some(from), Some(to)) = (from, to) else { return };
        self.name_gone(pid, &from);
        self.touch(&to, Kind::Write);
        if !self.model.existed.contains(&to) {
            self.made.insert(to.clone(), pid);
        }
        self.model.renamed(&from, &to);
    }

    fn linked(&mut self, pid: u32, target: &str, path: Option<PathBuf>) {
        let (Some(target), Some(path)) = (text(target), path) else { return };
        self.make(pid, &path, false);
        self.model.links.insert(path, target);
    }
}

/// One call, whole.
#[derive(Debug)]
struct Line {
    pid: u32,
    /// The process that it starts.
    child: Option<u32>,
    call: String,
    args: Vec<String>,
    result: String,
}

/// The calls in the order in which they ended, but for those that start a process: they stand where they began, since
/// the child may be heard of before its parent hears of it.
fn whole_lines(trace: &str) -> Vec<Line> {
    let mut begun: BTreeMap<u32, (usize, String)> = BTreeMap::new();
    let mut whole: Vec<(usize, u32, String)> = Vec::new();
    for (at, line) in trace.lines().enumerate() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let (Ok(pid), rest) = (pid.parse::<u32>(), rest.trim_start()) else { continue };
        if let Some(start) = rest.strip_suffix("<unfinished ...>") {
            begun.insert(pid, (at, start.trim_end().to_owned()));
        } else if rest.starts_with("<... ") {
            let Some((start_at, start)) = begun.remove(&pid) else { continue };
            let end = rest.split_once("resumed>").map(|(_, end)| end).unwrap_or_default();
            let joined = format!("{start}{end}");
            let starts_process = ["clone", "fork", "vfork"].iter().any(|call| joined.starts_with(call));
            whole.push((if starts_process { start_at } else { at }, pid, joined));
        } else if !rest.starts_with(['+', '-']) {
            whole.push((at, pid, rest.to_owned()));
        }
    }
    whole.sort_by_key(|(at, ..)| *at);
    whole.iter().filter_map(|(_, pid, text)| parsed(*pid, text)).collect()
}

fn parsed(pid: u32, line: &str) -> Option<Line> {
    let (call, rest) = line.split_once('(')?;
    let mut args = vec![String::new()];
    let mut depth = 0_usize;
    let mut chars = rest.char_indices();
    let mut end = None;
    while let Some((at, c)) = chars.next() {
        match c {
            ')' if depth == 0 => {
                end = rest.get(at + 1..);
                break;
            }
            ',' if depth == 0 => {
                args.push(String::new());
                continue;
            }
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let closing = match c {
            '"' => Some('"'),
            '<' => Some('>'),
            _ => None,
        };
        let last = args.last_mut()?;
        last.push(c);
        // INVARIANT: strace writes a quote or `>` within such a text with a backslash.
        if let Some(closing) = closing {
            while let Some((_, c)) = chars.next() {
                last.push(c);
                if c == '\\' {
                    last.extend(chars.next().map(|(_, c)| c));
                } else if c == closing {
                    break;
                }
            }
        }
    }
    let result = end?.trim_start().strip_prefix('=')?.trim().to_owned();
    let starts_process = matches!(call, "clone" | "clone3" | "fork" | "vfork");
    let child =
        result.split_whitespace().next().and_then(|word| word.parse().ok()).filter(|_| starts_process);
    let args = args.into_iter().map(|arg| arg.trim().to_owned()).collect();
    Some(Line { pid, child, call: call.to_owned(), args, result })
}

/// The path in a quoted argument.
fn text(arg: &str) -> Option<PathBuf> {
    let inner = arg.strip_prefix('"')?.strip_suffix('"')?;
    Some(PathBuf::from(std::ffi::OsString::from_vec(unescaped(inner))))
}

/// The path that strace adds to a descriptor: `3</tmp/x>`, `AT_FDCWD</tmp>`.
fn described(arg: &str) -> Option<PathBuf> {
    let (_, rest) = arg.split_once('<')?;
    // Within the path, strace writes both brackets as numbers.
    let bytes = unescaped(rest.split(['<', '>']).next()?);
    let bytes = bytes.strip_suffix(b" (deleted)").unwrap_or(&bytes);
    bytes.starts_with(b"/").then(|| PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'v') => bytes.push(11),
            Some(b'f') => bytes.push(12),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next) = rest.next_if(|next| (b'0'..=b'7').contains(next)) else { break };
                    value = value * 8 + u32::from(next - b'0');
                }
                bytes.push(u8::try_from(value & 0xff).unwrap());
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    bytes
}
