//! Whose signature counts: the approvers, in the form in which OpenSSH lists allowed signers, so that `ssh-keygen -Y verify` reads the
//! same file.
//!
//! Against whom: an agent that would enrol a key of its own. The list lies in the person's settings, which no agent writes, or with the
//! administrator. Where the administrator has one, no other counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toolgate_gate::dirs::Dirs;
use toolgate_gate::disk::read_regular;
use toolgate_gate::store::write_private;
use toolgate_model::Strength;

use super::sshsig::{NAMESPACE, SshKey};

/// The name of the list, in each of its places.
pub(super) const FILE: &str = "approvers";
/// Nobody has more approvers.
const LONGEST: usize = 256 * 1024;

/// Somebody whose signature counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    /// Who.
    pub name: String,
    /// The key.
    pub key: SshKey,
}

impl Approver {
    /// What a signature of this key proves to a user of this name. `None`: nothing that a terminal does not.
    pub fn strength_for(&self, user: &str) -> Option<Strength> {
        if self.name == user {
            self.key.is_touched().then_some(Strength::Touch)
        } else {
            Some(Strength::OtherPerson)
        }
    }

    fn line(&self) -> String {
        format!("{} namespaces=\"{NAMESPACE}\" {}", self.name, self.key.line())
    }
}

/// All approvers, and the file that lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvers {
    /// The file.
    pub file: PathBuf,
    /// Those in it that can be used.
    pub list: Vec<Approver>,
    /// The numbers of its lines that cannot be used.
    pub unusable: Vec<usize>,
}

impl Approvers {
    /// Reads the list that counts.
    pub fn read(dirs: &Dirs) -> io::Result<Approvers> {
        let managed = dirs.managed.join(FILE);
        let file = if is_there(&managed)? { managed } else { dirs.config.join(FILE) };
        let text = match read_regular(&file, LONGEST + 1) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Ok(text) if text.len() > LONGEST => return Err(io::ErrorKind::FileTooLarge.into()),
            text => text?,
        };
        let text = String::from_utf8_lossy(&text);
        let (mut list, mut unusable) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match parse(line) {
                Some(approver) => list.push(approver),
                None => unusable.push(number + 1),
            }
        }
        Ok(Approvers { file, list, unusable })
    }

    /// Adds one to the person's own list. Whether it was not there.
    pub fn add(dirs: &Dirs, approver: &Approver) -> io::Result<bool> {
        let own = dirs.config.join(FILE);
        let known = Approvers::read(dirs)?;
        if known.file != own {
            return Err(io::Error::other(format!(
                "`{}` is the administrator's, and no other list counts",
                known.file.display()
            )));
        }
        if known.list.contains(approver) {
            return Ok(false);
        }
        let mut text = own_text(&own)?;
        text.push_str(&approver.line());
        text.push('\n');
        write_private(&own, text.as_bytes()).map(|()| true)
    }

    /// Takes all keys of a name out of the person's own list. How many there were.
    pub fn remove(dirs: &Dirs, name: &str) -> io::Result<usize> {
        let own = dirs.config.join(FILE);
        let text = own_text(&own)?;
        let is_theirs = |line: &&str| line.split_ascii_whitespace().next() == Some(name);
        let count = text.lines().filter(is_theirs).count();
        if count > 0 {
            let rest: String =
                text.lines().filter(|line| !is_theirs(line)).flat_map(|line| [line, "\n"]).collect();
            write_private(&own, rest.as_bytes())?;
        }
        Ok(count)
    }
}

fn is_there(file: &Path) -> io::Result<bool> {
    fs::exists(file)
}

/// The person's list as it stands, ending with a whole line.
fn own_text(own: &Path) -> io::Result<String> {
    let mut text = match fs::read_to_string(own) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// A line that says a name, this purpose and a key, and nothing that would have to be heeded besides.
fn parse(line: &str) -> Option<Approver> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().filter(|name| is_name(name))?;
    let purpose = words.next()?;
    let for_us = purpose.strip_prefix("namespaces=\"")?.strip_suffix('"')?;
    for_us.split(',').find(|namespace| *namespace == NAMESPACE)?;
    let key = SshKey::parse(words.next()?, words.next()?)?;
    Some(Approver { name: name.to_owned(), key })
}

/// Whether a name is one word without anything that a list or a terminal would act on.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@+-".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(plain)
}

/// Reads a public key file: its first line.
pub fn key_of_file(file: &Path) -> Result<SshKey, String> {
    const KINDS: &str = "is no Ed25519 key; `ssh-keygen -t ed25519-sk` makes one in a security key, `-t ed25519` one in software";
    let bytes = read_regular(file, LONGEST).map_err(|error| format!("{}: {error}", file.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.lines().next().unwrap_or_default().split_ascii_whitespace();
    let key = words.next().zip(words.next()).and_then(|(kind, blob)| SshKey::parse(kind, blob));
    key.ok_or_else(|| format!("{} {KINDS}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::super::sshsig::tests::Made;
    use super::*;

    #[test]
    fn a_list_is_read_as_openssh_reads_it_and_no_more_is_believed() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs { managed: home.path().join("managed"), ..Dirs::of_home(home.path()) };
        assert_eq!(Approvers::read(&dirs).unwrap().list, []);
        let (soft, hard) = (Made::new(1, false).key, Made::new(2, true).key);
        let own = Approver { name: "kane".into(), key: hard.clone() };
        let other = Approver { name: "ash@example.com".into(), key: soft.clone() };
        assert!(Approvers::add(&dirs, &own).unwrap() && Approvers::add(&dirs, &other).unwrap());
        assert!(!Approvers::add(&dirs, &own).unwrap(), "once");
        assert_eq!(Approvers::read(&dirs).unwrap().list, [own.clone(), other.clone()]);
        assert_eq!(own.strength_for("kane"), Some(Strength::Touch));
        assert_eq!(own.strength_for("dallas"), Some(Strength::OtherPerson));
        assert_eq!(other.strength_for("ash@example.com"), None, "a key in software of one's own");
        let line = soft.line();
        for unusable in [
            format!("ash {line}"),
            format!("ash namespaces=\"git\" {line}"),
            format!("ash namespaces=\"toolgate\",valid-before=\"20200101\" {line}"),
            format!("ash cert-authority,namespaces=\"toolgate\" {line}"),
            "ash namespaces=\"toolgate\" ssh-rsa AAAA".to_owned(),
            format!("a*,b namespaces=\"toolgate\" {line}"),
        ] {
            assert_eq!(parse(&unusable), None, "{unusable}");
        }
        assert_eq!(Approvers::remove(&dirs, "kane").unwrap(), 1);
        assert_eq!(Approvers::read(&dirs).unwrap().list, [other]);
        fs::create_dir_all(&dirs.managed).unwrap();
        fs::write(dirs.managed.join(FILE), "# nobody\n").unwrap();
        assert_eq!(Approvers::read(&dirs).unwrap().list, [], "the administrator's alone counts");
        assert!(Approvers::add(&dirs, &own).is_err());
    }
}
