//! Places: the files and directories that a text of which not all is known may name.

use std::borrow::Cow;
use std::path::Path;

use toolgate_model::{Access, Effect, Gap, NodeKind, PathArg, Reach, SecretName, Target, clean, secret_name};

use super::text::{ANY, CLASS, INNER, NAME, NUMBER, ONE, PIECE, STAR, Text, is_mark};
use super::{Interpreter, glob};

impl Interpreter<'_, '_> {
    /// A file or directory is used.
    pub(super) fn touch(&mut self, access: Access, reach: Reach, path: &Text) {
        if path.is_empty() || path.raw() == "-" || self.report.is_full() {
            return;
        }
        if self.streams.is_pipe(path.raw()) {
            return;
        }
        // All that is in a directory is as good as the directory.
        if access == Access::Delete
            && reach == Reach::Below
            && let Some(directory) = path.raw().strip_suffix(STAR)
            && (directory.is_empty() || directory.ends_with('/'))
            && !directory.contains(is_mark)
        {
            let directory = if directory.is_empty() { "." } else { directory };
            for (place, _) in self.places(&Text::marked(directory.to_owned())).into_iter().flatten() {
                self.touch_place(access, reach, clean(Path::new(&place)).to_string_lossy().into_owned());
            }
        }
        self.named_secret(access, reach, path);
        for place in self.places(path) {
            match place {
                // Some of what lies below, not all of it.
                Some((place, Reach::Below)) if access.changes() => {
                    self.touch_place(access, reach, format!("{}/…", place.trim_end_matches('/')));
                }
                Some((place, Reach::Below)) => self.touch_place(access, Reach::Below, place),
                Some((place, Reach::Exact)) => self.touch_place(access, reach, place),
                None => {
                    if access.changes() {
                        self.doubts.lose_file();
                    }
                    self.unknown(Gap::Path(access), &path.shown());
                }
            }
        }
        // An unset variable before a slash is the root directory.
        if access == Access::Delete
            && reach == Reach::Below
            && let Some(rest) = path.raw().strip_prefix(ANY)
            && rest.starts_with('/')
        {
            self.touch(access, reach, &Text::marked(rest.to_owned()));
        }
    }

    /// A file of secrets is known by its last name, wherever it lies: `$DIR/.env`.
    fn named_secret(&mut self, access: Access, reach: Reach, path: &Text) {
        let raw = path.raw();
        let unplaced = raw.contains(is_mark) || (self.state.cwd.is_empty() && !raw.starts_with('/'));
        if access.changes() || matches!(access, Access::List | Access::Enter) || !unplaced {
            return;
        }
        let name = raw.rsplit('/').next().unwrap_or(raw);
        if !name.contains(is_mark) && is_named_secret(name) {
            self.touch_place(access, reach, path.shown());
        }
    }

    pub(super) fn touch_place(&mut self, access: Access, reach: Reach, place: String) {
        // A link that the command has made leads on; the place itself counts too.
        let leads = self.state.disk.through_links(&place);
        for place in std::iter::once(place).chain(leads) {
            if self.report.has_use(access, reach, &place) {
                continue;
            }
            let origin = Some(self.origin());
            let path = PathArg::Text(Cow::Owned(place));
            let target = Target { param: Cow::Borrowed("command"), path, reach, guess: false, origin };
            self.emit(Effect::Use(access, target));
        }
    }

    /// The absolute places that a path may name, and how far from there; `None` is one that cannot be told.
    pub(super) fn places(&self, path: &Text) -> Vec<Option<(String, Reach)>> {
        let raw = path.raw();
        if raw.starts_with('/') {
            return self.located(raw);
        }
        // A tilde that was not expanded is one for programs that expand it themselves.
        if self.state.cwd.is_empty() {
            return vec![None];
        }
        self.state.cwd.iter().flat_map(|cwd| self.located(&format!("{cwd}/{raw}"))).collect()
    }

    fn located(&self, absolute: &str) -> Vec<Option<(String, Reach)>> {
        self.dotted(absolute).iter().flat_map(|absolute| self.located_below(absolute)).collect()
    }

    /// The spellings of a path in which a pattern is `..`: `.*` matches it in a plain shell, in a bash before 5.2, and
    /// where `globskipdots` is off. The first is the path itself.
    fn dotted(&self, absolute: &str) -> Vec<String> {
        const MAX_SPELLINGS: usize = 16;
        let is_pattern = |name: &str| {
            name.starts_with('.')
                && name.contains([STAR, ONE, CLASS])
                && glob::fits(name, "..") != Some(false)
        };
        if !absolute.split('/').any(is_pattern) {
            return vec![absolute.to_owned()];
        }
        let all_shells = self.state.plain || self.state.dots_match;
        let mut spellings = vec![String::new()];
        let mut names = absolute.split('/').skip(1).peekable();
        while let Some(name) = names.next() {
            // People list `.*` in their bash, and mean no more than what begins with a dot.
            let climbs = is_pattern(name) && (all_shells || names.peek().is_some());
            let climbed = spellings.iter().filter(|_| climbs).map(|path| format!("{path}/.."));
            let climbed: Vec<String> = climbed.take(MAX_SPELLINGS).collect();
            for path in &mut spellings {
                path.push('/');
                path.push_str(name);
            }
            spellings.extend(climbed);
            if spellings.len() > MAX_SPELLINGS {
                return vec![ANY.to_string()];
            }
        }
        spellings
    }

