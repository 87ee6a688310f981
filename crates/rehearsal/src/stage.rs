//! A scratch world: an empty home with a git repository, a linked worktree of it, and a place outside of both.
//!
//! ```text
//! <stage>/home              the home, and the person's settings in it
//! <stage>/home/src/main     a repository with one commit
//! <stage>/home/src/alpha    a linked worktree of it: the session runs here
//! <stage>/home/outside      nobody's business
//! <stage>/bin               the client, node, and what is registered
//! <stage>/tmp               for temporary files
//! ```
//!
//! All of it lies in the home, which the default profile closes wherever it is: a stage below `/tmp` shows as much
//! as any other.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Directories of the system's programs, behind the stage's own.
const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";

/// Name and address of the one who commits.
const SOMEBODY: [&str; 4] = ["-c", "user.name=rehearsal", "-c", "user.email=rehearsal@localhost"];

/// A scratch world, removed with the value.
#[derive(Debug)]
pub struct Stage {
    dir: PathBuf,
}

impl Stage {
    /// A new one below `base`.
    pub fn new(base: &Path) -> io::Result<Stage> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let base = base.canonicalize()?;
        let dir = loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let dir = base.join(format!("rehearsal-{}-{count}", std::process::id()));
            // A directory that is there already is somebody else's.
            match fs::DirBuilder::new().mode(0o700).create(&dir) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => break made.map(|()| dir)?,
            }
        };
        let stage = Stage { dir };
        for dir in [stage.bin(), stage.tmp(), stage.outside()] {
            fs::create_dir_all(dir)?;
        }
        stage.repository()?;
        Ok(stage)
    }

    /// The whole of it.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The home.
    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// The main checkout.
    pub fn main(&self) -> PathBuf {
        self.home().join("src/main")
    }

    /// The worktree in which the session runs.
    pub fn worktree(&self) -> PathBuf {
        self.home().join("src/alpha")
    }

    /// A directory in which the session has no business.
    pub fn outside(&self) -> PathBuf {
        self.home().join("outside")
    }

    /// Programs: the first directory of `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.dir.join("bin")
    }

    /// Temporary files.
    pub fn tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    /// Where the questions are noted that reach the user.
    pub fn questions(&self) -> PathBuf {
        self.dir.join("questions")
    }

    /// Where it is noted what the user was asked to agree to.
    pub fn permits(&self) -> PathBuf {
        crate::mcp::permits(&self.questions())
    }

    /// Makes a program known by its name.
    pub fn add_program(&self, name: &str, at: &Path) -> io::Result<()> {
        symlink(at, self.bin().join(name))
    }

    /// Writes a file, and the directories above it.
    pub fn write(&self, path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(path, text)
    }

    /// Commits all that lies in the worktree.
    pub fn commit(&self) -> io::Result<()> {
        self.git(&self.worktree(), ["add", "--all", "--force"])?;
        self.git(&self.worktree(), SOMEBODY.into_iter().chain(["commit", "--quiet", "--message", "files"]))
    }

    /// A program in the worktree, with nothing in its environment but what this world has.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.worktree()).stdin(Stdio::null());
        command.env("HOME", self.home());
        command.env("PATH", self.path());
        command.env("TMPDIR", self.tmp());
        command.env("SHELL", "/bin/bash");
        command.env("USER", "rehearsal").env("LOGNAME", "rehearsal");
        command.env("LANG", "C.UTF-8").env("TERM", "dumb").env("NO_COLOR", "1");
        command
    }

    /// Where programs are looked for.
    fn path(&self) -> std::ffi::OsString {
        let mut path = self.bin().into_os_string();
        path.push(":");
        path.push(SYSTEM);
        path
    }

    fn repository(&self) -> io::Result<()> {
        let (main, worktree) = (self.main(), self.worktree());
        self.write(&main.join("README.md"), "a repository\n")?;
        self.git(&main, ["init", "--quiet", "--initial-branch=main"])?;
        self.git(&main, ["add", "--all"])?;
        self.git(&main, SOMEBODY.into_iter().chain(["commit", "--quiet", "--message", "begin"]))?;
        let add = ["worktree", "add", "--quiet", "-b", "alpha"].map(OsStr::new);
        self.git(&main, add.into_iter().chain([worktree.as_os_str()]))
    }

    fn git<S: AsRef<OsStr>>(&self, at: &Path, args: impl IntoIterator<Item = S>) -> io::Result<()> {
        // Before there is a worktree, there is no directory to start a command in.
        let output = Command::new("git")
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", SYSTEM)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(at)
            .stdin(Stdio::null())
            .output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("git: {}", String::from_utf8_lossy(&output.stderr).trim())))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A client that still writes while its home goes away makes the first try fail.
        for _ in 0..3 {
            if fs::remove_dir_all(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_has_a_worktree_and_is_removed_when_dropped() {
        let stage = Stage::new(&std::env::temp_dir()).unwrap();
        assert!(stage.worktree().join("README.md").is_file());
        assert!(stage.worktree().join(".git").is_file(), "a linked worktree has a file");
        assert!(stage.main().join(".git").is_dir());
        stage.write(&stage.worktree().join(".claude/settings.json"), "{}").unwrap();
        stage.commit().unwrap();
        let dir = stage.dir().to_path_buf();
        drop(stage);
        assert!(!dir.exists());
    }

    #[test]
    fn a_program_gets_the_listed_environment_and_no_other() {
        let stage = Stage::new(&std::env::temp_dir()).unwrap();
        let output = stage.command("/usr/bin/env").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<_> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["HOME", "LANG", "LOGNAME", "NO_COLOR", "PATH", "SHELL", "TERM", "TMPDIR", "USER"]);
    }
}
