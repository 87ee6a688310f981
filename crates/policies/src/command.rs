//! Commands by their parsed words: how rules name what is run.
//!
//! A rule never looks at a command's text. It looks at a [`Run`]: behind all wrappers, with its options apart from its
//! operands. Where no spec has read the words (a program that nobody described), they are read by common custom: what
//! begins with a dash is an option, letters behind one dash are a bundle.

use toolgate_model::Run;

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
}

impl<S: AsRef<str>> Shape<'_, S> {
    /// Whether the run has this shape.
    pub(crate) fn fits(&self, run: &Run) -> bool {
        // Most runs have neither, and then there is nothing to take apart.
        if (!self.output.is_empty() && run.outputs.is_empty())
            || (!self.fed_by.is_empty() && run.fed_by.is_empty())
        {
            return false;
        }
        self.command.iter().map(AsRef::as_ref).any(|command| {
            let mut names = command.split(' ');
            if !names.next().is_some_and(|program| one_of(program, &run.program)) {
                return false;
            }
            let names: Vec<&str> = names.collect();
            Words::of(run).behind(&names).is_some_and(|operands| self.holds(run, &names, &operands))
        })
    }

    fn holds(&self, run: &Run, names: &[&str], operands: &[Option<&str>]) -> bool {
        let among = |list: &[S], operand: Option<&str>| match operand {
            Some(text) => list.iter().any(|pattern| glob(pattern.as_ref(), text)),
            // What it is nobody knows; any operand at all it is.
            None => list.iter().any(|pattern| pattern.as_ref() == "*"),
        };
        let says = |texts: &[S]| run.words.iter().skip(1).any(|word| says_one(word, texts));
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
        (self.any.is_empty() || self.gives_any(run))
            && self.all.iter().all(|options| options.as_ref().split('|').any(|option| is_given(run, option)))
            && (self.operand.is_empty() || operands.iter().any(|operand| among(self.operand, *operand)))
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
    }

    fn gives_any(&self, run: &Run) -> bool {
        // Values of one option stand together, and an option that is not there has none of them.
        let mut absent = "";
        self.any.iter().map(AsRef::as_ref).any(|option| {
            let name = option.split('=').next().unwrap_or(option);
            if name == absent {
                return false;
            }
            let given = is_given(run, option);
            if !given && name != option && !is_given(run, name) {
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
            is_given(run, &format!("--no-{word}"))
                || ["false", "no", "none", "off", "0"]
                    .iter()
                    .any(|off| is_given(run, &format!("{name}={off}")))
        };
        self.unless.iter().any(|item| negated(item.as_ref()))
            || (run.program == "find" && !is_plain_search(run))
    }
}

/// Whether all tests of a search stand before its one deletion, and all of them have to hold.
fn is_plain_search(run: &Run) -> bool {
    let either = |word: &String| matches!(word.as_str(), "-o" | "-or" | "," | "!" | "-not" | "(" | ")");
    let deletions = run.words.iter().filter(|word| *word == "-delete").count();
    deletions == 1 && run.words.last().is_some_and(|word| word == "-delete") && !run.words.iter().any(either)
}

/// The words of a run that are no options, and which of them could be the value of one that nobody described.
struct Words<'r>(Vec<(Option<&'r str>, bool)>);

impl<'r> Words<'r> {
    fn of(run: &'r Run) -> Words<'r> {
        let mut words: Vec<_> = run.sub.iter().map(|sub| (Some(sub.as_str()), false)).collect();
        let (mut ended, mut maybe_value) = (read_by_spec(run), false);
        for operand in run.operands.iter().map(Option::as_deref) {
            match operand {
                Some("--") => (ended, maybe_value) = (true, false),
                Some(option) if !ended && is_option(option) => maybe_value = !option.contains('='),
                other => {
                    words.push((other, maybe_value));
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
        return run.words.iter().skip(1).any(|word| word == "--");
    }
    if read_by_spec(run) {
        let by_spec = run.options.iter().any(|(known, given)| {
            let known_name = known.trim_end_matches('=');
            (known_name == name && fits(given.as_deref())) || is_written(known, given.as_deref(), name, &fits)
        });
        return by_spec;
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

/// Whether an option stands before the sub-command, where it is the program's own and may mean something else: `-p` is
/// one thing to `git` and another to `git checkout`.
fn stands_before(run: &Run, names: &[&str], option: &str) -> bool {
    let Some(name) = names.first() else { return false };
    let option = option.split('=').next().unwrap_or(option);
    let mut before = run.words.iter().skip(1).take_while(|word| !one_of(name, word));
    before.any(|word| is_written(word, None, option, &|_| true))
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

/// Whether a text fits a pattern in which `*` stands for anything, `?` for one letter and `\*` for a star, whatever
/// the case of letters.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    // Where to go on when the text does not fit: behind the last star, one letter later.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let letter = text.get(seen);
        let step = match (pattern.get(at), letter) {
            (Some(b'*'), _) => {
                at += 1;
                retry = Some((at, seen));
                continue;
            }
            (None, None) => return true,
            (Some(b'\\'), Some(b'*')) if pattern.get(at + 1) == Some(&b'*') => Some(2),
            (Some(b'?'), Some(_)) => Some(1),
            (Some(wanted), Some(letter)) if wanted.eq_ignore_ascii_case(letter) => Some(1),
            _ => None,
        };
        match (step, retry) {
            (Some(step), _) => (at, seen) = (at + step, seen + 1),
            (None, Some((behind, start))) if start < text.len() => {
                (at, seen) = (behind, start + 1);
                retry = Some((behind, start + 1));
            }
            (None, _) => return false,
        }
    }
}

/// Whether a word holds one of the texts, blanks counted once. A text holds at most a few words and `*`.
fn says_one<S: AsRef<str>>(word: &str, texts: &[S]) -> bool {
    let word = word.split_whitespace().collect::<Vec<_>>().join(" ");
    texts.iter().any(|text| glob(&format!("*{}*", text.as_ref()), &word))
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
    fn patterns() {
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
    fn a_value_of_an_option_is_no_option() {
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
    fn sub_commands_stand_behind_options() {
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
