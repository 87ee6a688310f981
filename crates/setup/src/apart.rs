//! The level `apart` on this machine: the system user who seals everybody's log, its key, and the timer that has it done.
//!
//! Promise: after `install` a timer of systemd runs `toolgate ledger seal --apart` each minute; `remove` takes the timer away and leaves
//! what was sealed. Both can be repeated.
//!
//! Against whom: the people of the machine, and all that runs as them. Root runs the program that the timer names, so it has to be one
//! that only root can replace. The key is made by the system user in its own directory, and root never opens it.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{geteuid, getuid};
use toolgate_evidence::proof::apart::{Places, Seen};
use toolgate_gate::dirs::Dirs;

/// The system user.
pub const SEALER: &str = "toolgate";
/// What the timer and the service are called.
const UNIT: &str = "toolgate-seal";
/// People's numbers begin here, those of system users end before.
const FIRST_PERSON: u32 = 1000;
/// Nobody's number.
const NOBODY: u32 = 65534;
/// Large machines have long lists of people.
const MAX_PASSWD: u64 = 16 * 1024 * 1024;

/// A line of the system's list of people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its number.
    pub user: u32,
    /// The number of its group.
    pub group: u32,
    /// Its home.
    pub home: PathBuf,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    etc: PathBuf,
    var: PathBuf,
}

impl System {
    /// The machine whose settings lie here; `/var` lies beside them.
    pub fn of(etc: &Path) -> System {
        System { etc: etc.to_path_buf(), var: etc.with_file_name("var") }
    }

    /// Where its settings lie.
    pub(crate) fn etc(&self) -> &Path {
        &self.etc
    }

    /// Where its programs keep what they need.
    pub(crate) fn var(&self) -> &Path {
        &self.var
    }

    /// The user of this number.
    pub(crate) fn account(&self, user: u32) -> Option<Account> {
        self.accounts().into_iter().find(|account| account.user == user)
    }

    /// Where those who seal apart keep their things.
    pub fn places(&self) -> Places {
        Places::below(&self.etc, &self.var)
    }

    /// Everybody of the list.
    fn accounts(&self) -> Vec<Account> {
        let mut text = Vec::new();
        let _ = fs::File::open(self.etc.join("passwd"))
            .and_then(|file| file.take(MAX_PASSWD).read_to_end(&mut text));
        let account = |line: &str| {
            let mut fields = line.split(':');
            let name = fields.next()?.to_owned();
            let user = fields.nth(1)?.parse().ok()?;
            let group = fields.next()?.parse().ok()?;
            let home = PathBuf::from(fields.nth(1)?);
            Some(Account { name, user, group, home })
        };
        String::from_utf8_lossy(&text).lines().filter_map(account).collect()
    }

    /// The people whose logs are sealed. Root is none of them: it could seal whatever it likes.
    pub fn people(&self) -> Vec<Account> {
        let is_person = |account: &Account| {
            account.user >= FIRST_PERSON && account.user != NOBODY && account.home.is_absolute()
        };
        self.accounts().into_iter().filter(is_person).collect()
    }

    /// The system user who seals; `None` where there is none, or where that is the name of a person.
    pub fn sealer(&self) -> Option<Account> {
        let is_sealer =
            |account: &Account| account.name == SEALER && (1..FIRST_PERSON).contains(&account.user);
        self.accounts().into_iter().find(is_sealer)
    }

    /// What those who seal apart know of the log in this state directory; `None` where nobody seals it apart. They seal the log at its
    /// usual place below the home that the system's list names.
    pub fn seen(&self, state: &Path) -> Option<Seen> {
        let owner = fs::metadata(state).map_or_else(|_| getuid().as_raw(), |found| found.uid());
        let account = self.accounts().into_iter().find(|account| account.user == owner)?;
        let usual = Dirs::of_home(&account.home).state;
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let is_sealed = owner >= FIRST_PERSON && real(&usual) == real(state);
        if is_sealed { Seen::read(&self.places(), owner) } else { None }
    }

