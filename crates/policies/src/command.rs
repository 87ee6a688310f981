//! Commands by their parsed words: how rules name what is run.
//!
//! A rule never looks at a command's text. It looks at a [`Run`]: without wrappers, with options separate from
//! operands. If no spec describes the program, its words are read by common custom: a word that begins with a dash is
//! an option, and letters behind one dash are a bundle.

use std::borrow::Cow;
use std::collections::BTreeSet;

use toolgate_declaration::wildcard_fits;
use toolgate_model::{Run, work};

/// What a question to a run costs, whatever comes of it, in units of the budget.
const ASKED: usize = 4;
/// What it costs to take the words of a run apart besides.
const TAKEN_APART: usize = 64;
/// A text of this length is compared for less than the question costs.
const SHORT: usize = 64;

/// A run in the words that rules know: `git-push -f` is `git push -f`, and the person's home is `~`.
pub(crate) fn canonical<'r>(run: &'r Run, home: Option<&str>) -> Cow<'r, Run> {
    let is_home = |operand: &str| home.is_some_and(|home| operand.trim_end_matches('/') == home);
    if run.operands.iter().flatten().any(|operand| is_home(operand)) {
        let mut tilde = run.clone();
        for operand in tilde.operands.iter_mut().flatten().filter(|operand| is_home(operand)) {
            "~".clone_into(operand);
        }
        return Cow::Owned(tilde);
    }
    let Some(sub) = run.program.strip_prefix("git-").filter(|sub| !sub.is_empty()) else {
        return Cow::Borrowed(run);
    };
    let by_spec = read_by_spec(run);
    let mut git = Run { program: "git".to_owned(), ..run.clone() };
    if by_spec {
        git.sub.insert(0, sub.to_owned());
    } else {
        git.operands.insert(0, Some(sub.to_owned()));
    }
    git.words.splice(..git.words.len().min(1), ["git".to_owned(), sub.to_owned()]);
    Cow::Owned(git)
}

/// What a rule asks of a run. Every part that is not empty has to hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'r, S: 'r> {
    /// Programs with their sub-commands, one of which it is.
    pub command: &'r [S],
    /// Options, one of which is given; `-c=a.*!a.b|a.c` is one with a value that is none of the last two.
    pub any: &'r [S],
    /// Options that are all given; `-r|-R` is either.
    pub all: &'r [S],
    /// Patterns, one of which an operand fits.
    pub operand: &'r [S],
    /// At least this many operands.
    pub operands: u8,
    /// Texts, one of which a word holds, whatever the case of letters.
    pub text: &'r [S],
    /// Programs, one of which feeds it.
    pub fed_by: &'r [S],
    /// Patterns, one of which a file fits that its output goes to.
    pub output: &'r [S],
    /// Options (with a dash) and patterns of operands that take it back.
    pub unless: &'r [S],
    /// Texts in a word that take it back.
    pub unless_text: &'r [S],
    /// Commands: on another machine it does more than run these and look.
    pub elsewhere_but: &'r [S],
    /// Whether it has to change the branch on another machine that others start from.
    pub default_branch: bool,
}

