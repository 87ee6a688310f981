//! What a process gives up before it becomes the command: capabilities, and all users except one.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities_secure_bits,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits,
};

/// The user is the same inside. Nobody else is known there.
pub(crate) fn map_ids((user, group): (u32, u32)) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Also root has none, and what it starts gets none back: neither for being root, which is locked here, nor by a file's own
/// capabilities, which nobody gets who has given up new privileges.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    if lock_root().is_err() {
        drop_bounds()?;
    }
    match clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    let nothing = CapabilitySet::empty();
    let sets = CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing };
    Ok(set_capabilities(None, sets)?)
}

/// Has root be a user like others for every program that is started from here on, for good. One call, where taking each capability out of
/// the bounding set is one for each of some forty.
fn lock_root() -> rustix::io::Result<()> {
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(capabilities_secure_bits()? | locked)
}

/// Where somebody has locked root as it is, or nobody but root may: what no program gets, whoever starts it.
fn drop_bounds() -> io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) | Err(Errno::INVAL) => {}
            // Only who has the right to can drop them; who has not keeps none of them anyway.
            Err(Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
