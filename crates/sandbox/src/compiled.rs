//! A plan made ready to be asked: its grants as a tree of names, built once, before any process is made.
//!
//! Setting up a sandbox asks the plan about hundreds of paths. Walking all grants for each path took longer than
//! everything else together.

use std::ffi::{OsStr, OsString};
use std::ops::Deref;
use std::path::Path;

use crate::names::{above, clean, is_below, is_clean, parts};
use crate::plan::{Grant, Plan, Rights};

/// A plan whose paths are clean, and whose grants are sorted and named once each. What needs to know rights takes this, so that
/// nobody asks a plan whose paths are not clean.
#[derive(Debug)]
pub(crate) struct CompiledPlan {
    plan: Plan,
    root: Node,
}

impl Deref for CompiledPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// A name in the tree of grants, and the names below it. A path that is not in the tree has the rights of the nearest one
/// above that a grant names.
#[derive(Debug, Default)]
pub(crate) struct Node {
    name: OsString,
    /// What a grant gives here, where one names this path.
    named: Option<Rights>,
    /// Sorted by name.
    below: Vec<Node>,
    /// Whether a grant of nothing is further down.
    closes_below: bool,
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "asked while a sandbox of Linux is set up"))]
impl Node {
    pub(crate) fn below(&self, name: &OsStr) -> Option<&Node> {
        let at = self.below.binary_search_by(|node| node.name.as_os_str().cmp(name)).ok()?;
        self.below.get(at)
    }

    /// All names in it that lead to a grant.
    pub(crate) fn children(&self) -> impl Iterator<Item = (&OsStr, &Node)> {
        self.below.iter().map(|node| (node.name.as_os_str(), node))
    }

    /// The rights that a grant names for this very path.
    pub(crate) fn named(&self) -> Option<Rights> {
        self.named
    }

    /// Whether a path further down is closed.
    pub(crate) fn closes_below(&self) -> bool {
        self.closes_below
    }
}

/// A grant that covers a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Covering {
    rights: Rights,
    is_root: bool,
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "asked while a sandbox of Linux is set up"))]
impl CompiledPlan {
    pub(crate) fn of(mut plan: Plan) -> CompiledPlan {
        let mut grants: Vec<Grant> = std::mem::take(&mut plan.grants);
        let unclean = grants.iter_mut().map(|grant| &mut grant.path).filter(|path| !is_clean(path));
        for path in unclean.chain(&mut plan.caches).chain(&mut plan.kept).chain([&mut plan.private]) {
            *path = clean(path);
        }
        // Stable: of two grants for one path the later one counts, so it takes the place of the earlier one.
        // As bytes, which is quick: the paths are clean, so what is the same has the same bytes.
        grants.sort_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
        grants.dedup_by(|later, earlier| {
            let is_same = later.path.as_os_str() == earlier.path.as_os_str();
            if is_same {
                earlier.rights = later.rights;
            }
            is_same
        });
        // A pin may lie behind a link, so its `..` is kept: only the file system knows where that leads.
        for pinned in &mut plan.pinned {
            *pinned = pinned.components().collect();
        }
        let mut root = Node::default();
        // What a path lies in comes before it. Most of what is closed lies in nothing that is open, and need not be thought of again.
        grants.retain(|grant| {
            let is_needed = grant.rights != Rights::None
                || covering(&root, &grant.path).is_some()
                || is_of_kernel(&grant.path);
            if is_needed {
                insert(&mut root, &grant.path, grant.rights);
            }
            is_needed
        });
        plan.grants = grants;
        CompiledPlan { plan, root }
    }

    /// The place of a path in the tree, where a grant names it or something below it.
    pub(crate) fn node_at(&self, path: &Path) -> Option<&Node> {
        // Where `..` leads is not known here, and nothing has that name.
        parts(path).try_fold(&self.root, Node::below)
    }

    /// The rights at a path: those of the most specific grant.
    pub(crate) fn rights_at(&self, path: &Path) -> Rights {
        self.covering(path).map_or(Rights::None, |covering| covering.rights)
    }

    /// Whether a grant names this very path.
    pub(crate) fn names(&self, path: &Path) -> bool {
        self.node_at(path).is_some_and(|node| node.named.is_some())
    }

    /// The nearest path above this one that a grant names, and the rights there.
    pub(crate) fn nearest_above<'p>(&self, path: &'p Path) -> Option<(&'p Path, Rights)> {
        above(path).find_map(|above| Some((above, self.node_at(above)?.named?)))
    }

    /// Whether a command may have made what is at a path. Where the whole file system may be written, links of the system are
    /// everywhere, and nothing is left to protect from them.
    pub(crate) fn is_writable_below_root(&self, path: &Path) -> bool {
        self.covering(path).is_some_and(|covering| covering.rights == Rights::Write && !covering.is_root)
    }

    /// A grant that gives less than a writable one that it lies in, where there is such a grant.
    pub(crate) fn closed_in_writable(&self) -> Option<(&Path, &Path)> {
        self.plan.grants.iter().filter(|grant| grant.rights < Rights::Write).find_map(|grant| {
            let (above, rights) = self.nearest_above(&grant.path)?;
            (rights == Rights::Write).then_some((grant.path.as_path(), above))
        })
    }

    fn covering(&self, path: &Path) -> Option<Covering> {
        if parts(path).any(|part| part == "..") {
            return covering(&self.root, &clean(path));
        }
        covering(&self.root, path)
    }
}

