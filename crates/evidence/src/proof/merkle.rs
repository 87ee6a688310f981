//! The tree of RFC 6962 over the ledger's lines: SHA-256, a leaf is a line without its newline.
//!
//! Promise: the same root and the same proofs as every other implementation; `tests/it/tree.rs` compares with one, and with
//! the published vectors of Certificate Transparency. Pure: where hashes are kept is for the caller to know.

use sha2::{Digest as _, Sha256};

use crate::Digest;

/// A proof has at most one hash for each level of a tree of 2⁶⁴ leaves.
const MAX_PATH: usize = 64;

/// The hash of a leaf.
pub fn leaf_hash(line: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::new().chain_update([0]).chain_update(line).finalize().into())
}

/// The hash of a node with these two below it.
pub(crate) fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let sum = Sha256::new().chain_update([1]).chain_update(left.bytes()).chain_update(right.bytes());
    Digest::from_bytes(sum.finalize().into())
}

/// The root of a tree, and all that is needed to let it grow: the perfect trees that it is made of, the largest first.
#[derive(Debug, Clone, Default)]
pub struct Frontier {
    size: u64,
    peaks: Vec<(u32, Digest)>,
}

impl Frontier {
    /// How many leaves there are.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// One more leaf. `whole` is told each perfect tree that it completes: its height and its root.
    pub fn push(&mut self, leaf: Digest, whole: impl FnMut(u32, &Digest)) {
        self.push_tree(0, leaf, whole);
    }

    /// One more perfect tree of this height, which is no higher than the lowest so far.
    pub(crate) fn push_tree(&mut self, height: u32, root: Digest, mut whole: impl FnMut(u32, &Digest)) {
        self.size = self.size.saturating_add(1_u64.checked_shl(height).unwrap_or(0));
        let (mut height, mut root) = (height, root);
        whole(height, &root);
        while let Some((_, left)) = self.peaks.pop_if(|(there, _)| *there == height) {
            root = node_hash(&left, &root);
            height += 1;
            whole(height, &root);
        }
        self.peaks.push((height, root));
    }

    /// The root; that of no leaves is the hash of nothing.
    pub fn root(&self) -> Digest {
        let mut peaks = self.peaks.iter().rev().map(|(_, root)| *root);
        match peaks.next() {
            Some(lowest) => peaks.fold(lowest, |right, left| node_hash(&left, &right)),
            None => Digest::of(b""),
        }
    }
}

/// The ranges of leaves whose roots prove that a leaf is in a tree, its sibling first; `None` where the tree does not have it.
pub(crate) fn path_to(index: u64, size: u64) -> Option<Vec<(u64, u64)>> {
    if index >= size {
        return None;
    }
    let (mut from, mut to) = (0, size);
    let mut path = Vec::new();
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            path.push((middle, to));
            to = middle;
        } else {
            path.push((from, middle));
            from = middle;
        }
    }
    path.reverse();
    Some(path)
}

/// How many leaves are left of a tree's root: the largest power of two below its size, which is at least 2.
pub(crate) fn split(size: u64) -> u64 {
    1 << (u64::BITS - 1 - size.saturating_sub(1).leading_zeros())
}

/// The root that follows from a leaf and its path; `None` where the path has another length than such a tree has.
pub fn root_of_path(index: u64, size: u64, leaf: Digest, path: &[Digest]) -> Option<Digest> {
    let ranges = path_to(index, size)?;
    if ranges.len() != path.len() || path.len() > MAX_PATH {
        return None;
    }
    Some(ranges.iter().zip(path).fold(leaf, |below, ((from, _), beside)| {
        if *from > index { node_hash(&below, beside) } else { node_hash(beside, &below) }
    }))
}
