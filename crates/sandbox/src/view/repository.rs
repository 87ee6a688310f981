//! The git directory of a worktree, as a view has it.

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, mkdirat, openat, statat, unlinkat};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use super::{
    Failed, Layer, PLAIN, PRIVATE_PARTS, READ_ONLY, SHARED_GIT, STAGED, Step, View, attach, in_memory,
    name_of,
};
use crate::path::{
    Stamp, clean, for_each_entry, names_in, open_place, open_seen, open_whole_directory, read_file,
    read_to_end,
};
use crate::plan::{Repository, Rights};

/// The name of the file with many references.
const PACKED: &str = "packed-refs";
/// A `packed-refs` that is larger is not copied. Git inside cannot replace it then: it deletes no branch, and packs none.
const LARGEST_COPY: u64 = 16 << 20;

/// A copy of `packed-refs` in a view. Git replaces the file to delete a branch, which a mount in its place would not let it do.
pub(crate) struct Packed {
    /// Where it lies.
    pub(crate) directory: OwnedFd,
    /// What was copied, if there was anything. Git never writes to such a file: it makes another one.
    pub(crate) before: Option<OwnedFd>,
    /// The copy as it was made.
    pub(crate) stamp: Option<Stamp>,
}

impl Packed {
    /// What must stay open until it was looked at.
    pub(crate) fn held(&self) -> impl Iterator<Item = &OwnedFd> {
        std::iter::once(&self.directory).chain(&self.before)
    }
}

