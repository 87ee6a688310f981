//! The tree on disk: tiles as C2SP's tlog-tiles lays them out, in `<state>/tlog/tile`.
//!
//! Promise: a tile is written whole or not at all, and a full one never changes. Whoever reads a directory of tiles finds
//! everything here: other people's tools too. What a tile holds is not believed: the signed root decides.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::files::write_private;
use super::merkle::{Frontier, node_hash, path_to, split};
use crate::{Digest, LedgerError};

/// So many hashes are in a full tile.
const WIDTH: u64 = 256;
/// So many levels of the tree are in one level of tiles.
const HEIGHT: u32 = 8;
/// The bytes of one hash.
const HASH: usize = 32;

/// The tiles below a directory.
#[derive(Debug)]
pub(crate) struct Tiles {
    dir: PathBuf,
}

impl Tiles {
    pub(crate) fn at(tlog: &Path) -> Tiles {
        Tiles { dir: tlog.join("tile") }
    }

    /// Where a tile is: `<level>/x001/x234/067`, with `.p/<width>` where it is not full.
    fn path(&self, level: u32, index: u64, width: u64) -> PathBuf {
        let mut rest = index;
        let mut parts = vec![format!("{:03}", rest % 1000)];
        while rest >= 1000 {
            rest /= 1000;
            parts.push(format!("x{:03}", rest % 1000));
        }
        let mut path = self.dir.join(level.to_string());
        path.extend(parts.iter().rev());
        if width < WIDTH {
            path.as_mut_os_string().push(".p");
            path.push(width.to_string());
        }
        path
    }

    /// The hashes of a tile of a tree of this size, the full one where it is there by now; `None` where it is not there.
    fn read(&self, level: u32, index: u64, size: u64) -> Result<Option<Vec<u8>>, LedgerError> {
        let width = width_at(level, size).saturating_sub(index.saturating_mul(WIDTH)).min(WIDTH);
        // A tile that becomes full meanwhile takes the place of its part.
        for width in [WIDTH, width, WIDTH] {
            let path = self.path(level, index, width);
            match fs::read(&path) {
                Ok(bytes) if bytes.len() as u64 == width * HASH as u64 => return Ok(Some(bytes)),
                Ok(_) => return Ok(None),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => return Err(LedgerError::about(&path, error)),
            }
        }
        Ok(None)
    }

    /// Reads hashes of a tree of this size.
    pub(crate) fn reader(&self, size: u64) -> TileReader<'_> {
        TileReader { tiles: self, size, read: BTreeMap::new() }
    }

    /// Goes on where a tree of this size ended; `None` where a tile is not there.
    pub(crate) fn writer(&self, size: u64) -> Result<Option<TileWriter<'_>>, LedgerError> {
        let mut writer = TileWriter { tiles: self, frontier: Frontier::default(), open: BTreeMap::new() };
        let top = (0..HEIGHT).take_while(|level| width_at(*level, size) > 0).last().unwrap_or(0);
        for level in (0..=top).rev() {
            let count = width_at(level, size);
            let index = count / WIDTH;
            let mut open = Open { index, hashes: Vec::new() };
            if !count.is_multiple_of(WIDTH) {
                let Some(bytes) = self.read(level, index, size)? else { return Ok(None) };
                // What a later checkpoint added to this tile is written again.
                open.hashes = bytes
                    .get(..usize::try_from(count % WIDTH).unwrap_or(0) * HASH)
                    .unwrap_or_default()
                    .to_vec();
                for hash in open.hashes.as_chunks().0 {
                    writer.frontier.push_tree(level * HEIGHT, Digest::from_bytes(*hash), |_, _| {});
                }
            }
            writer.open.insert(level, open);
        }
        Ok(Some(writer))
    }
}

/// How many hashes a level of tiles has in a tree of this size.
fn width_at(level: u32, size: u64) -> u64 {
    size.checked_shr(level * HEIGHT).unwrap_or(0)
}

/// A tile that grows.
#[derive(Debug, Default)]
struct Open {
    index: u64,
    hashes: Vec<u8>,
}

/// Lets a tree grow.
#[derive(Debug)]
pub(crate) struct TileWriter<'t> {
    tiles: &'t Tiles,
    frontier: Frontier,
    open: BTreeMap<u32, Open>,
}

