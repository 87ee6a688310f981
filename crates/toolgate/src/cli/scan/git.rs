//! git, asked for lists and patches.
//!
//! Against whom: the repository. Its settings and attributes can name programs for git to run, and can have files left
//! out of a patch. Every such way is closed here, setting by setting; of the environment only the variables stay by
//! which git tells a hook where it works.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::Failure;

/// Variables that say where the repository is, and where the settings of its user are.
const KEPT: [&str; 10] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// How every patch is made: all lines that are added and no other, whatever attributes say of a file, by git itself.
const PATCH: [&str; 12] = [
    "-r",
    "-p",
    "-M",
    "-U0",
    "--inter-hunk-context=0",
    "--text",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--ignore-submodules=all",
];

/// A directory of a repository.
pub(super) struct Repository<'d> {
    dir: &'d Path,
}

/// A patch that git is about to write.
pub(super) struct Patch {
    /// The one that writes it is the last.
    children: Vec<Child>,
}

impl Repository<'_> {
    /// The repository that the directory is in, if git agrees.
    pub(super) fn at(dir: &Path) -> Result<Repository<'_>, Failure> {
        let repository = Repository { dir };
        repository.ask(&["rev-parse", "--git-dir"])?;
        Ok(repository)
    }

    /// What the next commit adds.
    pub(super) fn staged(&self) -> Result<Patch, Failure> {
        // Before the first commit everything is new.
        let before = match self.ask(&["rev-parse", "--verify", "--quiet", "HEAD"]) {
            Ok(head) => head,
            Err(_) => self.ask(&["hash-object", "-t", "tree", "/dev/null"])?,
        };
        let mut index = git(self.dir);
        index.args(["diff-index", "--cached"]).args(PATCH).arg(before.trim()).arg("--");
        Ok(Patch { children: vec![start(index.stdin(Stdio::null()))?] })
    }

    /// What all commits have added, the oldest first. Of a merge, what it adds to its first parent: what came with the
    /// others is known by then.
    pub(super) fn history(&self) -> Result<Patch, Failure> {
        let mut list = git(self.dir);
        list.args(["rev-list", "--all", "--reverse", "--date-order"]).stdin(Stdio::null());
        let mut list = start(&mut list)?;
        let commits = list.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let mut trees = git(self.dir);
        trees.args(["diff-tree", "--stdin", "--root", "--diff-merges=first-parent"]).args(PATCH);
        let trees = start(trees.stdin(commits))?;
        Ok(Patch { children: vec![list, trees] })
    }

    /// The answer to a short question.
    fn ask(&self, words: &[&str]) -> Result<String, Failure> {
        let answer =
            git(self.dir).args(words).stdin(Stdio::null()).output().map_err(|error| missing(&error))?;
        if answer.status.success() {
            return Ok(String::from_utf8_lossy(&answer.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
        Err(Failure::Input(format!("{}: {why}", self.dir.display())))
    }
}

impl Patch {
    /// Hands on all that git writes. Half a patch is an error, however well it reads.
    pub(super) fn read_all(
        mut self,
        read: impl FnOnce(&mut dyn BufRead) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let output = self.children.last_mut().and_then(|child| child.stdout.take());
        let outcome = output.map_or(Ok(()), |output| read(&mut BufReader::with_capacity(128 * 1024, output)));
        for child in &mut self.children {
            let done = child.wait().map_err(|error| missing(&error))?;
            if outcome.is_ok() && !done.success() {
                return Err(Failure::Input(format!("git did not come to its end ({done})")));
            }
        }
        outcome
    }
}

/// The files that git tracks at or below a path, as they lie on the disk now.
pub(super) fn tracked(
    path: &Path,
    mut take: impl FnMut(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let found = path.metadata().map_err(|error| format!("{}: {error}", path.display()))?;
    let (dir, name) = match path.parent() {
        Some(parent) if !found.is_dir() => (parent, path.file_name()),
        _ => (path, None),
    };
    let dir = if dir == Path::new("") { Path::new(".") } else { dir };
    Repository::at(dir)?;
    let mut list = git(dir);
    list.args(["ls-files", "-z", "--"]).arg(name.unwrap_or(OsStr::new("."))).stdin(Stdio::null());
    let patch = Patch { children: vec![start(&mut list)?] };
    patch.read_all(|names| {
        for name in names.split(0) {
            let name = name.map_err(|error| format!("the output of git: {error}"))?;
            let file = dir.join(PathBuf::from(OsString::from_vec(name)));
            // Links, other repositories, and what was removed and not reported git yet.
            if file.symlink_metadata().is_ok_and(|found| found.is_file()) {
                take(&file)?;
            }
        }
        Ok(())
    })
}

fn git(dir: &Path) -> Command {
    let mut git = Command::new("git");
    git.args(["--no-pager", "--no-replace-objects", "--literal-pathspecs", "--no-optional-locks"])
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .current_dir(dir);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") && !KEPT.iter().any(|kept| name == *kept) {
            git.env_remove(name);
        }
    }
    // An object that is not there is not fetched: a remote is a program of the repository's choice.
    git.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    git
}

fn start(git: &mut Command) -> Result<Child, Failure> {
    git.stdout(Stdio::piped()).spawn().map_err(|error| missing(&error))
}

fn missing(error: &std::io::Error) -> Failure {
    Failure::Input(format!("git cannot be run: {error}"))
}
