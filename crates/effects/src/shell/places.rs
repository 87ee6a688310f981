//! Places: the files and directories that a text of which not all is known may name.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use toolgate_model::{
    Access, Doubt, Effect, Gap, NodeKind, PathArg, Reach, Resolver, SecretName, Target, clean, secret_name,
};

use super::bounds::Limit;
use super::disk::TooMany;
use super::links::Among;
use super::text::{
    ANY, CLASS, INNER, NAME, NUMBER, ONE, OWN, PIECE, STAR, Text, UNBROKEN, is_mark, solid_number,
};
use super::{Interpreter, glob};

/// Where a path may lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Located {
    /// To this very place.
    Exact(String),
    /// To something in a directory, of whose name not all is known; `shown` for people. Without `among` there is nothing of that
    /// name.
    Child { shown: String, among: Option<Among> },
    /// Somewhere below a directory.
    Below { above: String, among: Option<Among> },
    /// Nobody can tell.
    Unknown,
}

impl Located {
    fn place(self) -> Option<(String, Reach)> {
        match self {
            Located::Exact(place) | Located::Child { shown: place, .. } => Some((place, Reach::Exact)),
            Located::Below { above, .. } => Some((above, Reach::Below)),
            Located::Unknown => None,
        }
    }
}

/// Whether a use of a place may be one of a file.
pub(super) fn covers(place: &str, reach: Reach, file: &str) -> bool {
    let lies_in = |directory: &str| toolgate_model::below(directory.as_bytes(), file.as_bytes()).is_some();
    match place.split_once('…') {
        Some((known, _)) => lies_in(known.rsplit_once('/').map_or("/", |(directory, _)| directory)),
        None if reach == Reach::Below => lies_in(place),
        None => place == file,
    }
}

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
        for located in self.located(path) {
            let among = match &located {
                Located::Child { among, .. } | Located::Below { among, .. } => among.clone(),
                Located::Exact(_) | Located::Unknown => None,
            };
            if let Some(among) = among {
                self.named_unknown(access, &among);
                self.met(access, &among);
            }
            match located.place() {
                // Some of what lies below, not all of it.
                Some((place, Reach::Below)) if access.changes() => {
                    self.touch_place(access, reach, format!("{}/…", place.trim_end_matches('/')));
                }
                Some((place, Reach::Below)) => self.touch_place(access, Reach::Below, place),
                Some((place, Reach::Exact | Reach::Met)) => self.touch_place(access, reach, place),
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

    /// A secret file is known by its last name, wherever it lies: `$DIR/.env`.
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
        let leads = self.state.disk.through_links(&place).unwrap_or_else(|TooMany| {
            self.too_much(Limit::Links);
            Vec::new()
        });
        for place in std::iter::once(place).chain(leads) {
            if access == Access::Delete {
                self.changed.take_away(&place);
            }
            if access.changes() && reach != Reach::Below && !self.keeps_contents {
                self.doubts.change_file(&place);
            }
            if access.changes() && !self.in_git_data {
                for file in self.doubts.changed_after_all(|file| covers(&place, reach, file)) {
                    self.touch_place(Access::Search, Reach::Exact, file);
                }
            }
            let is_absent = || {
                let is_there =
                    |place: &Path| self.state.disk.has_made(place) || self.scene.world.look(place).is_ok();
                !is_there(Path::new(&place)) && self.state.written(&place).is_none()
            };
            if access != Access::Delete && self.doubts.may_be_brought(&place, is_absent) {
                self.unknown(Gap::Doubt(Doubt::Members), "what git has put there may be a link");
            }
            if self.report.has_use(access, reach, &place, (self.assumes, self.in_git_data)) {
                continue;
            }
            let origin = Some(self.origin());
            let path = PathArg::Text(Cow::Owned(place));
            let target = Target {
                reach,
                assumed: self.assumes,
                git_data: self.in_git_data,
                origin,
                ..Target::exact("command", path)
            };
            self.emit(Effect::Use(access, target));
        }
    }

    /// The absolute places that a path may name, and how far from there; `None` is one that cannot be told.
    pub(super) fn places(&self, path: &Text) -> Vec<Option<(String, Reach)>> {
        self.located(path).into_iter().map(Located::place).collect()
    }

    /// The same, with what is not known of them.
    pub(super) fn located(&self, path: &Text) -> Vec<Located> {
        let raw = path.raw();
        let spelled = |absolute: &str| -> Vec<Located> {
            self.dotted(absolute).iter().flat_map(|absolute| self.located_below(absolute)).collect()
        };
        if raw.starts_with('/') {
            return spelled(raw);
        }
        // A tilde that was not expanded is one for programs that expand it themselves.
        if self.state.cwd.is_empty() {
            return vec![Located::Unknown];
        }
        self.state.cwd.iter().flat_map(|cwd| spelled(&format!("{cwd}/{raw}"))).collect()
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

    fn located_below(&self, absolute: &str) -> Vec<Located> {
        if leads_through_process(absolute) {
            return vec![Located::Unknown];
        }
        if !absolute.contains(is_mark) {
            return vec![Located::Exact(absolute.to_owned())];
        }
        if absolute.contains(ANY) {
            return vec![Located::Unknown];
        }
        if let Some(own) = self.in_own_directory(absolute) {
            return self.located_below(&own);
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
            return vec![Located::Unknown];
        }
        let mut is_past = false;
        let mut is_nothing = false;
        if !absolute.contains(is_blank) {
            let made = |directory: &str| self.state.disk.names_in(directory);
            let clean_dots = clean(Path::new(absolute));
            let pattern = clean_dots.to_str().unwrap_or(absolute);
            match glob::expand(self.scene.world, pattern, &made) {
                Some(found) if !found.is_empty() => return found.into_iter().map(Located::Exact).collect(),
                found => (is_past, is_nothing) = (found.is_none(), found.is_some()),
            }
        }
        let (above, last) = known.rsplit_once('/').unwrap_or(("", known));
        let above = if above.is_empty() { "/" } else { above };
        let among = Among { directory: above.to_owned(), rest: format!("{last}{rest}"), is_past };
        let among = (!is_nothing).then_some(among);
        // A name that is not known in a directory that is: some child of it.
        if !rest.contains(['/', INNER]) {
            return vec![Located::Child { shown: Text::marked(absolute.to_owned()).shown(), among }];
        }
        vec![Located::Below { above: above.to_owned(), among }]
    }

    /// A path in a directory that the command has made under a new name, with that name as it is shown: nothing lies there but what the
    /// command puts there.
    fn in_own_directory(&self, absolute: &str) -> Option<String> {
        let end = format!("{NAME}{OWN}");
        let (before, rest) = absolute.split_once(&end)?;
        let is_whole = !before.contains(is_mark) && (rest.is_empty() || rest.starts_with('/'));
        let shown = Text::marked(format!("{before}{end}")).shown();
        (is_whole && self.state.disk.has_made(Path::new(&shown))).then(|| format!("{shown}{rest}"))
    }

    /// The one absolute place that a known path names.
    pub(super) fn one_place(&self, path: &Text) -> Option<String> {
        let own;
        let whole = match path.whole() {
            Some(whole) => whole,
            None => {
                own = self.in_own_directory(path.raw()).filter(|own| !own.contains(is_mark))?;
                own.as_str()
            }
        };
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
        let found = Resolver::new(self.scene.world, None, None).walk(PathBuf::from(place));
        found.is_ok_and(|found| found.node.is_some_and(|node| node.kind == NodeKind::Directory))
    }

    /// The directories that a path may name.
    pub(super) fn directories(&self, target: &Text) -> Vec<std::rc::Rc<str>> {
        let mut all = Vec::new();
        for place in self.places(target) {
            match place {
                Some((place, Reach::Exact | Reach::Met)) => {
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

/// Whether a path goes on behind a descriptor, or behind the directory or the root of a process: what is there is only known when it runs.
fn leads_through_process(absolute: &str) -> bool {
    if !absolute.contains("/proc") && !absolute.contains("/dev") {
        return false;
    }
    let names: Vec<&str> = absolute.split('/').skip(1).filter(|name| *name != ".").collect();
    let goes_on = |rest: &[&str]| matches!(rest, ["fd", _, _, ..] | ["cwd" | "root", _, ..]);
    let is_door = |window: &[&str]| match window {
        ["dev", "fd", _, _, ..] | ["dev", "stdin" | "stdout" | "stderr", _, ..] => true,
        ["proc", _, "task", _, rest @ ..] | ["proc", _, rest @ ..] => goes_on(rest),
        _ => false,
    };
    // Further in only where the way there may have climbed back.
    (0..names.len()).any(|at| {
        let before = names.get(..at).unwrap_or_default();
        (at == 0 || before.contains(&"..")) && names.get(at..).is_some_and(is_door)
    })
}

/// Whether a file of this name holds secrets, whatever stands in it.
pub(crate) fn is_named_secret(name: &str) -> bool {
    matches!(secret_name(name), Some(SecretName::Settings | SecretName::Key))
}

/// A mark that is no pattern.
fn is_blank(c: char) -> bool {
    matches!(c, NAME | PIECE | INNER | ANY | NUMBER | UNBROKEN | OWN) || solid_number(c).is_some()
}