    fn located_below(&self, absolute: &str) -> Vec<Option<(String, Reach)>> {
        if !absolute.contains(is_mark) {
            return vec![Some((absolute.to_owned(), Reach::Exact))];
        }
        if absolute.contains(ANY) {
            return vec![None];
        }
        let blank = absolute.find(is_mark).unwrap_or(absolute.len());
        let (known, rest) = absolute.split_at_checked(blank).unwrap_or((absolute, ""));
        // Dots around what is not known may be `..` in the end.
        let may_climb = |name: &str| {
            name == ".."
                || (name.contains(['.', PIECE])
                    && name.contains(is_blank)
                    && name.chars().all(|c| c == '.' || is_blank(c)))
        };
        if absolute.split('/').skip_while(|name| !name.contains(is_mark)).any(may_climb) {
            return vec![None];
        }
        if !absolute.contains(is_blank) {
            let made = |directory: &str| self.state.disk.names_in(directory);
            let clean_dots = clean(Path::new(absolute));
            let pattern = clean_dots.to_str().unwrap_or(absolute);
            if let Some(found) = glob::expand(self.scene.world, pattern, &made)
                && !found.is_empty()
            {
                return found.into_iter().map(|path| Some((path, Reach::Exact))).collect();
            }
        }
        let above = known.rsplit_once('/').map_or("", |(above, _)| above);
        let above = if above.is_empty() { "/" } else { above };
        // A name that is not known in a directory that is: some child of it.
        let child = !rest.contains(['/', INNER]);
        if child {
            let child = Text::marked(absolute.to_owned()).shown();
            return vec![Some((child, Reach::Exact))];
        }
        vec![Some((above.to_owned(), Reach::Below))]
    }

    /// The one absolute place that a known path names.
    pub(super) fn one_place(&self, path: &Text) -> Option<String> {
        let whole = path.whole()?;
        let absolute = match self.state.cwd.as_slice() {
            _ if whole.starts_with('/') => whole.to_owned(),
            [cwd] if !cwd.contains(is_mark) => format!("{cwd}/{whole}"),
            _ => return None,
        };
        Some(clean(Path::new(&absolute)).to_string_lossy().into_owned())
    }

    /// A tilde that a program expands itself.
    pub(super) fn tilde(&self, path: &str) -> Text {
        match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                Text::known(&format!("{}{rest}", self.scene.home.unwrap_or("/home")))
            }
            _ => Text::known(path),
        }
    }

    /// The same for a path of which not all is known.
    pub(super) fn tilde_marked(&self, path: &str) -> Text {
        match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                Text::marked(format!("{}{rest}", self.scene.home.unwrap_or("/home")))
            }
            _ => Text::marked(path.to_owned()),
        }
    }

    pub(super) fn is_directory(&self, place: &str) -> bool {
        let mut at = place.to_owned();
        for _ in 0..8 {
            match self.scene.world.look(std::path::Path::new(&at)).map(|node| node.kind) {
                Ok(NodeKind::Directory) => return true,
                Ok(NodeKind::Link(target)) => {
                    let base = at.rsplit_once('/').map_or("", |(above, _)| above);
                    at = match target.to_str() {
                        Some(target) if target.starts_with('/') => target.to_owned(),
                        Some(target) => format!("{base}/{target}"),
                        None => return false,
                    };
                }
                _ => return false,
            }
        }
        false
    }

    /// The directories that a path may name.
    pub(super) fn directories(&self, target: &Text) -> Vec<std::rc::Rc<str>> {
        let mut all = Vec::new();
        for place in self.places(target) {
            match place {
                Some((place, Reach::Exact)) => {
                    let clean = toolgate_model::clean(std::path::Path::new(&place));
                    all.push(std::rc::Rc::from(clean.to_string_lossy().as_ref()));
                }
                // Somewhere below: kept as a path with a mark in it.
                Some((place, Reach::Below)) => {
                    all.push(std::rc::Rc::from(format!("{place}/{INNER}").as_str()));
                }
                None => return Vec::new(),
            }
        }
        if all.len() > 4 { Vec::new() } else { all }
    }
}

/// Whether a file of this name holds secrets, whatever stands in it.
pub(crate) fn is_named_secret(name: &str) -> bool {
    matches!(secret_name(name), Some(SecretName::Settings | SecretName::Key))
}

/// A mark that is no pattern.
fn is_blank(c: char) -> bool {
    matches!(c, NAME | PIECE | INNER | ANY | NUMBER)
}
