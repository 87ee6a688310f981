//! Doubts: what the walk has lost sight of.
//!
//! A doubt that came up in one branch or child counts until the end, wherever the walk goes: it is not known when the
//! parts of a command really run.

use std::collections::BTreeSet;

use toolgate_model::Gap;

use super::variables::Stamp;

/// Files whose changes are told apart.
const MAX_CHANGED: usize = 1_024;

#[expect(clippy::struct_excessive_bools, reason = "each is a doubt of its own")]
#[derive(Default)]
pub(super) struct Doubts {
    /// Something was written whose place or content is not known.
    lost_file: bool,
    /// Files that were changed, and hold no longer what the disk said.
    changed: BTreeSet<String>,
    /// The same may be true of any file that was there.
    changed_any: bool,
    /// Directories in which git may have put a link where nothing was, and paths at which it may have put one.
    brought: BTreeSet<(String, bool)>,
    /// Secret files of which `git diff` was taken to show nothing, since they are as the index has them.
    unchanged: Vec<String>,
    left_to_git: bool,
    /// Code whose text is not known has run in this shell: any variable may be its.
    lost_variables: bool,
    /// The call's text quotes what arithmetic would run: `a[$(…)]`.
    quotes_subscripts: bool,
    /// The call's text quotes what an expansion would run: `$(…)` in single quotes, or anything alike.
    quotes_substitutions: bool,
    /// Variables that were declared as integers: bash evaluates what is assigned to them.
    integers: Vec<String>,
    /// Variables that were called doubtful, and the set of them that was looked at last.
    told: BTreeSet<String>,
    heeded: Option<Stamp>,
    /// `PATH` was last given a value of which nothing is unknown but the old one.
    own_path: bool,
}

impl Doubts {
    /// What the call's text alone gives reason to.
    pub(super) fn of(text: &str) -> Doubts {
        Doubts {
            quotes_subscripts: text.contains("[$(") || text.contains("[`"),
            quotes_substitutions: text.contains("$(") || text.contains('`'),
            ..Doubts::default()
        }
    }

    /// Code that is not known may have set any variable.
    pub(super) fn heed(&mut self, gap: Gap) {
        self.lost_variables |= matches!(gap, Gap::ShellCode | Gap::Syntax | Gap::Name);
    }

    pub(super) fn lose_file(&mut self) {
        self.lost_file = true;
    }

    /// A file is changed by something that does not say what it then holds.
    pub(super) fn change_file(&mut self, place: &str) {
        if self.changed.len() < MAX_CHANGED {
            self.changed.insert(place.to_owned());
        } else {
            self.changed_any = true;
        }
    }

    /// Files that were there are changed, and which of them is not known.
    pub(super) fn change_files(&mut self) {
        self.changed_any = true;
    }

    /// `git diff` shows nothing of this file, as long as the call changes neither it nor the index.
    pub(super) fn take_for_unchanged(&mut self, place: &str) {
        if self.unchanged.len() < MAX_CHANGED {
            self.unchanged.push(place.to_owned());
        }
    }

    /// The files that were taken for unchanged and are not, where the call has changed this. A loop may come back to the `git diff`.
    pub(super) fn changed_after_all(&mut self, is_changed: impl Fn(&str) -> bool) -> Vec<String> {
        if self.unchanged.is_empty() || self.left_to_git {
            return Vec::new();
        }
        let (changed, unchanged) =
            std::mem::take(&mut self.unchanged).into_iter().partition(|place| is_changed(place));
        self.unchanged = unchanged;
        changed
    }

    /// What is told next is that git may write any file, and which it does is told apart.
    pub(super) fn leave_to_git(&mut self, is_left: bool) {
        self.left_to_git = is_left;
    }

    /// git may have put a link at this place; `below`: anywhere below it where nothing was.
    pub(super) fn bring_link(&mut self, place: &str, below: bool) {
        if self.brought.len() < MAX_CHANGED {
            self.brought.insert((place.to_owned(), below));
        }
    }

    /// Whether git may have put a link at this place or on the way to it.
    pub(super) fn may_be_brought(&self, place: &str, is_absent: impl FnOnce() -> bool) -> bool {
        let is_within = |within: &str| toolgate_model::below(within.as_bytes(), place.as_bytes()).is_some();
        let is_there = |below: bool| {
            self.brought.iter().any(|(within, is_below)| *is_below == below && is_within(within))
        };
        !self.brought.is_empty() && (is_there(false) || (is_there(true) && is_absent()))
    }

    /// Whether a file still holds what the disk said, as far as the walk has come.
    pub(super) fn believes_file(&self, place: &str) -> bool {
        !self.lost_file && !self.changed_any && !self.changed.contains(place)
    }

    pub(super) fn has_lost_file(&self) -> bool {
        self.lost_file
    }

    pub(super) fn lose_variables(&mut self) {
        self.lost_variables = true;
    }

    pub(super) fn has_lost_variables(&self) -> bool {
        self.lost_variables
    }

    pub(super) fn keep_own_path(&mut self, is_own: bool) {
        self.own_path = is_own;
    }

    pub(super) fn keeps_own_path(&self) -> bool {
        self.own_path
    }

    /// Whether this is told for the first time.
    pub(super) fn tell(&mut self, text: &str) -> bool {
        !self.told.contains(text) && self.told.insert(text.to_owned())
    }

    /// Whether these variables are others than those that were looked at last.
    pub(super) fn heeds_anew(&mut self, stamp: Stamp) -> bool {
        let is_new = self.heeded.as_ref() != Some(&stamp);
        self.heeded = Some(stamp);
        is_new
    }

    /// Effects were taken back, and what they told is told again.
    pub(super) fn forget_told(&mut self) {
        self.told.clear();
        self.heeded = None;
    }

    pub(super) fn quotes_subscripts(&self) -> bool {
        self.quotes_subscripts
    }

    pub(super) fn quotes_substitutions(&self) -> bool {
        self.quotes_substitutions
    }

    /// `declare -i`
    pub(super) fn add_integer(&mut self, name: &str) {
        self.integers.push(name.to_owned());
    }

    /// Whether bash evaluates what is assigned to this variable.
    pub(super) fn is_integer(&self, name: &str) -> bool {
        self.integers.iter().any(|known| known == name)
            || matches!(
                name,
                "RANDOM"
                    | "SRANDOM"
                    | "SECONDS"
                    | "OPTIND"
                    | "LINENO"
                    | "HISTCMD"
                    | "BASHPID"
                    | "EPOCHSECONDS"
            )
    }
}