/// The most specific grant in a tree for a path without `..`.
fn covering(root: &Node, path: &Path) -> Option<Covering> {
    let covering = |node: &Node, is_root| node.named.map(|rights| Covering { rights, is_root });
    let mut node = root;
    let mut nearest = covering(node, true);
    for name in parts(path) {
        let Some(below) = node.below(name) else { break };
        node = below;
        nearest = covering(node, false).or(nearest);
    }
    nearest
}

/// Whether a view has places there without a grant.
pub(crate) fn is_of_kernel(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|own| is_below(path, Path::new(own)))
}

fn insert(root: &mut Node, path: &Path, rights: Rights) {
    let mut node = root;
    for name in parts(path) {
        node.closes_below |= rights == Rights::None;
        let at = node.below.binary_search_by(|node| node.name.as_os_str().cmp(name));
        let at = at.unwrap_or_else(|at| {
            node.below.insert(at, Node { name: name.to_owned(), ..Node::default() });
            at
        });
        let Some(below) = node.below.get_mut(at) else { return };
        node = below;
    }
    node.named = Some(rights);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_grant_decides_and_of_equals_the_last() {
        let mut plan = Plan::new("/repo/wt", "/state");
        plan.grants.extend([
            Grant::new("/repo", Rights::None),
            Grant::new("/", Rights::Read),
            Grant::new("/repo/wt/logs", Rights::Read),
            Grant::new("/repo/wt/logs", Rights::None),
        ]);
        let compiled = CompiledPlan::of(plan.clone());
        for (path, rights) in [
            ("/usr/bin", Rights::Read),
            ("/repo/src", Rights::None),
            ("/repo/wt/src", Rights::Write),
            ("/repo/wt/logs/1", Rights::None),
            ("/repository", Rights::Read),
            ("/usr/../repo/wt/src", Rights::Write),
        ] {
            assert_eq!(compiled.rights_at(Path::new(path)), rights, "{path}");
            assert_eq!(plan.rights_at(Path::new(path)), rights, "{path}");
        }
    }

    #[test]
    fn a_trailing_slash_changes_nothing() {
        let mut plan = Plan::new("/repo/wt/", "/state");
        plan.grants.extend([
            Grant::new("/repo/wt/logs/.", Rights::Read),
            Grant::new("/repo/wt/./logs//old/", Rights::None),
            Grant::new("/repo/wt/logs/", Rights::Read),
        ]);
        plan.pinned.push("/repo/wt/.mcp.json/".into());
        let compiled = CompiledPlan::of(plan.clone());
        let paths: Vec<&str> = compiled.grants.iter().filter_map(|grant| grant.path.to_str()).collect();
        assert_eq!(paths, ["/repo/wt", "/repo/wt/logs", "/repo/wt/logs/old"]);
        assert_eq!(compiled.pinned.first().and_then(|pin| pin.to_str()), Some("/repo/wt/.mcp.json"));
        for (path, rights) in [
            ("/repo/wt", Rights::Write),
            ("/repo/wt/", Rights::Write),
            ("/repo/wt/logs/", Rights::Read),
            ("/repo/wt/logs/old/1/", Rights::None),
        ] {
            assert_eq!(compiled.rights_at(Path::new(path)), rights, "{path}");
        }
    }

    #[test]
    fn what_is_closed_or_named_further_down_is_known() {
        let mut plan = Plan::new("/wt", "/state");
        plan.grants.extend([
            Grant::new("/etc", Rights::Read),
            Grant::new("/etc/ssl/private", Rights::None),
            Grant::new("/usr", Rights::Read),
            Grant::new("/usr/share/doc", Rights::Read),
        ]);
        let compiled = CompiledPlan::of(plan.clone());
        let closes = |path: &str| compiled.node_at(Path::new(path)).is_some_and(Node::closes_below);
        assert!(closes("/") && closes("/etc") && closes("/etc/ssl"));
        assert!(!closes("/usr") && !closes("/etc/ssl/private") && !closes("/etc/ssl/certs"));
        assert!(compiled.names(Path::new("/etc/")) && !compiled.names(Path::new("/etc/ssl")));
        assert_eq!(
            compiled.nearest_above(Path::new("/etc/ssl/private")),
            Some((Path::new("/etc"), Rights::Read))
        );
        assert_eq!(compiled.nearest_above(Path::new("/etc")), None);
        assert!(compiled.is_writable_below_root(Path::new("/wt/a")));
        assert_eq!(compiled.closed_in_writable(), None);
    }

    #[test]
    fn a_place_that_is_closed_in_a_writable_one_is_found() {
        let mut plan = Plan::new("/wt", "/state");
        plan.grants.extend([Grant::new("/wt/a/b", Rights::Read), Grant::new("/", Rights::Read)]);
        let compiled = CompiledPlan::of(plan.clone());
        assert_eq!(compiled.closed_in_writable(), Some((Path::new("/wt/a/b"), Path::new("/wt"))));
        // Where all may be written, a link is nobody's trap.
        let mut whole = Plan::new("/", "/state");
        whole.grants.push(Grant::new("/wt", Rights::Write));
        let compiled = CompiledPlan::of(whole);
        assert!(!compiled.is_writable_below_root(Path::new("/bin")));
        assert!(compiled.is_writable_below_root(Path::new("/wt/x")));
    }
}