impl<S: AsRef<str>> Shape<'_, S> {
    /// How many things it asks for beside the command: the more, the more specific.
    pub(crate) fn conditions(&self) -> usize {
        let lists = [self.any, self.all, self.operand, self.text, self.fed_by, self.output];
        lists.iter().filter(|list| !list.is_empty()).count()
            + usize::from(self.operands > 0)
            + usize::from(self.default_branch)
    }

    /// Whether the run has this shape.
    pub(crate) fn fits(&self, run: &Run) -> bool {
        work::pay(ASKED);
        if work::is_spent() {
            return false;
        }
        // Most runs have neither, and then there is nothing to take apart.
        if (!self.output.is_empty() && run.outputs.is_empty())
            || (!self.fed_by.is_empty() && run.fed_by.is_empty())
        {
            return false;
        }
        if !self.reaches_elsewhere(run) {
            return false;
        }
        self.command.iter().map(AsRef::as_ref).any(|command| {
            let mut names = command.split(' ');
            if !names.next().is_some_and(|program| one_of(program, &run.program)) {
                return false;
            }
            let names: Vec<&str> = names.collect();
            // The words are taken apart, and each condition goes over them.
            work::pay(TAKEN_APART);
            work::pay_for(run.words.len(), ASKED * (2 + self.conditions()));
            Words::of(run).behind(&names).is_some_and(|operands| self.holds(run, &names, &operands))
        })
    }

    /// Whether what it does on another machine is what the shape asks for.
    fn reaches_elsewhere(&self, run: &Run) -> bool {
        if self.elsewhere_but.is_empty() && !self.default_branch {
            return true;
        }
        let Some(there) = &run.elsewhere else { return false };
        let does_more = there.more.is_some() || !there.runs.iter().all(|run| self.is_listed_elsewhere(run));
        (self.elsewhere_but.is_empty() || does_more) && (!self.default_branch || there.default_branch)
    }

    /// Whether a program may run on another machine: it is listed, or asked for its manual or version.
    pub(crate) fn is_listed_elsewhere(&self, run: &Run) -> bool {
        // A file there that only goes by the name of such a program may do anything.
        let is_of_system = |word: &String| {
            !word.contains('/') || ["/bin/", "/sbin/", "/usr/"].iter().any(|place| word.starts_with(place))
        };
        if !run.words.first().is_some_and(is_of_system) {
            return false;
        }
        let operands: Vec<_> = run.operands.iter().map(Option::as_deref).collect();
        (!run.program.is_empty() && is_question(run, &operands))
            || self.elsewhere_but.iter().any(|command| is_command(command.as_ref(), run))
    }

    fn holds(&self, run: &Run, names: &[&str], operands: &[Option<&str>]) -> bool {
        let last = operands.len().saturating_sub(1);
        let globbed = || {
            let words = run.words.iter().skip(1).map(String::as_str);
            words.filter(|word| word.contains(['*', '?', '[']) && !operands.contains(&Some(word)))
        };
        let among = |(at, operand): (usize, Option<&str>)| {
            self.operand.iter().map(AsRef::as_ref).any(|pattern| match (operand, pattern.strip_prefix('$')) {
                (Some(text), None) => glob_but(pattern, text),
                (Some(text), Some(pattern)) => !pattern.is_empty() && at == last && glob_but(pattern, text),
                // What it is nobody knows; any operand at all it is, and whatever its pattern says.
                (None, _) => matches!(pattern, "*" | "$") || globbed().any(|word| glob_but(pattern, word)),
            })
        };
        let whole = |word: &str| {
            let patterns = self.unless_text.iter().filter_map(|text| text.as_ref().strip_prefix('^'));
            patterns.into_iter().any(|pattern| is_statement(pattern, word))
        };
        let says = |texts: &[S]| run.words.iter().skip(1).any(|word| says_one(word, texts) && !whole(word));
        let taken_back = |item: &str| {
            if item.starts_with('-') {
                is_given(run, item) && !stands_before(run, names, item) && !self.is_void(run)
            } else if let Some(first) = item.strip_prefix('^') {
                operands.first().copied().flatten().is_some_and(|operand| glob(first, operand))
            } else {
                operands.iter().flatten().any(|operand| glob(item, operand))
                    || (item.contains('=') && is_given(run, item))
            }
        };
        (self.any.is_empty() || self.gives_any(run, names))
            && self
                .all
                .iter()
                .all(|options| options.as_ref().split('|').any(|option| is_meant(run, names, option)))
            && (self.operand.is_empty() || operands.iter().copied().enumerate().any(among))
            && operands.len() >= usize::from(self.operands)
            && (self.text.is_empty() || says(self.text))
            && (self.fed_by.is_empty()
                || run
                    .fed_by
                    .iter()
                    .any(|program| self.fed_by.iter().any(|name| one_of(name.as_ref(), program))))
            && (self.output.is_empty()
                || run
                    .outputs
                    .iter()
                    .any(|file| self.output.iter().any(|pattern| glob(pattern.as_ref(), file))))
            && !self.unless.iter().any(|item| taken_back(item.as_ref()))
            && (self.unless_text.is_empty() || !says(self.unless_text))
            && !(self.fed_by.is_empty() && self.output.is_empty() && is_question(run, operands))
    }

    fn gives_any(&self, run: &Run, names: &[&str]) -> bool {
        // Values of one option stand together, and an option that is not there has none of them.
        let mut absent = "";
        self.any.iter().map(AsRef::as_ref).any(|option| {
            let name = option.split('=').next().unwrap_or(option);
            if name == absent {
                return false;
            }
            let given = is_meant(run, names, option);
            if !given && name != option && !is_meant(run, names, name) {
                absent = name;
            }
            given
        })
    }

    /// Whether options that would take the rule back are themselves taken back (`--dry-run --no-dry-run`,
    /// `--dry-run=false`), or do not bind what they stand beside (`find . -delete -name '*.pyc'`).
    fn is_void(&self, run: &Run) -> bool {
        let negated = |item: &str| {
            let name = item.split('=').next().unwrap_or(item);
            let Some(word) = name.strip_prefix("--") else { return false };
            is_meant(run, &[], &format!("--no-{word}"))
                || ["false", "no", "none", "off", "0"]
                    .iter()
                    .any(|off| is_given(run, &format!("{name}={off}")))
        };
        self.unless.iter().any(|item| negated(item.as_ref()))
            || (run.program == "find" && !is_plain_search(run))
    }
}

