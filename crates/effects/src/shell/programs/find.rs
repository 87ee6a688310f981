//! `find`, `xargs`, `parallel`: programs that run others on what they find or read.

use toolgate_model::{Access, Effect, Gap, Reach};

use super::input::prints_files;
use crate::secrets_below::Sift;
use crate::shell::Interpreter;
use crate::shell::apply::slot_text;
use crate::shell::places::is_named_secret;
use crate::shell::text::{ANY, Flow, INNER, Text, spaced_as_is};
use crate::shell::walk::Outcome;
use crate::spec::Reading;

impl Interpreter<'_, '_> {
    pub(super) fn find(&mut self, arguments: &[Text]) -> Outcome {
        let mut roots: Vec<Text> = Vec::new();
        let mut at = 0;
        let mut follows = false;
        while let Some(word) = arguments.get(at) {
            match word.raw() {
                "-L" => follows = true,
                "-H" | "-P" => {}
                "-D" => at += 1,
                raw if raw.starts_with("-O") => {}
                raw if raw.starts_with(['-', '(', ')', ',', '!']) => break,
                _ => roots.push(word.clone()),
            }
            at += 1;
        }
        if roots.is_empty() {
            roots.push(Text::known("."));
        }
        let expression = arguments.get(at..).unwrap_or_default().to_vec();
        // `-maxdepth 0` and a plain listing look at names only; contents are not read by find itself.
        for root in &roots {
            self.touch(Access::List, Reach::Exact, root);
        }
        self.gone_into("find", arguments, &roots);
        follows |= expression.iter().any(|word| word.raw() == "-follow");
        let below = self.found_below(&roots, &expression, follows);
        self.draws_printed(&Flow::Lines(below.clone()));
        let mut out = Flow::Lines(below.clone());
        let mut at = 0;
        while let Some(word) = expression.get(at) {
            at += 1;
            match word.raw() {
                "-delete" => {
                    for root in &roots {
                        self.touch(Access::Delete, Reach::Below, root);
                        if follows {
                            self.followed_below(Access::Delete, root, INNER);
                        }
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let (length, printed) = self.run_on_found(word.raw(), &roots, &below, (&expression, at));
                    at += length + 1;
                    out = out.then(printed);
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = expression.get(at).cloned() {
                        self.touch(Access::Write, Reach::Exact, &file);
                    }
                    at += 1 + usize::from(word.raw() == "-fprintf");
                }
                "-files0-from" | "-newer" | "-anewer" | "-cnewer" | "-samefile" => {
                    if let Some(file) = expression.get(at).cloned() {
                        self.touch(Access::Read, Reach::Exact, &file);
                        if word.raw() == "-files0-from" {
                            self.unknown(Gap::Path(Access::List), "find -files0-from");
                        }
                    }
                    at += 1;
                }
                "-printf" => {
                    out = Flow::Any;
                    at += 1;
                }
                "-ls" => out = Flow::Any,
                // An expression that is only known when it runs could be any of the above.
                raw if raw.starts_with(ANY) => self.unknown(Gap::Option, "find"),
                _ => {}
            }
        }
        Outcome::of(out)
    }

    /// `-exec` and its kin: runs a command on what is found. Says how many words the command has, and what it prints.
    fn run_on_found(
        &mut self,
        action: &str,
        roots: &[Text],
        below: &[Text],
        (expression, at): (&[Text], usize),
    ) -> (usize, Flow) {
        let rest = expression.get(at..).unwrap_or_default();
        let ends = |place: usize, word: &Text| {
            word.raw() == ";"
                || (word.raw() == "+"
                    && place > 0
                    && rest.get(place - 1).is_some_and(|word| word.raw() == "{}"))
        };
        let length =
            rest.iter().enumerate().position(|(place, word)| ends(place, word)).unwrap_or(rest.len());
        let command = rest.get(..length).unwrap_or_default();
        if prints_files(command)
            && let Some(sift) = expression.get(..at).and_then(sift_of)
        {
            self.tell_secrets(roots, &sift);
        }
        if !is_sifted(expression) && deletes(command) {
            self.all_deleted("find -exec", roots);
        }
        let standing = self.state.cwd.clone();
        if action.ends_with("dir") {
            self.state.cwd = self.directories_of_matches(roots, expression);
        }
        let mut out = Flow::Nothing;
        for found in below {
            let words: Vec<Text> =
                command.iter().map(|word| Text::marked(word.raw().replace("{}", found.raw()))).collect();
            let printed =
                self.in_step("find -exec", "", |shell| shell.forked(|shell| shell.run_words(&words)));
            out = out.then(printed);
        }
        self.state.cwd = standing;
        (length, out)
    }

    /// Where `-execdir` runs its command: in the directories of what is found.
    fn directories_of_matches(&self, roots: &[Text], expression: &[Text]) -> Vec<std::rc::Rc<str>> {
        let mut all = Vec::new();
        for root in roots {
            for place in self.directories(root) {
                if self.can_match(root, &place, expression)
                    && let Some((above, _)) = place.rsplit_once('/')
                {
                    all.push(std::rc::Rc::from(if above.is_empty() { "/" } else { above }));
                }
                all.push(std::rc::Rc::from(format!("{place}/{INNER}")));
                all.push(place);
            }
        }
        all
    }

    /// The paths that find prints, or puts in the place of `{}`.
    fn found_below(&mut self, roots: &[Text], expression: &[Text], follows: bool) -> Vec<Text> {
        let secrets = secret_names(expression);
        let is_solid = !follows && finds_no_link(expression);
        let mut all = Vec::new();
        for root in roots {
            let mut below = Text::marked(root.raw().trim_end_matches('/').to_owned());
            // What it prints is never `/x` because the place was empty: then it searches here, or not at all.
            if root.raw() != ANY.to_string() {
                below.push_raw("/");
                below.push_mark(INNER);
            }
            let named = |name: &String| Text::marked(format!("{}/{name}", below.raw()));
            let named: Vec<Text> = secrets.iter().map(named).collect();
            if let Some(mark) = self.solid_below(root).filter(|_| is_solid) {
                below.push_mark(mark);
            }
            all.push(below);
            all.extend(named);
        }
        all
    }

    /// Whether a search may come upon its own beginning, which lies in the directory above. `.` lies in itself.
    fn can_match(&self, root: &Text, place: &str, expression: &[Text]) -> bool {
        let value = |names: &[&str]| {
            let at = expression.iter().position(|word| names.contains(&word.raw()))?;
            let is_negated =
                at > 0 && expression.get(at - 1).is_some_and(|word| matches!(word.raw(), "!" | "-not"));
            expression.get(at + 1).filter(|_| !is_negated).map(Text::raw)
        };
        let has_or = expression.iter().any(|word| matches!(word.raw(), "-o" | "-or" | ","));
        let name = place.rsplit('/').next().unwrap_or_default();
        let is_too_deep = value(&["-mindepth"]).is_some_and(|depth| depth != "0");
        let has_other_name = value(&["-name"]).is_some_and(|glob| !crate::shell::matches_name(glob, name));
        let is_other_kind =
            value(&["-type"]).is_some_and(|kinds| !kinds.contains('d')) && self.is_directory(place);
        root.raw() != "."
            && !root.raw().ends_with("/.")
            && (has_or || !(is_too_deep || has_other_name || is_other_kind))
    }

    /// All that is below these directories is deleted, one by one.
    fn all_deleted(&mut self, step: &str, roots: &[Text]) {
        self.in_step(step, "", |shell| {
            for root in roots {
                shell.touch(Access::Delete, Reach::Below, root);
            }
        });
    }

    /// The secret files among what another program lists, for one that prints what it is given: `ls -A | while read f; do cat "$f"`,
    /// `cat $(git ls-files -o)`.
    pub(in crate::shell) fn listed_secrets(&mut self) {
        /// These hand on what they read, or some of the lines.
        const PASSING: [&str; 8] = ["cat", "head", "sort", "shuf", "tac", "tail", "tr", "uniq"];
        let Some((program, words)) = self.listed_by(&PASSING) else { return };
        let is_option = |word: &Text| word.raw().starts_with('-');
        let (roots, expression): (Vec<Text>, Vec<Text>) = if program.ends_with("find") {
            let begins = words.iter().position(|word| word.raw().starts_with(['-', '(', '!']));
            let mut roots = words;
            let expression = roots.split_off(begins.unwrap_or(roots.len()));
            (roots, expression)
        } else {
            words.into_iter().partition(|word| !is_option(word))
        };
        let has = |letters: &[char], names: &[&str]| {
            expression.iter().map(Text::raw).any(|word| match word.strip_prefix("--") {
                Some(name) => names.contains(&name),
                None => word.contains(letters),
            })
        };
        let everything = Sift { hidden: true, ignored: true, ..Sift::default() };
        let (roots, sift) = match program.as_str() {
            "ls" => (roots, has(&['a', 'A', 'f'], &["all", "almost-all"]).then_some(everything)),
            // What is ignored is left out only where git is told so, and not asked for it.
            "git" => {
                let without_ignored = has(&[], &["exclude-standard"]) && !has(&['i'], &["ignored"]);
                let sift =
                    has(&['o'], &["others"]).then_some(Sift { ignored: !without_ignored, ..everything });
                (roots.into_iter().skip(1).collect(), sift)
            }
            // A pattern that chooses by name is not worked out.
            "fd" | "fdfind" => {
                let all = has(&['u'], &["unrestricted"]);
                let hidden = all || has(&['H'], &["hidden"]);
                let chosen = has(&['e', 'g', 'E'], &["extension", "glob", "exclude"])
                    || roots.first().is_some_and(|pattern| pattern.raw() != ".");
                let ignored = all || has(&['I'], &["no-ignore", "no-ignore-vcs"]);
                let sift = (hidden && !chosen).then_some(Sift { ignored, ..everything });
                (roots.into_iter().skip(1).collect(), sift)
            }
            _ => (roots, sift_of(&expression)),
        };
        let roots = if roots.is_empty() { vec![Text::known(".")] } else { roots };
        if let Some(sift) = sift {
            self.tell_secrets(&roots, &sift);
        }
    }

    /// The program that lists the names which the present command is given, and its words. No others than `passing` stand between the two,
    /// since they could leave something out.
    fn listed_by(&self, passing: &[&str]) -> Option<(String, Vec<Text>)> {
        let feeding = self.streams.feeding(&[]);
        let feeding = if feeding.is_empty() { self.streams.looped().to_vec() } else { feeding };
        let mut listers = feeding.into_iter().filter(|program| !passing.contains(&program.as_str()));
        let (feeding, None) = (listers.next()?, listers.next()) else { return None };
        let run = self.report.effects().iter().rev().find_map(|effect| match effect {
            Effect::Run(run) if run.program == feeding => Some(run),
            _ => None,
        })?;
        let words: Vec<Text> = run.words.iter().skip(1).map(|word| Text::known(word)).collect();
        let lists = match feeding.as_str() {
            "find" | "gfind" | "ls" | "fd" | "fdfind" => true,
            "git" => words.first().is_some_and(|sub| sub.raw() == "ls-files"),
            _ => false,
        };
        lists.then_some((feeding, words))
    }

    /// The directories of which everything is listed on standard input, by a search that leaves out nothing.
    fn all_listed(&self) -> Vec<Text> {
        let is_all = |feeding: &str| feeding == "ls" || feeding.ends_with("find");
        let listed = self.listed_by(&[]).filter(|(feeding, _)| is_all(feeding));
        let Some((feeding, words)) = listed else { return Vec::new() };
        if feeding != "ls" && is_sifted(&words) {
            return Vec::new();
        }
        let roots: Vec<Text> =
            words.into_iter().take_while(|word| feeding == "ls" || !word.raw().starts_with('-')).collect();
        let roots: Vec<Text> = roots.into_iter().filter(|word| !word.raw().starts_with('-')).collect();
        if roots.is_empty() { vec![Text::known(".")] } else { roots }
    }

    /// Words that something else runs: a program, not a function.
    pub(super) fn run_words(&mut self, words: &[Text]) -> Flow {
        match words.first().and_then(Text::whole).map(str::to_owned) {
            Some(name) => self.invoke_program(&name, words, None, &[]).out,
            None if words.is_empty() => Flow::Nothing,
            None => self.invoke(words, None, &[]).out,
        }
    }

    pub(super) fn xargs(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        for at in &reading.unlisted {
            if let Some(word) = arguments.get(*at) {
                self.unknown(Gap::Option, &format!("xargs {}", word.shown()));
            }
        }
        let option = |names: &[&str]| reading.options.iter().find(|given| names.contains(&given.name));
        // A number becomes the value of any variable, of `PATH` too.
        if option(&["--process-slot-var"]).is_some() {
            self.unknown(Gap::Option, "xargs --process-slot-var");
        }
        let input = match option(&["-a", "--arg-file"]).and_then(|given| given.value) {
            Some(slot) => {
                let file = slot_text(arguments, &slot);
                self.touch(Access::Read, Reach::Exact, &file);
                self.content(&file)
            }
            None => self.streams.stdin().clone(),
        };
        let replace = option(&["-I", "-i", "--replace", "-J"]).map(|given| match given.value {
            Some(slot) => slot_text(arguments, &slot).raw().to_owned(),
            None => "{}".to_owned(),
        });
        let command: Vec<Text> = match reading.rest {
            Some(at) => arguments.get(at..).unwrap_or_default().to_vec(),
            None => vec![Text::known("echo")],
        };
        if deletes(&command) {
            let roots = self.all_listed();
            self.all_deleted("xargs", &roots);
        }
        let whole_lines = replace.is_some() || option(&["-d", "--delimiter", "-0", "--null"]).is_some();
        let odd = |line: &Text| {
            line.raw().contains('\\') || line.raw().chars().filter(|c| matches!(c, '"' | '\'')).count() > 0
        };
        let delimited = option(&["-d", "--delimiter"]).is_some();
        let items: Vec<Text> = match input.lines() {
            Some(lines) if delimited => lines.iter().map(|_| Text::any()).collect(),
            Some(lines) if lines.iter().any(odd) => vec![Text::any()],
            Some(lines) if whole_lines => lines,
            Some(lines) => lines
                .iter()
                .flat_map(|line| {
                    line.raw().split_whitespace().map(|item| Text::marked(unquoted(item))).collect::<Vec<_>>()
                })
                .collect(),
            None => vec![Text::any()],
        };
        let items = if items.len() > 64 { vec![Text::any()] } else { items };
        if !whole_lines {
            for item in &items {
                self.taken_apart(item);
            }
        }
        let mut out = Flow::Nothing;
        let mut run = |shell: &mut Self, words: &[Text]| {
            let printed = shell.in_step("xargs", "", |shell| shell.forked(|shell| shell.run_words(words)));
            out = std::mem::take(&mut out).then(printed);
        };
        match &replace {
            Some(mark) => {
                for item in items {
                    let words: Vec<Text> = command
                        .iter()
                        .map(|word| Text::marked(word.raw().replace(mark.as_str(), item.raw())))
                        .collect();
                    run(self, &words);
                }
            }
            None => {
                let words: Vec<Text> = command.into_iter().chain(items).collect();
                run(self, &words);
            }
        }
        Outcome::of(out)
    }

    /// `parallel command ::: a b`
    pub(super) fn parallel(&mut self, reading: &Reading, words: &[Text]) -> Outcome {
        let arguments = words.get(1..).unwrap_or_default();
        let start = reading.rest.unwrap_or(arguments.len());
        let rest = arguments.get(start..).unwrap_or_default();
        let end = rest.iter().position(|word| word.raw().starts_with(":::")).unwrap_or(rest.len());
        let command = spaced_as_is(rest.get(..end).unwrap_or_default());
        let mut items: Vec<Text> = rest.get(end + 1..).unwrap_or_default().to_vec();
        if items.is_empty() {
            items = self.streams.stdin().lines().unwrap_or_else(|| vec![Text::any()]);
        }
        let items = if items.len() > 64 { vec![Text::any()] } else { items };
        for item in items {
            let text = if command.is_empty() {
                item
            } else if command.raw().contains("{}") {
                Text::marked(command.raw().replace("{}", item.raw()))
            } else {
                Text::marked(format!("{} {}", command.raw(), item.raw()))
            };
            self.forked(|shell| shell.text(&text, "parallel"));
        }
        Outcome::of(Flow::Any)
    }
}

/// Secret files that an expression of `find` asks for by name: what it then does is done to these.
fn secret_names(expression: &[Text]) -> Vec<String> {
    let pairs =
        expression.windows(3).filter(|triple| !matches!(triple.first().map(Text::raw), Some("!" | "-not")));
    let first = expression.get(..2).into_iter();
    let asked = first.chain(pairs.filter_map(|triple| triple.get(1..))).filter_map(|pair| match pair {
        [test, name] if matches!(test.raw(), "-name" | "-iname") => name.whole().map(str::to_owned),
        _ => None,
    });
    let plain = asked.map(|name| name.replace(['*', '?'], ""));
    plain.filter(|name| is_named_secret(name)).collect()
}

/// Whether a command deletes what it is given.
fn deletes(command: &[Text]) -> bool {
    command.first().is_some_and(|name| {
        matches!(toolgate_model::base_name(name.raw()), "rm" | "grm" | "unlink" | "shred" | "trash")
    })
}

/// Whether an expression of find lets no link pass: `-type f` or `-type d`, and nothing that could take that back.
fn finds_no_link(expression: &[Text]) -> bool {
    let is_plain = |word: &Text| {
        word.is_known()
            && !matches!(word.raw(), "!" | "-not" | "-o" | "-or" | "," | "(" | ")" | "-files0-from")
    };
    let asks = |pair: &[Text]| matches!(pair, [test, kind] if test.raw() == "-type" && matches!(kind.raw(), "f" | "d" | "f,d" | "d,f"));
    // What stands before the test is done to all kinds.
    let acts = |word: &Text| {
        matches!(word.raw(), "-print" | "-print0" | "-printf" | "-ls" | "-delete")
            || word.raw().starts_with("-exec")
            || word.raw().starts_with("-ok")
            || word.raw().starts_with("-fprint")
            || word.raw() == "-fls"
    };
    let test = expression.windows(2).position(asks);
    test.is_some_and(|at| !expression.iter().take(at).any(acts)) && expression.iter().all(is_plain)
}

/// Whether an expression of find chooses files by their names, or not all that are there.
fn is_sifted(expression: &[Text]) -> bool {
    const TESTS: [&str; 12] = [
        "-empty",
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-iwholename",
        "-regex",
        "-iregex",
        "-not",
        "!",
        "-prune",
    ];
    expression.iter().any(|word| TESTS.contains(&word.raw()))
}

/// Which secret files the tests of an expression let through by their names; `None` where that is not worked out, or where none can
/// be among them.
fn sift_of(expression: &[Text]) -> Option<Sift> {
    let mut sift = Sift { hidden: true, ignored: true, ..Sift::default() };
    let mut is_negated = false;
    let mut words = expression.iter();
    while let Some(word) = words.next() {
        match word.raw() {
            "!" | "-not" => {
                is_negated = true;
                continue;
            }
            test @ ("-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename") => {
                let pattern = words.next()?.whole()?;
                let pattern =
                    if test.starts_with("-i") { pattern.to_lowercase() } else { pattern.to_owned() };
                if is_negated {
                    sift.without.push(pattern);
                } else {
                    // A path begins with the place where the search begins.
                    sift.only.extend(pattern.strip_prefix("*/").map(str::to_owned));
                    sift.only.push(pattern);
                }
            }
            "-prune" | "-empty" | "-regex" | "-iregex" => return None,
            "(" if is_negated => return None,
            _ => {}
        }
        is_negated = false;
    }
    let may_be = sift.only.is_empty() || sift.only.iter().any(|pattern| may_name_secret(pattern));
    may_be.then_some(sift)
}

/// Whether a secret file may have a name that ends as this pattern does.
fn may_name_secret(pattern: &str) -> bool {
    let end = pattern.rsplit(['*', '?', ']', '/']).next().unwrap_or(pattern);
    is_named_secret(end)
        || ["a", ".env", ".env.a"].iter().any(|start| is_named_secret(&format!("{start}{end}")))
}

/// An item of xargs with its own quotes off.
fn unquoted(item: &str) -> String {
    let inner = item.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    inner.unwrap_or(item).to_owned()
}
