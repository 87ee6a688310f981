//! What this kernel can enforce. Each right is tried, since a version number does not tell: some kernels report one
//! whose rights they do not have.

use std::fmt;

#[cfg(target_os = "linux")]
use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

/// What this kernel can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// The Landlock interface whose rights on files are all there; 0: none.
    pub landlock: u8,
    /// Whether Landlock keeps signals and abstract sockets inside.
    pub scopes: bool,
}

/// The newest interface that is known here.
const NEWEST: u8 = 9;

impl Kernel {
    /// Asks the kernel.
    pub fn probe() -> Kernel {
        let landlock = (1..=NEWEST).rev().find(|abi| has_rights(*abi)).unwrap_or(0);
        Kernel { landlock, scopes: has_scopes() }
    }

    /// Whether there is any Landlock at all: the least that can be asked.
    pub fn has_landlock() -> bool {
        has_rights(1)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn abi(self) -> ABI {
        ABI::from(i32::from(self.landlock))
    }

    /// What is not enforced at a level on this kernel, beside what the level itself leaves open.
    pub fn missing(self) -> Vec<Missing> {
        let mut missing = Vec::new();
        let mut add = |is_missing: bool, what| missing.extend(is_missing.then_some(what));
        add(self.landlock < 2, Missing::Renames);
        add(!self.scopes, Missing::Signals);
        add(self.landlock < 5, Missing::Devices);
        missing
    }
}

/// Something that a kernel cannot enforce, or not without forbidding more than it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// No file can be renamed or linked from one directory to another, though it may be.
    Renames,
    /// At level `landlock`, signals reach the user's other processes.
    Signals,
    /// Requests to devices that may be opened are not filtered.
    Devices,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Missing::Renames => "files cannot be moved between directories (needs Landlock 2, Linux 5.19)",
            Missing::Signals => {
                "at level landlock, signals reach other processes of this user (needs Landlock 6, Linux 6.12)"
            }
            Missing::Devices => "requests to open devices are not filtered (needs Landlock 5, Linux 6.10)",
        })
    }
}

/// Landlock is Linux's own.
#[cfg(not(target_os = "linux"))]
fn has_rights(_: u8) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn has_scopes() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn has_rights(abi: u8) -> bool {
    let rights = AccessFs::from_all(ABI::from(i32::from(abi)));
    let asked = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(rights);
    asked.and_then(Ruleset::create).is_ok()
}

#[cfg(target_os = "linux")]
fn has_scopes() -> bool {
    let asked =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::from_all(ABI::V6));
    asked.and_then(Ruleset::create).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_follows_from_what_was_found() {
        let missing = |landlock, scopes| Kernel { landlock, scopes }.missing();
        assert_eq!(missing(6, true), []);
        assert_eq!(missing(6, false), [Missing::Signals]);
        assert_eq!(missing(1, false), [Missing::Renames, Missing::Signals, Missing::Devices]);
    }
}