    /// Whether the system itself is meant, and not one that a test has made.
    fn is_real(&self) -> bool {
        self.etc == Path::new("/etc")
    }

    /// Whether others are asked to seal here.
    pub fn is_installed(&self) -> bool {
        self.places().public.exists()
    }

    /// What keeps the level `apart` from this machine; `None` where nothing does.
    pub fn obstacle(&self, program: &Path) -> Option<String> {
        if !geteuid().is_root() {
            return Some("it takes root".into());
        }
        if self.is_real() && !Path::new("/run/systemd/system").is_dir() {
            return Some("systemd does not run here".into());
        }
        if !self.is_real() && self.sealer().is_none() {
            return Some(format!("there is no system user `{SEALER}`"));
        }
        only_root_replaces(program).err()
    }

    /// Has the log of everybody sealed apart. `program`: the whole program. Gives what was done, one sentence each.
    pub fn install(&self, program: &Path) -> Result<Vec<String>, String> {
        if let Some(why) = self.obstacle(program) {
            return Err(why);
        }
        let mut done = Vec::new();
        let sealer = if let Some(sealer) = self.sealer() {
            sealer
        } else {
            run(
                "useradd",
                &[
                    "--system",
                    "--user-group",
                    "--no-create-home",
                    "--home-dir",
                    "/nonexistent",
                    "--shell",
                    "/usr/sbin/nologin",
                    SEALER,
                ],
            )?;
            done.push(format!("made the system user `{SEALER}`"));
            self.sealer().ok_or_else(|| format!("`{SEALER}` is the name of a person here"))?
        };
        let places = self.places();
        let parent = places.store.parent().unwrap_or(&self.var);
        DirBuilder::new().recursive(true).mode(0o755).create(parent).map_err(about(parent))?;
        match DirBuilder::new().mode(0o755).create(&places.store) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(about(&places.store)(error));
            }
            _ => {}
        }
        std::os::unix::fs::lchown(&places.store, Some(sealer.user), Some(sealer.group))
            .map_err(about(&places.store))?;
        let etc = self.etc.to_string_lossy();
        let key = as_account(&sealer, program, &["ledger", "apart", "key", "--etc", &etc])
            .stderr(Stdio::inherit())
            .output()
            .map_err(about(program))?;
        if !key.status.success() {
            return Err(format!("`{SEALER}` could not make its key"));
        }
        for (path, text) in self.files(program, &String::from_utf8_lossy(&key.stdout)) {
            if fs::read_to_string(&path).is_ok_and(|now| now == text) {
                continue;
            }
            write(&path, &text)?;
            done.push(format!("{}: written", path.display()));
        }
        if self.is_real() {
            run("systemctl", &["daemon-reload"])?;
            run("systemctl", &["enable", "--now", &format!("{UNIT}.timer")])?;
        }
        Ok(done)
    }

    /// The files that root writes.
    fn files(&self, program: &Path, key: &str) -> [(PathBuf, String); 3] {
        let unit = |ending: &str| self.etc.join(format!("systemd/system/{UNIT}.{ending}"));
        let service =
            include_str!("apart/toolgate-seal.service").replace("{program}", &program.display().to_string());
        [
            (self.places().public, format!("{}\n", key.trim())),
            (unit("service"), service),
            (unit("timer"), include_str!("apart/toolgate-seal.timer").to_owned()),
        ]
    }

    /// Takes the timer away again, and the key by which people check. Gives what was done.
    pub fn remove(&self) -> Result<Vec<String>, String> {
        if self.is_real() && Path::new("/run/systemd/system").is_dir() {
            run("systemctl", &["disable", "--now", &format!("{UNIT}.timer")])?;
        }
        let mut done = Vec::new();
        for (path, _) in self.files(Path::new(""), "") {
            match fs::remove_file(&path) {
                Ok(()) => done.push(format!("{}: removed", path.display())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(about(&path)(error)),
            }
        }
        if self.is_real() && Path::new("/run/systemd/system").is_dir() {
            run("systemctl", &["daemon-reload"])?;
        }
        let store = self.places().store;
        if store.exists() {
            done.push(format!("{}: left as it is, with all that was sealed", store.display()));
        }
        Ok(done)
    }
}

