//! Goes over the words of a command as the program's own parser would.

use super::table::{ARGS, MORES, More, Opt, TURNS, Takes, Times, fixed, kinds};
use super::{Fixed, Given, Output, Reading, Shown, Slot, Spec, WordKind, value};
use crate::language::Language;

/// Says what each of a command's words means. `words` begin behind the command's name.
pub(crate) fn read(spec: &'static Spec, words: &[Shown<'_>]) -> Reading {
    let reading = Reading {
        spec,
        sub: Vec::new(),
        options: Vec::new(),
        plain: Vec::new(),
        uses: Vec::new(),
        operands: Vec::new(),
        unlisted: Vec::new(),
        effects: fixed(spec.effects).collect(),
        output: spec.output,
        prose: Vec::new(),
        texts: Vec::new(),
        rest: None,
    };
    let reader = SpecReader {
        words,
        at: 0,
        ended: false,
        shows: None,
        above: Vec::new(),
        values: Vec::new(),
        mores: Vec::new(),
        reading,
    };
    reader.read()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnlyShows {
    Surely,
    Likely,
}

struct SpecReader<'r, 'w> {
    words: &'r [Shown<'w>],
    /// The word that is being read.
    at: usize,
    /// Whether all further words are operands.
    ended: bool,
    /// Whether it only says what it is: by `--help` or `--version`, or by a letter that may mean something else.
    shows: Option<OnlyShows>,
    /// The commands above the sub-command whose options are meant everywhere.
    above: Vec<&'static Spec>,
    /// The values of options, by the first spelling of each.
    values: Vec<(&'static str, [WordKind; 3], Slot)>,
    /// What the options of the deepest sub-command change.
    mores: Vec<&'static More>,
    reading: Reading,
}

impl SpecReader<'_, '_> {
    fn read(mut self) -> Reading {
        while let Some(word) = self.words.get(self.at).copied() {
            let spec = self.reading.spec;
            if self.ended {
                self.operand(word);
            } else if word.head == "--" && word.known {
                self.ended = true;
            } else if word.head.starts_with("--") {
                self.long(word);
            } else if word.head.starts_with('-') && (word.head.len() > 1 || !word.known) {
                self.short(word);
            } else if word.head.starts_with('+')
                && let Some(plus) = spec.option("+")
            {
                self.give(plus, Some(1));
            } else if self.at == 0 && spec.is(Spec::OLD_STYLE) {
                self.old_style(word);
            } else {
                self.operand(word);
            }
            self.at += 1;
        }
        self.finish()
    }

    /// The spec's options, and those of the commands above it that are meant everywhere.
    fn listed<T>(&self, find: impl Fn(&'static Spec) -> Option<T>) -> Option<T> {
        find(self.reading.spec).or_else(|| self.above.iter().rev().find_map(|spec| find(spec)))
    }

    fn long(&mut self, word: Shown<'_>) {
        let (name, value) = match word.head.split_once('=') {
            Some((name, _)) => (name, Some(name.len() + 1)),
            None => (word.head, None),
        };
        if let (true, Some(option)) =
            (word.known, value.and_then(|_| self.listed(|spec| spec.option(word.head))))
        {
            return self.give(option, None);
        }
        if matches!(word.head, "--help" | "--version") && word.known && self.is_alone() {
            let listed = self.listed(|spec| spec.option(name));
            if listed.is_none_or(|option| matches!(option.takes, Takes::No | Takes::Attached)) {
                self.shows = Some(OnlyShows::Surely);
            }
        }
        if matches!(name, "--help" | "--version")
            && word.known
            && self.listed(|spec| spec.option(name)).is_none()
        {
            self.reading.plain.push(self.at);
        } else if value.is_none() && !word.known {
            self.unlisted();
        } else if let Some(option) = self.listed(|spec| spec.option(name).or_else(|| otherwise(spec, name))) {
            self.give(option, value);
        } else {
            self.by_prefix(word);
        }
    }

    /// Whether no other word is an option, or could be one.
    fn is_alone(&self) -> bool {
        let others = self.words.iter().enumerate().filter(|(at, _)| *at != self.at);
        others.into_iter().all(|(_, word)| word.known && !word.head.starts_with('-'))
    }

    /// An option with one dash, or several.
    fn short(&mut self, word: Shown<'_>) {
        if let (true, Some(option)) = (word.known, self.listed(|spec| spec.option(word.head))) {
            return self.give(option, None);
        }
        let last = self.at + 1 == self.words.len() && self.reading.operands.is_empty();
        if matches!(word.head, "-h" | "-V") && word.known && last && self.is_alone() {
            self.shows = Some(OnlyShows::Likely);
            return self.reading.plain.push(self.at);
        }
        if !self.reading.spec.is(Spec::SINGLE_DASH) {
            return self.bundle(word, 1);
        }
        let named = word
            .head
            .split_once('=')
            .and_then(|(name, _)| Some((self.listed(|spec| spec.option(name))?, name.len() + 1)));
        match named {
            Some((option, value)) => self.give(option, Some(value)),
            None => self.by_prefix(word),
        }
    }

    /// An option one of whose spellings ends in `*`, or none that is listed.
    fn by_prefix(&mut self, word: Shown<'_>) {
        let longest = |spec: &'static Spec| {
            spec.options()
                .iter()
                .filter_map(|option| Some((option.prefix(word.head)?, option)))
                .max_by_key(|found| found.0)
        };
        match self.listed(longest) {
            Some((value, option)) => self.give(option, Some(value)),
            None if word.known && word.head.bytes().skip(1).all(|byte| byte.is_ascii_digit()) => {
                self.reading.plain.push(self.at);
            }
            None => self.unlisted(),
        }
    }

    /// Options of one letter each; the value of the last may be the rest of the word. A listed one of two letters goes before two of one:
    /// `zip '-qTTsh x'` runs `sh x`.
    fn bundle(&mut self, word: Shown<'_>, skip: usize) {
        let place = self.at;
        let mut at = skip;
        while let Some(rest) = word.head.get(at..).filter(|rest| !rest.is_empty()) {
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let pair = if skip == 1 { self.short_option(rest, 2) } else { None };
            let (found, letters) = match pair {
                Some(option) => (Some(option), 2),
                None => (self.short_option(rest, first), first),
            };
            let next = at + letters;
            let more = next < word.head.len() || !word.known;
            match found {
                Some(option) if option.takes == Takes::No => self.give(option, None),
                Some(option) if skip == 0 => self.give(option, None),
                Some(option) => return self.give(option, more.then_some(next)),
                None if rest.starts_with(|letter: char| letter.is_ascii_digit()) => {}
                None if skip == 1 && at == 1 && !self.reading.spec.is(Spec::PLAIN) => {
                    return self.by_prefix(word);
                }
                None => self.unlisted_at(place),
            }
            at = next;
        }
        if !word.known {
            self.unlisted_at(place);
        }
    }

    /// The option that is spelled by a dash and the first bytes of this text.
    fn short_option(&self, text: &str, bytes: usize) -> Option<&'static Opt> {
        let mut spelling = [b'-', 0, 0, 0, 0];
        let letters = text.get(..bytes)?.as_bytes();
        spelling.get_mut(1..=bytes)?.copy_from_slice(letters);
        let spelling = std::str::from_utf8(spelling.get(..=bytes)?).ok()?;
        self.listed(|spec| spec.option(spelling))
    }

    /// A first word without a dash whose letters are options; their values are the next words.
    fn old_style(&mut self, word: Shown<'_>) {
        if word.known && word.head.bytes().all(|byte| byte.is_ascii_digit()) {
            self.operand(word);
        } else {
            self.bundle(word, 0);
        }
    }

    fn unlisted(&mut self) {
        self.unlisted_at(self.at);
    }

    fn unlisted_at(&mut self, place: usize) {
        // What may name a place is no switch.
        let names_place = self.words.get(place).is_some_and(|word| !word.known || word.head.contains('/'));
        let reading = &mut self.reading;
        let is_plain = reading.spec.is(Spec::PLAIN) && !names_place;
        let list = if is_plain { &mut reading.plain } else { &mut reading.unlisted };
        if list.last() != Some(&place) {
            list.push(place);
        }
    }

    /// An option whose value stands in this word from the byte `attached` on, or in the next one.
    fn give(&mut self, option: &'static Opt, attached: Option<usize>) {
        let name = option.names.first();
        let value = match (option.takes, attached) {
            (Takes::No | Takes::Key | Takes::Pair, Some(_)) => return self.unlisted(),
            (Takes::No | Takes::Key | Takes::Attached, None) => None,
            (_, Some(skip)) => Some(Slot::at(self.at, skip)),
            (Takes::Value | Takes::Keyed | Takes::Pair, None) => self.next_word(),
        };
        match (value, kinds(option.kinds)) {
            (Some(slot), _) if option.takes == Takes::Keyed => self.keyed(name, slot),
            // All further words are a command.
            (Some(slot), [WordKind::Command, ..]) => {
                self.reading.rest = Some(slot.word);
                self.at = self.words.len();
            }
            (Some(slot), [first, second, _]) if option.takes == Takes::Pair => {
                self.values.push((name, [first, WordKind::Text, WordKind::Text], slot));
                if let Some(slot) = self.next_word() {
                    self.values.push((name, [second, WordKind::Text, WordKind::Text], slot));
                }
            }
            (Some(slot), kinds) => self.values.push((name, kinds, slot)),
            (None, _) => {}
        }
        self.reading.options.push(Given { name, value, names: option.names });
        if let (Some(more), true) = (MORES.get(usize::from(option.more)), option.more > 0) {
            self.reading.effects.extend(fixed(more.effects));
            self.reading.output = more.output.unwrap_or(self.reading.output);
            self.ended |= more.ends;
            self.mores.push(more);
        }
    }

    fn next_word(&mut self) -> Option<Slot> {
        let next = (self.at + 1 < self.words.len()).then_some(self.at + 1)?;
        self.at = next;
        Some(Slot::at(next, 0))
    }

    /// A value that is `key=value`. Case does not tell keys apart, and a space may stand for the `=`.
    fn keyed(&mut self, name: &'static str, slot: Slot) {
        let Some(word) = self.words.get(slot.word) else { return };
        let text = slot.of(word.head);
        let (key, skip) = match text.find(['=', ' ']) {
            Some(at) => (text.get(..at).unwrap_or_default(), at + 1),
            None => (text, text.len()),
        };
        let is = |option: &&'static Opt, key: &str| {
            let listed = option.names.str().strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
            option.takes == Takes::Key && listed.is_some_and(|listed| listed.eq_ignore_ascii_case(key))
        };
        let of = |key: &str| self.listed(|spec| spec.options().iter().find(|option| is(option, key)));
        let whole = skip <= text.len() && (word.known || skip > key.len());
        match (of(key).filter(|_| whole), of("*")) {
            (Some(option), _) => {
                self.values.push((name, kinds(option.kinds), Slot::at(slot.word, slot.skip + skip)));
            }
            (None, _) if whole && skip > key.len() && of("*=").is_some() => {
                let kinds = of("*=").map_or([WordKind::Text; 3], |any| kinds(any.kinds));
                self.values.push((name, kinds, Slot::at(slot.word, slot.skip + skip)));
            }
            (None, Some(any)) => self.values.push((name, kinds(any.kinds), slot)),
            (None, None) => self.unlisted_at(slot.word),
        }
    }

    fn operand(&mut self, word: Shown<'_>) {
        let spec = self.reading.spec;
        if self.reading.operands.is_empty() && spec.subs.len > 0 {
            if let Some((sub, name)) = spec.sub(word.head).filter(|_| word.known) {
                return self.enter(sub, name);
            }
            if spec.args.len == 0 {
                self.reading.unlisted.push(self.at);
            }
        }
        if spec.is(Spec::KEY_VALUE)
            && let Some((key, _)) = word.head.split_once('=')
            && let Some(option) = word.head.get(..=key.len()).and_then(|key| spec.option(key))
        {
            return self.give(option, Some(key.len() + 1));
        }
        self.reading.operands.push(self.at);
        self.ended |= spec.is(Spec::STOPS);
    }

    fn enter(&mut self, sub: &'static Spec, name: &'static str) {
        if self.reading.spec.is(Spec::GLOBAL) {
            self.above.push(self.reading.spec);
        } else {
            self.mores.clear();
        }
        self.reading.spec = sub;
        self.reading.sub.push(name);
        self.reading.effects.extend(fixed(sub.effects));
        self.reading.output = sub.output;
    }

    /// Gives the operands their kinds, and changes those that an option turns.
    fn finish(mut self) -> Reading {
        let spec = self.reading.spec;
        let operands = std::mem::take(&mut self.reading.operands);
        let args = match self.mores.iter().rev().find_map(|more| more.args) {
            Some(args) => args,
            None => spec.args1.filter(|_| operands.len() == 1).unwrap_or(spec.args),
        };
        let args = args.of(&ARGS);
        let required = args.iter().filter(|arg| arg.times == Times::One).count();
        let mut spare = operands.len().saturating_sub(required);
        let mut left = operands.iter().copied();
        let mut found = Vec::new();
        'args: for arg in args {
            let assigns = kinds(arg.kinds).first() == Some(&WordKind::Assign);
            let times = match arg.times {
                Times::One => 1,
                Times::Optional => spare.min(1),
                Times::Many if assigns => left.clone().take_while(|word| self.is_assignment(*word)).count(),
                Times::Many => spare,
            };
            if arg.times != Times::One {
                spare = spare.saturating_sub(times);
            }
            for word in left.by_ref().take(times) {
                if kinds(arg.kinds).first() == Some(&WordKind::Command) {
                    self.reading.rest = Some(word);
                    break 'args;
                }
                self.reading.operands.push(word);
                found.push(("", kinds(arg.kinds), Slot::at(word, 0)));
            }
        }
        if self.reading.rest.is_none() {
            for word in left {
                self.reading.operands.push(word);
                if !self.reading.unlisted.contains(&word) {
                    self.reading.unlisted.push(word);
                }
            }
        }
        let mut meant = Vec::new();
        for (name, kinds, slot) in found {
            meant.extend(self.meanings(name, kinds, slot));
        }
        for (name, kinds, slot) in std::mem::take(&mut self.values) {
            self.meanings(name, kinds, slot);
        }
        self.reading.uses.sort_by_key(|(_, slot)| slot.word);
        self.prints();
        if self.shows != Some(OnlyShows::Surely) && !self.mores.iter().any(|more| more.instead) {
            let mores = self.mores.iter().map(|more| more.default);
            let all = [spec.default].into_iter().chain(mores).flat_map(fixed);
            self.reading.effects.extend(all.filter(|effect| {
                match effect {
                    Fixed::Use(kind, _) if kind.changes() => !meant.iter().any(|kind| kind.changes()),
                    Fixed::Unknown => !meant.iter().any(|kind| {
                        matches!(kind, WordKind::Shell | WordKind::Code(_) | WordKind::Script(_))
                    }),
                    _ => !meant.iter().any(|kind| kind.is_path()),
                }
            }));
        }
        match self.shows {
            Some(OnlyShows::Surely) => self.reading.effects.clear(),
            Some(OnlyShows::Likely) => self.reading.effects.retain(|effect| matches!(effect, Fixed::Use(..))),
            None => {}
        }
        self.reading
    }

    /// What should be a name is none where the words ask for paths.
    fn prints(&mut self) {
        let Reading { spec, options, operands, output, .. } = &mut self.reading;
        if *output != Output::Name {
            return;
        }
        // Facts are printed with the names of the files that they are about.
        let is_path =
            |word: &Shown<'_>| !word.known || word.head == ".." || word.head.contains(['/', '[', '$', '`']);
        let lists = |given: &Given| matches!(given.name, "-c" | "--check" | "--files0-from");
        let facts = spec.is(Spec::FACTS)
            && (operands.iter().filter_map(|at| self.words.get(*at)).any(is_path)
                || options.iter().any(lists));
        let text_of = |given: &Given| {
            let slot = given.value?;
            self.words.get(slot.word).map(|word| (word.known, word.head.get(slot.skip..).unwrap_or_default()))
        };
        let mut formats =
            options.iter().filter(|given| matches!(given.name, "-c" | "--printf")).filter_map(text_of);
        let mut times = self.words.iter().filter(|word| word.head.starts_with('+'));
        if facts
            || formats.any(|(known, format)| !known || !value::is_name_of_facts(format))
            || times.any(|word| !word.known || !value::is_name_of_time(word.head.trim_start_matches('+')))
        {
            *output = Output::Text;
        }
    }

    fn is_assignment(&self, word: usize) -> bool {
        let head = self.words.get(word).map_or("", |word| word.head);
        head.split_once('=').is_some_and(|(name, _)| value::is_name(name))
    }

    /// Adds what a value or operand (whose option's name is empty) means, as the given options turn it. Says
    /// what it was and is.
    fn meanings(&mut self, option: &str, listed: [WordKind; 3], slot: Slot) -> Vec<WordKind> {
        let mut all = listed.to_vec();
        for turn in self.mores.iter().flat_map(|more| more.turns.of(&TURNS)) {
            let named = turn.option.str();
            if !named.is_empty() && named == option {
                all = kinds(turn.to).to_vec();
            } else if named.is_empty() && option.is_empty() {
                let turned = |kind| if kind == turn.from { kinds(turn.to).to_vec() } else { vec![kind] };
                all = all.into_iter().flat_map(turned).collect();
            }
        }
        let word = self.words.get(slot.word).map_or("", |word| slot.of(word.head));
        // Some programs read codes in the address of a file, and others take them for what they are.
        let is_coded = value::begins(word, "file:") && word.contains('%');
        if is_coded || all.iter().all(|kind| *kind == WordKind::Text) {
            self.reading.texts.push(slot);
        }
        for kind in &all {
            // `strace -o '|command'`.
            let word = self.words.get(slot.word).map_or("", |word| slot.of(word.head));
            if *kind == WordKind::Write && word.starts_with(['|', '!']) {
                self.reading.uses.push((WordKind::Shell, Slot { skip: slot.skip + 1, ..slot }));
            }
            let leaves = match kind {
                WordKind::Debug => !value::is_plain_debugging(word),
                WordKind::Sql => value::leaves_database(word),
                _ => false,
            };
            if leaves && !self.reading.effects.contains(&Fixed::Unknown) {
                self.reading.effects.push(Fixed::Unknown);
            }
            if matches!(kind, WordKind::Prose | WordKind::Mount) && slot.end.is_none() {
                self.reading.prose.push(slot.word);
            }
            for meaning in self.meaning(*kind, slot) {
                if !self.reading.uses.contains(&meaning) {
                    self.reading.uses.push(meaning);
                }
            }
        }
        all.extend(listed);
        all
    }

    fn meaning(&self, kind: WordKind, slot: Slot) -> Vec<(WordKind, Slot)> {
        let Some(word) = self.words.get(slot.word) else { return Vec::new() };
        let text = slot.of(word.head);
        let known = word.known || slot.end.is_some();
        let later = |skip| Slot { skip: slot.skip + skip, ..slot };
        let within = |(kind, part): (WordKind, value::ValuePart)| {
            let end = part.end.map(|end| slot.skip + end).or(slot.end);
            (kind, Slot { end, ..later(part.start) })
        };
        match kind {
            WordKind::Text | WordKind::Prose => Vec::new(),
            WordKind::Read | WordKind::Append | WordKind::Write if text == "-" && known => Vec::new(),
            WordKind::At => value::at(text, known).into_iter().map(within).collect(),
            WordKind::Form => value::form(text, known).into_iter().map(within).collect(),
            WordKind::Mount => value::mount(text, known).into_iter().map(within).collect(),
            WordKind::Each => value::each(text).into_iter().map(within).collect(),
            WordKind::Relayed => {
                let before = slot.word.checked_sub(2).and_then(|at| self.words.get(at));
                let before = before.filter(|_| slot.skip == 0).map_or("", |word| word.head);
                value::relayed(before, text, known).into_iter().map(within).collect()
            }
            WordKind::Sql if known && value::is_plain_sql(text) => Vec::new(),
            WordKind::Debug if known && value::is_plain_debugging(text) => Vec::new(),
            WordKind::Sql | WordKind::Debug => vec![(WordKind::Code(Language::Other), slot)],
            WordKind::Filter if value::loads_module(text, known) => value::filter(text)
                .into_iter()
                .map(within)
                .chain([(WordKind::Settings, Slot { end: Some(slot.skip), ..slot })])
                .collect(),
            WordKind::Filter => value::filter(text).into_iter().map(within).collect(),
            WordKind::Template if !value::is_template(text) => vec![(WordKind::Write, slot)],
            WordKind::Host if value::is_open_url(text) => vec![(WordKind::OpenRead, slot)],
            WordKind::Host if value::begins(text, "file:") => {
                // `curl -T` sends to a file as it sends to a server.
                let sends = self.reading.options.iter().any(|given| given.name == "-T");
                let kinds: &[WordKind] =
                    if sends { &[WordKind::Read, WordKind::Write] } else { &[WordKind::Read] };
                kinds.iter().map(|kind| within((*kind, value::of_file_url(text)))).collect()
            }
            kind if kind.is_path() && self.reading.spec.is(Spec::REMOTE) && value::is_remote(text) => {
                vec![(WordKind::Host, slot)]
            }
            kind if kind.is_path() && value::begins(text, "file:") => {
                vec![within((kind, value::of_file_url(text)))]
            }
            kind => vec![(kind, slot)],
        }
    }
}

/// The option that a word with two dashes means though it is not spelled so: the one that begins like it, as
/// `getopt_long` has it, or the same with one dash.
fn otherwise(spec: &'static Spec, name: &str) -> Option<&'static Opt> {
    if spec.is(Spec::SINGLE_DASH) {
        return name.get(1..).and_then(|single| spec.option(single));
    }
    if name.len() < 3 {
        return None;
    }
    let mut fits = spec.options().iter().filter(|option| {
        option.takes != Takes::Key && option.names.words().any(|spelling| spelling.starts_with(name))
    });
    fits.next().filter(|_| fits.next().is_none())
}