/// Whether a run is this program with these sub-commands, and without the options that stand behind `!`.
fn is_command(command: &str, run: &Run) -> bool {
    let mut names = command.split(' ');
    work::pay(ASKED);
    if work::is_spent() || !names.next().is_some_and(|program| one_of(program, &run.program)) {
        return false;
    }
    let (options, names): (Vec<&str>, Vec<&str>) = names.partition(|name| name.starts_with('!'));
    work::pay(TAKEN_APART);
    work::pay_for(run.words.len(), ASKED * (1 + options.len()));
    Words::of(run).behind(&names).is_some()
        && !options.iter().any(|option| is_meant(run, &[], option.trim_start_matches('!')))
}

/// Whether all tests of a search stand before its one deletion, and all of them have to hold.
fn is_plain_search(run: &Run) -> bool {
    let either = |word: &String| matches!(word.as_str(), "-o" | "-or" | "," | "!" | "-not" | "(" | ")");
    let deletions = run.words.iter().filter(|word| *word == "-delete").count();
    deletions == 1 && run.words.last().is_some_and(|word| word == "-delete") && !run.words.iter().any(either)
}

/// Whether a run only asks for its manual or version: `--help`, `-h` or `--version` is all that it is given, but for one
/// name. Programs that take these words for something else, or pass them on, do what they do.
fn is_question(run: &Run, operands: &[Option<&str>]) -> bool {
    const OTHERWISE: &str =
        "shutdown|halt|poweroff|reboot|telinit|service|rc-service|kill|skill|history|mkfs*|dd|source|.|eval";
    let asks = |word: &str| matches!(word, "--help" | "-h" | "--version");
    if !run.words.last().is_some_and(|word| asks(word)) {
        return false;
    }
    let mut options = run.words.iter().skip(1).filter(|word| is_option(word));
    let alone = options.next().is_some_and(|option| asks(option)) && options.next().is_none();
    // By its spec it could be the value of another option, and there would be another one.
    alone
        && operands.iter().flatten().filter(|operand| !asks(operand)).count() <= 1
        && !operands.contains(&None)
        && !one_of(OTHERWISE, &run.program)
}

/// The words of a run that are no options, and which of them could be the value of one that nobody described.
struct Words<'r>(Vec<(Option<&'r str>, bool)>);