impl View<'_> {
    /// A git directory whose own entries are the view's. Locks can be made beside files that cannot be changed, and what
    /// is new in it (`commondir`, `config.worktree`) is gone with the view.
    ///
    /// Without the layer, which may not be made yet. A plain clone is nothing but that.
    pub(super) fn repository(&self, repository: &Repository) -> Result<(), Failed> {
        let common = &repository.common;
        if repository.is_plain() {
            return Ok(());
        }
        let handle = open_place(&self.old, common).step("opening", common)?;
        let packed = statat(&handle, PACKED, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |found| found.st_size);
        let packed = u64::try_from(packed).unwrap_or_default().min(LARGEST_COPY);
        // Git writes another one beside it before it replaces it, and a lock.
        let options = format!("mode=755,size={}", (16 << 20) + 3 * packed);
        let options = CString::new(options).map_err(io::Error::other).step("mounting on", common)?;
        let point = self.point(common, true)?;
        in_memory(Path::new(&name_of(&point)), &options).step("mounting on", common)?;
        drop(point);
        let shared = open_place(CWD, Path::new(SHARED_GIT)).step("opening", Path::new(SHARED_GIT))?;
        attach(&handle, &shared, READ_ONLY | PLAIN).step("binding", common)?;
        self.children(common)?;
        if let Some(own) = self.find(&repository.own)? {
            self.bind(&own, PLAIN)?;
        }
        self.other_worktrees(repository);
        Ok(())
    }

    /// What the command may write of the repository. Waits for the layer.
    pub(super) fn repository_layer(&self, repository: &Repository, run: &Path) -> Result<(), Failed> {
        let common = &repository.common;
        if repository.is_plain() {
            return self.plain_clone(common, run);
        }
        // One layer over the whole directory, of which the parts alone are seen: making one takes longer than all other mounts.
        if let Ok(layer) = self.made_layer(&Layer::of(run, common)) {
            let staged = open_place(CWD, Path::new(STAGED)).step("opening", Path::new(STAGED))?;
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
            move_mount(&layer, "", &staged, "", flags).step("attaching", common)?;
            for part in PRIVATE_PARTS {
                let (path, staged) = (common.join(part), Path::new(STAGED).join(part));
                let found = self.find(&path)?.filter(|found| found.is_directory && found.path == path);
                let Some(point) = found else { continue };
                let point = self.point(&point.path, true)?;
                let staged = open_place(CWD, &staged).step("opening", &staged)?;
                attach(&staged, &point, PLAIN).step("binding", &path)?;
            }
        }
        Ok(())
    }

    /// Empty files where other worktrees have theirs that lead to the repository: git takes a worktree without one for gone. Best effort, since
    /// nothing but a list of worktrees depends on it.
    fn other_worktrees(&self, repository: &Repository) {
        const MOST: usize = 64;
        let Ok(worktrees) = open_whole_directory(&Path::new(SHARED_GIT).join("worktrees")) else { return };
        let own = repository.own.file_name();
        let names = names_in(&worktrees, MOST).unwrap_or_default();
        for name in names.into_iter().filter(|name| Some(name.as_os_str()) != own) {
            let text = read_file(&worktrees, &Path::new(&name).join("gitdir"), 8192).ok().flatten();
            let text = text.unwrap_or_default();
            let pointer = Path::new(OsStr::from_bytes(text.trim_ascii_end()));
            let pointer = clean(&repository.common.join("worktrees").join(&name).join(pointer));
            // Where something is granted, what is there is seen.
            let is_hidden = pointer.ends_with(".git") && self.plan.rights_at(&pointer) == Rights::None;
            if is_hidden && open_place(&self.old, &pointer).is_ok() {
                let _ = self.point(&pointer, false);
            } else if is_hidden {
                self.remove_empty(&pointer);
            }
        }
    }

    /// Takes away what was made for an earlier command, in its private directory for temporary files.
    fn remove_empty(&self, path: &Path) {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Ok(above) = open_place(&self.new, above) else { return };
        let is_empty = |found: &Stat| {
            FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_size == 0
        };
        if statat(&above, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| is_empty(&found)) {
            let _ = unlinkat(&above, name, AtFlags::empty());
        }
    }

    /// What is in the git directory, read-only.
    fn children(&self, common: &Path) -> Result<(), Failed> {
        let here = open_place(&self.new, common).step("opening", common)?;
        let shared = open_whole_directory(Path::new(SHARED_GIT)).step("opening", common)?;
        let (mut links, mut has_packed) = (Vec::new(), false);
        let bind = |name: &CStr, kind: FileType| -> io::Result<()> {
            let is_packed = name.to_bytes() == PACKED.as_bytes();
            has_packed |= is_packed;
            match kind {
                FileType::RegularFile if is_packed && self.copy_packed(&shared, &here)? => return Ok(()),
                FileType::Directory => mkdirat(&here, name, Mode::from_raw_mode(0o755))?,
                FileType::RegularFile => {
                    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                    drop(openat(&here, name, flags, Mode::from_raw_mode(0o444))?);
                }
                _ => {
                    links.push(common.join(OsStr::from_bytes(name.to_bytes())));
                    return Ok(());
                }
            }
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_SYMLINK_NOFOLLOW
                | OpenTreeFlags::AT_RECURSIVE;
            // Read-only, as what it is a part of.
            let tree = open_tree(&shared, name, flags)?;
            Ok(move_mount(&tree, "", &here, name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
        };
        for_each_entry(&shared, bind).step("binding", common)?;
        for path in links {
            if let Some(place) = self.find(&path)? {
                self.bind(&place, READ_ONLY | PLAIN)?;
            }
        }
        if !has_packed {
            self.packed.replace(Some(Packed { directory: here, before: None, stamp: None }));
        }
        Ok(())
    }

    /// Copies `packed-refs`, unless it is too large or cannot be read: then it is bound like other files.
    fn copy_packed(&self, shared: &OwnedFd, here: &OwnedFd) -> io::Result<bool> {
        let name = Path::new(PACKED);
        let Ok((before, _)) = open_seen(shared, name) else { return Ok(false) };
        let Ok(Some(text)) = read_to_end(&before, LARGEST_COPY) else { return Ok(false) };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut copy = fs::File::from(openat(here, name, flags, Mode::from_raw_mode(0o644))?);
        copy.write_all(&text)?;
        let (directory, stamp) = (here.try_clone()?, Stamp::at(here, name));
        self.packed.replace(Some(Packed { directory, before: Some(before.into()), stamp }));
        Ok(true)
    }

    /// A layer over all of a plain clone. What is never taken over from it, and would be missed, cannot be written: a submodule
    /// or a worktree that is made inside would lead nowhere afterwards.
    fn plain_clone(&self, common: &Path, run: &Path) -> Result<(), Failed> {
        self.layer(run, common)?;
        for name in ["hooks", "modules", "worktrees"] {
            let path = common.join(name);
            // Where there is no layer, nothing can be written anyway.
            let Ok(point) = self.point(&path, true) else { continue };
            attach(&point, &point, READ_ONLY | PLAIN).step("closing", &path)?;
        }
        Ok(())
    }
}