impl TileWriter<'_> {
    pub(crate) fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// One more leaf. Tiles that it fills are written.
    pub(crate) fn push(&mut self, leaf: Digest) -> Result<(), LedgerError> {
        let mut full = Vec::new();
        let open = &mut self.open;
        self.frontier.push(leaf, |height, root| {
            if height % HEIGHT == 0 {
                let level = height / HEIGHT;
                let tile = open.entry(level).or_default();
                tile.hashes.extend_from_slice(root.bytes());
                if tile.hashes.len() as u64 == WIDTH * HASH as u64 {
                    full.push((level, tile.index, std::mem::take(&mut tile.hashes)));
                    tile.index += 1;
                }
            }
        });
        for (level, index, hashes) in full {
            let path = self.tiles.path(level, index, WIDTH);
            write_private(&path, &hashes, false)?;
            // Nobody needs its parts any more.
            let mut parts = path.into_os_string();
            parts.push(".p");
            let _ = fs::remove_dir_all(parts);
        }
        Ok(())
    }

    /// Writes the tiles that are not full, as a checkpoint of this size needs them.
    pub(crate) fn flush(&self) -> Result<(), LedgerError> {
        for (level, tile) in &self.open {
            if !tile.hashes.is_empty() {
                let width = (tile.hashes.len() / HASH) as u64;
                write_private(&self.tiles.path(*level, tile.index, width), &tile.hashes, false)?;
            }
        }
        Ok(())
    }
}

/// Reads hashes of a tree of one size, one tile of each level at a time.
#[derive(Debug)]
pub(crate) struct TileReader<'t> {
    tiles: &'t Tiles,
    size: u64,
    read: BTreeMap<u32, (u64, Option<Vec<u8>>)>,
}

impl TileReader<'_> {
    /// A hash of a level; `None` where its tile is not there.
    pub(crate) fn hash(&mut self, level: u32, index: u64) -> Result<Option<Digest>, LedgerError> {
        let tile = index / WIDTH;
        if self.read.get(&level).is_none_or(|(there, _)| *there != tile) {
            self.read.insert(level, (tile, self.tiles.read(level, tile, self.size)?));
        }
        let hashes = self.read.get(&level).and_then(|(_, hashes)| hashes.as_deref()).unwrap_or_default();
        let at = usize::try_from(index % WIDTH).unwrap_or(0) * HASH;
        Ok(hashes.get(at..).and_then(|rest| rest.first_chunk()).map(|hash| Digest::from_bytes(*hash)))
    }

    /// What proves that a leaf is in the tree; `None` where a tile is not there, or no such leaf.
    pub(crate) fn path(&mut self, index: u64) -> Result<Option<Vec<Digest>>, LedgerError> {
        let Some(ranges) = path_to(index, self.size) else { return Ok(None) };
        let mut path = Vec::new();
        for (from, to) in ranges {
            let Some(root) = self.root(from, to)? else { return Ok(None) };
            path.push(root);
        }
        Ok(Some(path))
    }

    /// The root over the leaves of a range that is a part of the tree.
    fn root(&mut self, from: u64, to: u64) -> Result<Option<Digest>, LedgerError> {
        let count = to - from;
        if !count.is_power_of_two() {
            let middle = from + split(count);
            let (left, right) = (self.root(from, middle)?, self.root(middle, to)?);
            return Ok(left.zip(right).map(|(left, right)| node_hash(&left, &right)));
        }
        let height = count.trailing_zeros();
        let level = height / HEIGHT;
        let first = width_at(level, from);
        let mut row = Vec::new();
        for index in first..first + (1 << (height % HEIGHT)) {
            let Some(hash) = self.hash(level, index)? else { return Ok(None) };
            row.push(hash);
        }
        while row.len() > 1 {
            row = row.as_chunks().0.iter().map(|[left, right]| node_hash(left, right)).collect();
        }
        Ok(row.pop())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Tiles;

    #[test]
    fn tiles_are_named_as_the_specification_names_them() {
        let tiles = Tiles::at(Path::new("/t"));
        for (level, index, width, path) in [
            (0, 0, 256, "/t/tile/0/000"),
            (1, 5, 17, "/t/tile/1/005.p/17"),
            (0, 1_234_067, 256, "/t/tile/0/x001/x234/067"),
            (0, 1_000, 1, "/t/tile/0/x001/000.p/1"),
        ] {
            assert_eq!(tiles.path(level, index, width), Path::new(path));
        }
    }
}