impl<'r> Words<'r> {
    fn of(run: &'r Run) -> Words<'r> {
        let mut words: Vec<_> = run.sub.iter().map(|sub| (Some(sub.as_str()), false)).collect();
        let (mut ended, mut maybe_value) = (read_by_spec(run), false);
        let behind_options = behind_options(run);
        for operand in run.operands.iter().map(Option::as_deref) {
            match operand {
                Some("--") => (ended, maybe_value) = (true, false),
                Some(option) if !ended && is_option(option) => maybe_value = !option.contains('='),
                other => {
                    words.push((
                        other,
                        maybe_value || other.is_some_and(|word| behind_options.contains(word)),
                    ));
                    maybe_value = false;
                }
            }
        }
        Words(words)
    }

    /// The operands behind these sub-commands, if the words begin with them. `**` is any words, `a|b` is either, `$` is
    /// the end.
    fn behind(&self, names: &[&str]) -> Option<Vec<Option<&'r str>>> {
        fn walk<'w, 'r>(
            words: &'w [(Option<&'r str>, bool)],
            names: &[&str],
        ) -> Option<&'w [(Option<&'r str>, bool)]> {
            let Some((name, later)) = names.split_first() else { return Some(words) };
            work::pay(ASKED);
            if work::is_spent() {
                return None;
            }
            if *name == "$" {
                return words.is_empty().then_some(words);
            }
            if *name == "**" {
                return (0..words.len()).find_map(|skip| walk(words.get(skip..)?, later));
            }
            let ((word, maybe_value), rest) = words.split_first()?;
            let here = word.is_some_and(|word| one_of(name, word)).then(|| walk(rest, later)).flatten();
            here.or_else(|| if *maybe_value { walk(rest, names) } else { None })
        }
        Some(walk(&self.0, names)?.iter().map(|(word, _)| *word).collect())
    }
}

/// The words that stand behind an option whose value they could be, as no spec says otherwise. All at once: a command may have
/// thousands of each.
fn behind_options(run: &Run) -> BTreeSet<&str> {
    if !run.sub.is_empty() || run.options.is_empty() {
        return BTreeSet::new();
    }
    let options = run.options.iter().filter(|(_, given)| given.is_none());
    let bare: BTreeSet<&str> = options.map(|(known, _)| known.as_str()).collect();
    let pairs = run.words.iter().zip(run.words.iter().skip(1));
    pairs.filter(|(word, _)| bare.contains(word.as_str())).map(|(_, next)| next.as_str()).collect()
}

/// Whether a spec has told options and operands apart. Where none has, the operands are all words.
fn read_by_spec(run: &Run) -> bool {
    !run.options.is_empty() || !run.sub.is_empty() || run.operands.len() + 1 != run.words.len()
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Whether an option is given: `-f`, `--force`, or with its value, `--prune=now*`, `of=/dev/*`.
fn is_given(run: &Run, option: &str) -> bool {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    let fits =
        |given: Option<&str>| value.is_none_or(|value| given.is_some_and(|given| glob_but(value, given)));
    if option == "--" {
        // Behind the last word it separates nothing.
        let before_last = run.words.len().saturating_sub(1);
        return run.words.iter().take(before_last).skip(1).any(|word| word == "--");
    }
    // Signals are no options to the spec of `kill`.
    if read_by_spec(run) && run.program != "kill" {
        let by_spec = run.options.iter().any(|(known, given)| {
            let known_name = known.trim_end_matches('=');
            (known_name == name && fits(given.as_deref())) || is_written(known, given.as_deref(), name, &fits)
        });
        let by_alias = run.aliases.iter().any(|(at, alias)| {
            *alias == name && run.options.get(*at).is_some_and(|(_, given)| fits(given.as_deref()))
        });
        // A spec that knows no options keeps the value as an operand, and one that is not known is shown.
        let plain = || {
            let mut pairs = run.words.iter().zip(run.words.iter().skip(1)).skip(1);
            run.options.iter().any(|(known, given)| known == name && given.is_none())
                && pairs.any(|(word, next)| word == name && fits(Some(next)))
        };
        return by_spec || by_alias || (value.is_some() && plain());
    }
    let words = run.words.iter().skip(1).map(String::as_str).take_while(|word| *word != "--");
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if is_written(word, words.peek().copied(), name, &fits) {
            return true;
        }
    }
    false
}

/// Whether an option of these sub-commands is given, or the beginning of its name where the program takes that for the
/// whole: `--forc`.
fn is_meant(run: &Run, names: &[&str], option: &str) -> bool {
    let own =
        || option.contains('=') || !stands_before(run, names, option) || stands_behind(run, names, option);
    (is_given(run, option) && own()) || is_begun(run, option)
}