/// Says why a program that root runs could be replaced by somebody else. Its name must be one that needs no quotes where root names it.
pub(crate) fn only_root_replaces(program: &Path) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte);
    let is_plain =
        program.is_absolute() && program.as_os_str().as_encoded_bytes().iter().all(|byte| plain(*byte));
    let of_root = |path: &Path| {
        fs::metadata(path).is_ok_and(|found| {
            let sticky = found.is_dir() && found.mode() & 0o1000 != 0;
            found.uid() == 0 && (found.mode() & 0o022 == 0 || sticky)
        })
    };
    let real = fs::canonicalize(program).unwrap_or_default();
    if is_plain && !real.as_os_str().is_empty() && real.ancestors().all(of_root) {
        return Ok(());
    }
    Err(format!(
        "root would run `{}`, and somebody else can replace it: install toolgate where only root writes",
        program.display()
    ))
}

/// A program that runs as somebody else, with none of our variables and none of our groups.
pub fn as_account(account: &Account, program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_clear().current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
    // Of root, setting the user drops all other groups.
    command.uid(account.user).gid(account.group);
    command
}

pub(crate) fn about(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// Writes a file of root's that everybody may read.
fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(parent).map_err(about(parent))?;
    }
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    fs::write(&new, text).map_err(about(&new))?;
    fs::set_permissions(&new, Permissions::from_mode(0o644)).map_err(about(&new))?;
    fs::rename(&new, path).map_err(about(path))
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let ended = Command::new(program).args(args).stdin(Stdio::null()).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{program} {}` failed: {status}", args.join(" "))),
        Err(error) => Err(format!("`{program}`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(temp: &Path, passwd: &str) -> System {
        let etc = temp.join("etc");
        fs::create_dir(&etc).unwrap();
        fs::write(etc.join("passwd"), passwd).unwrap();
        System::of(&etc)
    }

    #[test]
    fn people_are_told_from_system_users() {
        let temp = tempfile::tempdir().unwrap();
        let list = "root:x:0:0::/root:/bin/sh\ntoolgate:x:990:980::/nonexistent:/usr/sbin/nologin\nbroken\n\
                    nobody:x:65534:65534::/nonexistent:/bin/false\nalice:x:1000:1001:Alice,,:/home/alice:/bin/sh\nrel:x:1001:1001::home:\n";
        let system = system(temp.path(), list);
        let names: Vec<_> = system.people().into_iter().map(|account| account.name).collect();
        assert_eq!(names, ["alice"]);
        let sealer = system.sealer().unwrap();
        assert_eq!((sealer.user, sealer.group), (990, 980));
    }

    #[test]
    fn a_person_of_that_name_is_not_the_sealer() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(system(temp.path(), "toolgate:x:1000:1000::/home/toolgate:/bin/sh\n").sealer(), None);
    }

    #[test]
    fn root_runs_no_program_that_somebody_else_can_replace() {
        let temp = tempfile::tempdir().unwrap();
        let system = system(temp.path(), "toolgate:x:990:980::/:\n");
        let program = temp.path().join("toolgate");
        fs::write(&program, "").unwrap();
        if !geteuid().is_root() {
            assert_eq!(system.obstacle(&program), Some("it takes root".into()));
            return;
        }
        assert_eq!(system.obstacle(&program), None);
        fs::set_permissions(&program, Permissions::from_mode(0o775)).unwrap();
        assert!(system.obstacle(&program).unwrap().contains("replace"));
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(temp.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(system.obstacle(&program).unwrap().contains("replace"));
        assert!(system.obstacle(Path::new("/usr/bin/a%b")).is_some());
        assert!(system.obstacle(Path::new("toolgate")).is_some());
    }
}