fn is_begun(run: &Run, option: &str) -> bool {
    const SHORTENING: &str =
        "git|rm|chmod|chown|chgrp|tar|shred|wipefs|sgdisk|mdadm|iptables|ip6tables|journalctl|sysctl";
    // Whole names, though others begin with them.
    const WHOLE: [&str; 6] = ["--force", "--prune", "--delete", "--unset", "--all", "--no-"];
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    if !name.starts_with("--") || name.len() < 6 || !one_of(SHORTENING, &run.program) {
        return false;
    }
    let is_it = |word: &str, next: Option<&str>| {
        let (begun, given) = match word.split_once('=') {
            Some((begun, given)) => (begun, Some(given)),
            None => (word, next),
        };
        begun.len() >= 5
            && begun != name
            && name.starts_with(begun)
            && !WHOLE.contains(&begun)
            && value.is_none_or(|value| given.is_some_and(|given| glob_but(value, given)))
    };
    if read_by_spec(run) {
        return run.options.iter().any(|(known, given)| is_it(known, given.as_deref()));
    }
    let words = || run.words.iter().skip(1).map(String::as_str).take_while(|word| *word != "--");
    let next = words().skip(1).map(Some).chain([None]);
    words().zip(next).any(|(word, next)| is_it(word, next))
}

/// Whether an option stands before the sub-command, where it is the program's own and may mean something else: `-p` is
/// one thing to `git` and another to `git checkout`.
fn stands_before(run: &Run, names: &[&str], option: &str) -> bool {
    let Some(name) = names.first().filter(|name| **name != "$") else { return false };
    let option = option.split('=').next().unwrap_or(option);
    let mut before = run.words.iter().skip(1).take_while(|word| !one_of(name, word));
    before.any(|word| is_written(word, None, option, &|_| true))
}

fn stands_behind(run: &Run, names: &[&str], option: &str) -> bool {
    let Some(name) = names.first() else { return true };
    let behind = run.words.iter().skip(1).skip_while(|word| !one_of(name, word));
    behind.take_while(|word| *word != "--").any(|word| is_written(word, None, option, &|_| true))
}

/// Whether a word that no spec knows is the option of this name: itself, with `=value`, or one letter of a bundle.
fn is_written(word: &str, next: Option<&str>, name: &str, fits: &impl Fn(Option<&str>) -> bool) -> bool {
    if word == name {
        return fits(next);
    }
    if let Some(value) = word.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
        return fits(Some(value));
    }
    let (Some(letters), Some(letter)) = (word.strip_prefix('-'), name.strip_prefix('-')) else {
        return false;
    };
    // `-XDELETE`: the value stands with its option. Where none is asked for, the rest could be other letters.
    let attached = letters.strip_prefix(letter).filter(|rest| letter.len() == 1 && !rest.is_empty());
    if attached.is_some_and(|rest| !fits(None) && fits(Some(rest))) {
        return true;
    }
    letter.len() == 1
        && letters.len() > 1
        && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
        && letters.contains(letter)
        && fits(next)
}

/// Whether a name is one of `a|b`, each of which may hold `*`.
pub(crate) fn one_of(pattern: &str, name: &str) -> bool {
    pattern.split('|').any(|pattern| glob(pattern, name))
}

/// Whether a text fits `PATTERN!EXCEPTION|EXCEPTION`.
fn glob_but(pattern: &str, text: &str) -> bool {
    match pattern.split_once('!') {
        Some((pattern, exceptions)) => glob(pattern, text) && !one_of(exceptions, text),
        None => glob(pattern, text),
    }
}

/// Whether a text fits a pattern in which `*` stands for anything, `?` for one letter, `\*` and `\?` for themselves,
/// whatever the case of letters.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    // A star at the beginning tries the rest of the pattern again at each letter.
    let tries = if pattern.starts_with('*') { pattern.len().min(SHORT) } else { 1 };
    work::pay(if text.len() <= SHORT { ASKED } else { text.len().saturating_mul(tries) });
    if work::is_spent() {
        return false;
    }
    let takes = |rest: &[u8], letter: &u8| match rest {
        [b'\\', escaped @ (b'*' | b'?'), ..] if escaped == letter => Some(2),
        [b'?', ..] => Some(1),
        [wanted, ..] if wanted.eq_ignore_ascii_case(letter) => Some(1),
        _ => None,
    };
    wildcard_fits(pattern.as_bytes(), text.as_bytes(), |letter| *letter == b'*', takes)
}

/// Whether a word holds one of the texts, blanks counted once. A text holds at most a few words and `*`.
pub(crate) fn says_one<S: AsRef<str>>(word: &str, texts: &[S]) -> bool {
    work::pay_for(word.len(), 4);
    if work::is_spent() {
        return false;
    }
    let word = word.split_whitespace().collect::<Vec<_>>().join(" ");
    texts.iter().any(|text| glob(&format!("*{}*", text.as_ref()), &word))
}

/// Whether a word is one statement of these words, none of which reaches over a blank.
fn is_statement(pattern: &str, word: &str) -> bool {
    let word = word.trim().trim_end_matches(';');
    let (patterns, words) = (pattern.split(' '), word.split_whitespace());
    !word.contains([';', '/', '-'])
        && patterns.clone().count() == words.clone().count()
        && patterns.zip(words).all(|(pattern, word)| glob(pattern, word.trim_matches(['"', '`'])))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The runs of a simple command line, read without any spec: pipes, redirections and quotes, no more. What the gate
    /// itself reads is in `toolgate-effects`; here only rules are tried.
    pub(crate) fn runs(text: &str) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for line in split(text, "&&") {
            let mut fed_by: Vec<String> = Vec::new();
            for part in split(&line, "|") {
                let mut words = words(&part);
                let mut outputs = Vec::new();
                while let Some(at) = words.iter().position(|word| matches!(word.as_str(), ">" | ">>" | ">&"))
                {
                    outputs.push(words.remove(at + 1));
                    words.remove(at);
                }
                while words.first().is_some_and(|word| word == "sudo") {
                    words.remove(0);
                }
                let mut run = Run::of(words);
                run.fed_by.clone_from(&fed_by);
                run.outputs = outputs;
                fed_by.push(run.program.clone());
                runs.push(run);
            }
        }
        runs
    }

    fn split(text: &str, separator: &str) -> Vec<String> {
        let (mut parts, mut quote) = (vec![String::new()], None);
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let last = parts.last_mut().unwrap();
            if quote.is_none() && rest.starts_with(separator) {
                parts.push(String::new());
                rest = rest.split_at(separator.len()).1;
                continue;
            }
            if quote == Some(letter) {
                quote = None;
            } else if quote.is_none() && matches!(letter, '\'' | '"') {
                quote = Some(letter);
            }
            last.push(letter);
            rest = rest.split_at(letter.len_utf8()).1;
        }
        parts
    }

    fn words(text: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for letter in text.chars() {
            if quote == Some(letter) {
                quote = None;
            } else if quote.is_none() && matches!(letter, '\'' | '"') {
                quote = Some(letter);
                word.get_or_insert_default();
            } else if quote.is_none() && letter == ' ' {
                words.extend(word.take());
            } else {
                word.get_or_insert_default().push(letter);
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn patterns_match_words_without_case_and_with_wildcards() {
        for (pattern, text, fits) in [
            ("", "", true),
            ("a", "A", true),
            ("a*", "abc", true),
            ("*a", "ba", true),
            ("*a", "ab", false),
            ("a*a", "a", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*", "", true),
            ("+*", "+main", true),
            ("*ä*", "xäy", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("4???", "4755", true),
            ("4???", "475", false),
            ("a\\?", "a?", true),
            ("a\\?", "ab", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    fn shape<'r>(command: &'r [&'r str], any: &'r [&'r str], all: &'r [&'r str]) -> Shape<'r, &'r str> {
        Shape {
            command,
            any,
            all,
            operand: &[],
            operands: 0,
            text: &[],
            fed_by: &[],
            output: &[],
            unless: &[],
            unless_text: &[],
            elsewhere_but: &[],
            default_branch: false,
        }
    }

    #[test]
    fn options_are_found_in_every_spelling() {
        let force = shape(&["rm"], &[], &["-r|-R|--recursive", "-f|--force"]);
        for (command, fits) in [
            ("rm -rf x", true),
            ("rm -fr x", true),
            ("rm -r -f x", true),
            ("/bin/rm --recursive --force x", true),
            ("rm x -Rf", true),
            ("rm -r x", false),
            ("rm -r -- -f", false),
            ("rmdir -rf x", false),
        ] {
            assert_eq!(force.fits(&runs(command)[0]), fits, "{command}");
        }
        let by_spec = Run {
            program: "rm".into(),
            options: vec![("--recursive".into(), None), ("-f".into(), None)],
            operands: vec![None],
            words: vec!["rm".into(), "-rf".into(), "$x".into()],
            ..Run::default()
        };
        assert!(force.fits(&by_spec));
    }

    #[test]
    fn an_abbreviated_long_option_matches() {
        let force = shape(&["git push"], &["--force-with-lease", "--mirror", "--prune=now"], &[]);
        for (command, fits) in [
            ("git push --mirr", true),
            ("git push --force-w", true),
            ("git push --prun=now", true),
            ("git push --prun=never", false),
            ("git push --force", false),
            ("git push --mi", false),
            ("git push -- --mirr", false),
        ] {
            assert_eq!(force.fits(&runs(command)[0]), fits, "{command}");
        }
    }

    #[test]
    fn a_call_for_help_matches_no_rule() {
        let any = shape(&["*"], &[], &[]);
        for (command, fits) in [
            ("git-push --help", false),
            ("dropdb -h", false),
            ("systemctl stop --help", false),
            ("cargo yank --version 1.0.0 x", true),
            ("git push -o --help", true),
            ("git push -- --help", true),
            ("git push --force --help", true),
            ("shutdown -h", true),
            ("kill -9 -1 --help", true),
            ("service nginx stop --help", true),
        ] {
            assert_eq!(any.fits(&runs(command)[0]), fits, "{command}");
        }
    }

    #[test]
    fn joined_git_commands_and_the_home_are_matched_by_their_usual_names() {
        let push = shape(&["git push"], &["-f"], &[]);
        assert!(push.fits(&canonical(&runs("git-push -f x")[0], None)));
        assert!(!push.fits(&canonical(&runs("git-pull -f x")[0], None)));
        let home = canonical(&runs("rm -r /home/me/")[0], Some("/home/me")).operands.clone();
        assert_eq!(home, [Some("-r".to_owned()), Some("~".to_owned())]);
    }

    #[test]
    fn a_statement_pattern_matches_one_whole_statement_only() {
        for (pattern, word, fits) in [
            ("drop database *_test", "DROP DATABASE  app_test;", true),
            ("drop database *_test", "drop database \"app_test\"", true),
            ("drop database *_test", "drop database prod; drop database app_test", false),
            ("drop database *_test", "drop database prod -- app_test", false),
            ("drop database *_test", "drop database prod app_test", false),
        ] {
            assert_eq!(is_statement(pattern, word), fits, "{word}");
        }
    }

    #[test]
    fn a_value_of_an_option_is_not_matched_as_an_option() {
        let force = shape(&["git commit"], &["-f"], &[]);
        let run = Run {
            program: "git".into(),
            sub: vec!["commit".into()],
            options: vec![("-m".into(), Some("-f".into()))],
            words: ["git", "commit", "-m", "-f"].map(str::to_owned).to_vec(),
            ..Run::default()
        };
        assert!(!force.fits(&run));
    }

    #[test]
    fn sub_commands_are_found_behind_options() {
        for (pattern, command, fits) in [
            ("git push", "git -C x push", true),
            ("git push", "git --no-pager push", true),
            ("git push", "git log push", false),
            ("git push", "git commit -m push", false),
            ("gcloud ** delete", "gcloud compute instances delete x", true),
            ("gcloud ** delete", "gcloud --project p compute list", false),
            ("aws * delete-*|remove-*", "aws rds delete-db-instance", true),
            ("mkfs*", "mkfs.ext4", true),
        ] {
            assert_eq!(shape(&[pattern], &[], &[]).fits(&runs(command)[0]), fits, "{pattern}: {command}");
        }
    }
}
