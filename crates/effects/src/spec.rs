//! What a command's arguments mean, by the tables that `build.rs` makes of `specs/*.toml`.
//!
//! [`read`] goes over the words as the program's own parser would. It judges nothing: what a spec does not
//! list comes back as [`Reading::unlisted`], and the caller must take that for an unknown effect.

mod value;

/// What a command or a sub-command does with its words.
#[derive(Debug)]
pub(crate) struct Spec {
    names: Text,
    options: Span,
    subs: Span,
    args: Span,
    args1: Option<Span>,
    effects: Span,
    default: Span,
    flags: u16,
    output: Output,
    stdin: Option<Language>,
}

/// What a word is to its command. The README of the specs explains each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Read,
    ReadTree,
    List,
    Append,
    Write,
    WriteTree,
    Delete,
    DeleteTree,
    Enter,
    Into,
    Link,
    Beside,
    Command,
    Shell,
    Program,
    Code(Language),
    Script(Language),
    Sed,
    Awk,
    Assign,
    Host,
    /// `@file`; in a reading it has become `Read` or `Write`.
    At,
    /// In a reading it has become `Code`, or is left out where it stays within its database.
    Sql,
    /// Likewise `name=@file`.
    Form,
    /// Commands of a debugger; in a reading `Code`, or left out where they only look.
    Debug,
    /// `host:container`; in a reading `ReadTree` and `WriteTree`, and prose.
    Mount,
    /// A program for `jq` or `yq`; in a reading what it loads.
    Filter,
    /// Likewise `{a,b}`.
    Each,
    /// Options for another program, with commas between them; in a reading what they name.
    Relayed,
    /// In a reading it stands among the `prose`.
    Prose,
}

/// The language of a program that is given as a word or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Lua,
    Shell,
    Other,
}

/// What a command's standard output holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Anything.
    Text,
    /// Paths at or below its path operands, or the working directory where it has none.
    Paths,
    /// One plain word without a slash.
    Name,
    /// What it read, unchanged or in parts.
    Input,
    /// Nothing.
    Nothing,
}

/// One word of a command, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'w> {
    /// The text at its beginning.
    pub(crate) head: &'w str,
    /// Whether that is all of it.
    pub(crate) known: bool,
}

/// A part of a word, from the byte `skip` to the byte `end` or to the word's own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) word: usize,
    pub(crate) skip: usize,
    pub(crate) end: Option<usize>,
}

/// An option that is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    /// The first spelling that the spec lists.
    pub(crate) name: &'static str,
    pub(crate) value: Option<Slot>,
}

/// What a command does whatever its words are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fixed {
    /// Uses a path, relative to the working directory or to `~/`.
    Use(Kind, &'static str),
    Connect,
    /// Runs code of the project.
    Project,
    RepoRead,
    RepoWrite,
    /// Acts somewhere that no rule here speaks of: a daemon, a cloud, another agent.
    Foreign,
    /// More than can be said.
    Unknown,
}

/// A command's words, read. Numbers are places in the list of words, which begins behind the command's name.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Of the deepest sub-command.
    pub(crate) spec: &'static Spec,
    /// The sub-commands, by their first names.
    pub(crate) sub: Vec<&'static str>,
    pub(crate) options: Vec<Given>,
    /// Options that are not listed and do no harm, as the spec has only such.
    pub(crate) plain: Vec<usize>,
    /// All values and operands that mean more than text, in the order of the words. The words of a repeated
    /// `shell` operand are one text, joined by spaces.
    pub(crate) uses: Vec<(Kind, Slot)>,
    /// What is neither option nor sub-command, up to `rest`.
    pub(crate) operands: Vec<usize>,
    /// Options, sub-commands and operands that the spec does not list.
    pub(crate) unlisted: Vec<usize>,
    pub(crate) effects: Vec<Fixed>,
    pub(crate) output: Output,
    /// Words that name no place of this machine, whatever they look like.
    pub(crate) prose: Vec<usize>,
    /// The first word of a command that this one runs.
    pub(crate) rest: Option<usize>,
}

/// A text in the table of texts: 20 bits for where it begins, 12 for its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Text(u32);

/// A run of items in a table.
#[derive(Debug, Clone, Copy)]
struct Span {
    at: u16,
    len: u16,
}

#[derive(Debug)]
struct Opt {
    /// All spellings, with spaces between them.
    names: Text,
    /// The place of its value's kinds.
    kinds: u8,
    takes: Takes,
    /// The place of what it changes.
    more: u16,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    No,
    Value,
    /// Two values of one kind each: the next two words.
    Pair,
    /// Only one that is written in the same word.
    Attached,
    /// One that is `key=value`, the keys of which are options that begin with its name and a colon.
    Keyed,
    /// It is such a key.
    Key,
}

/// What else an option changes.
#[derive(Debug)]
struct More {
    args: Option<Span>,
    turns: Span,
    effects: Span,
    default: Span,
    output: Option<Output>,
    instead: bool,
    ends: bool,
}

#[derive(Debug, Clone, Copy)]
struct Arg {
    kinds: u8,
    times: Times,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    One,
    Optional,
    Many,
}

/// A change of what operands mean, or of what an option's value means.
#[derive(Debug, Clone, Copy)]
struct Turn {
    option: Text,
    from: Kind,
    to: u8,
}

#[derive(Debug)]
struct Stored {
    what: What,
    path: Text,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Use(Kind),
    Connect,
    Project,
    RepoRead,
    RepoWrite,
    Foreign,
    Unknown,
}

#[expect(clippy::unreadable_literal, reason = "they are read by the compiler alone")]
mod tables {
    use super::{Arg, Kind, Language, More, Opt, Output, Span, Spec, Stored, Takes, Text, Times, Turn, What};

    include!(concat!(env!("OUT_DIR"), "/specs.rs"));
}
use tables::{ARGS, EFFECTS, INDEX, KINDS, MORES, OPTIONS, SPECS, TEXT, TURNS};

/// The spec of a program, by its name without directories.
pub(crate) fn find(name: &str) -> Option<&'static Spec> {
    let hash =
        name.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let at = INDEX.binary_search_by_key(&hash, |(hash, _)| *hash).ok()?;
    SPECS.get(usize::from(INDEX.get(at)?.1)).filter(|spec| spec.first_name(name).is_some())
}

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
        rest: None,
    };
    let reader = Reader {
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

impl Spec {
    const PLAIN: u16 = 1;
    const STOPS: u16 = 2;
    const SINGLE_DASH: u16 = 4;
    const OLD_STYLE: u16 = 8;
    const KEY_VALUE: u16 = 16;
    const GLOBAL: u16 = 64;
    const REMOTE: u16 = 128;
    const FACTS: u16 = 256;

    /// The language of the code that it reads from standard input where no word gives it any.
    pub(crate) fn stdin_code(&self) -> Option<Language> {
        self.stdin
    }

    /// Its first name.
    pub(crate) fn name(&self) -> &'static str {
        self.names.first()
    }

    /// The sub-command of this name, and its first name.
    pub(crate) fn sub(&self, name: &str) -> Option<(&'static Spec, &'static str)> {
        self.subs.of(&SPECS).iter().find_map(|sub| Some((sub, sub.first_name(name)?)))
    }

    /// The first name of what is also called `name`. Names of something else of the same meaning begin with a bar.
    fn first_name(&self, name: &str) -> Option<&'static str> {
        let mut first = self.name();
        for word in self.names.words() {
            let other = word.strip_prefix('|');
            first = other.unwrap_or(first);
            if other.unwrap_or(word) == name {
                return Some(first);
            }
        }
        None
    }

    fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    fn options(&self) -> &'static [Opt] {
        self.options.of(&OPTIONS)
    }

    /// The option that is spelled so.
    fn option(&self, spelling: &str) -> Option<&'static Opt> {
        self.options().iter().find(|option| option.takes != Takes::Key && option.is_spelled(spelling))
    }
}

impl Opt {
    fn is_spelled(&self, spelling: &str) -> bool {
        self.names.words().any(|name| name == spelling)
    }

    /// Its value's place in `word` where one of its spellings ends in `*` and the word begins like it.
    fn prefix(&self, word: &str) -> Option<usize> {
        let starts = self.names.words().filter_map(|name| name.strip_suffix('*'));
        starts.filter(|start| word.starts_with(start)).map(str::len).max()
    }
}

impl More {
    const NONE: More = More {
        args: None,
        turns: Span { at: 0, len: 0 },
        effects: Span { at: 0, len: 0 },
        default: Span { at: 0, len: 0 },
        output: None,
        instead: false,
        ends: false,
    };
}

impl Text {
    fn str(self) -> &'static str {
        let (at, len) = (self.0 as usize >> 12, self.0 as usize & 0xfff);
        TEXT.get(at..at + len).unwrap_or_default()
    }

    fn words(self) -> impl Iterator<Item = &'static str> {
        self.str().split(' ')
    }

    fn first(self) -> &'static str {
        self.words().next().unwrap_or_default()
    }
}

impl Span {
    fn of<T>(self, table: &'static [T]) -> &'static [T] {
        let at = usize::from(self.at);
        table.get(at..at + usize::from(self.len)).unwrap_or_default()
    }
}

impl Slot {
    fn at(word: usize, skip: usize) -> Slot {
        Slot { word, skip, end: None }
    }

    /// The part of the word's text that is meant.
    pub(crate) fn of<'w>(&self, text: &'w str) -> &'w str {
        text.get(self.skip..self.end.unwrap_or(text.len())).unwrap_or_default()
    }
}

fn kinds(place: u8) -> [Kind; 3] {
    KINDS.get(usize::from(place)).copied().unwrap_or([Kind::Text; 3])
}

fn fixed(span: Span) -> impl Iterator<Item = Fixed> {
    span.of(&EFFECTS).iter().map(|stored| match stored.what {
        What::Use(kind) => Fixed::Use(kind, stored.path.str()),
        What::Connect => Fixed::Connect,
        What::Project => Fixed::Project,
        What::RepoRead => Fixed::RepoRead,
        What::RepoWrite => Fixed::RepoWrite,
        What::Unknown => Fixed::Unknown,
        What::Foreign => Fixed::Foreign,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    Surely,
    Likely,
}

struct Reader<'r, 'w> {
    words: &'r [Shown<'w>],
    /// The word that is being read.
    at: usize,
    /// Whether all further words are operands.
    ended: bool,
    /// Whether it only says what it is: by `--help` or `--version`, or by a letter that may mean something else.
    shows: Option<Shows>,
    /// The commands above the sub-command whose options are meant everywhere.
    above: Vec<&'static Spec>,
    /// The values of options, by the first spelling of each.
    values: Vec<(&'static str, [Kind; 3], Slot)>,
    /// What the options of the deepest sub-command change.
    mores: Vec<&'static More>,
    reading: Reading,
}

impl Reader<'_, '_> {
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
            } else if let (true, Some(plus)) = (word.head.starts_with('+'), spec.option("+")) {
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
                self.shows = Some(Shows::Surely);
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
            self.shows = Some(Shows::Likely);
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

    /// Options of one letter each; the value of the last may be the rest of the word.
    fn bundle(&mut self, word: Shown<'_>, skip: usize) {
        let place = self.at;
        for (at, letter) in word.head.char_indices().skip(skip) {
            let next = at + letter.len_utf8();
            let mut spelling = [b'-', 0, 0, 0, 0];
            let found = spelling
                .get_mut(1..)
                .and_then(|rest| Some(letter.encode_utf8(rest.get_mut(..letter.len_utf8())?).len()));
            let spelling =
                found.and_then(|len| std::str::from_utf8(spelling.get(..=len)?).ok()).unwrap_or_default();
            let more = next < word.head.len() || !word.known;
            match self.listed(|spec| spec.option(spelling)) {
                Some(option) if option.takes == Takes::No => self.give(option, None),
                Some(option) if skip == 0 => self.give(option, None),
                Some(option) => return self.give(option, more.then_some(next)),
                None if letter.is_ascii_digit() => {}
                None if skip == 1 && at == 1 && !self.reading.spec.is(Spec::PLAIN) => {
                    return self.by_prefix(word);
                }
                None => self.unlisted_at(place),
            }
        }
        if !word.known {
            self.unlisted_at(place);
        }
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
        let reading = &mut self.reading;
        let list = if reading.spec.is(Spec::PLAIN) { &mut reading.plain } else { &mut reading.unlisted };
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
            (Some(slot), [Kind::Command, ..]) => {
                self.reading.rest = Some(slot.word);
                self.at = self.words.len();
            }
            (Some(slot), [first, second, _]) if option.takes == Takes::Pair => {
                self.values.push((name, [first, Kind::Text, Kind::Text], slot));
                if let Some(slot) = self.next_word() {
                    self.values.push((name, [second, Kind::Text, Kind::Text], slot));
                }
            }
            (Some(slot), kinds) => self.values.push((name, kinds, slot)),
            (None, _) => {}
        }
        self.reading.options.push(Given { name, value });
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
                let kinds = of("*=").map_or([Kind::Text; 3], |any| kinds(any.kinds));
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
            let assigns = kinds(arg.kinds).first() == Some(&Kind::Assign);
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
                if kinds(arg.kinds).first() == Some(&Kind::Command) {
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
        if self.shows != Some(Shows::Surely) && !self.mores.iter().any(|more| more.instead) {
            let mores = self.mores.iter().map(|more| more.default);
            let all = [spec.default].into_iter().chain(mores).flat_map(fixed);
            self.reading.effects.extend(all.filter(|effect| match effect {
                Fixed::Use(kind, _) if kind.changes() => !meant.iter().any(|kind| kind.changes()),
                Fixed::Unknown => {
                    !meant.iter().any(|kind| matches!(kind, Kind::Shell | Kind::Code(_) | Kind::Script(_)))
                }
                _ => !meant.iter().any(|kind| kind.is_path()),
            }));
        }
        match self.shows {
            Some(Shows::Surely) => self.reading.effects.clear(),
            Some(Shows::Likely) => self.reading.effects.retain(|effect| matches!(effect, Fixed::Use(..))),
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
        // Facts are told with the names of the files they are about.
        let is_path = |word: &Shown<'_>| !word.known || word.head == ".." || word.head.contains('/');
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
    fn meanings(&mut self, option: &str, listed: [Kind; 3], slot: Slot) -> Vec<Kind> {
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
        for kind in &all {
            // `strace -o '|command'`.
            let word = self.words.get(slot.word).map_or("", |word| slot.of(word.head));
            if *kind == Kind::Write && word.starts_with(['|', '!']) {
                self.reading.uses.push((Kind::Shell, Slot { skip: slot.skip + 1, ..slot }));
            }
            let leaves = match kind {
                Kind::Debug => !value::is_plain_debugging(word),
                Kind::Sql => value::leaves_database(word),
                _ => false,
            };
            if leaves && !self.reading.effects.contains(&Fixed::Unknown) {
                self.reading.effects.push(Fixed::Unknown);
            }
            if matches!(kind, Kind::Prose | Kind::Mount) && slot.end.is_none() {
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

    fn meaning(&self, kind: Kind, slot: Slot) -> Vec<(Kind, Slot)> {
        let Some(word) = self.words.get(slot.word) else { return Vec::new() };
        let text = slot.of(word.head);
        let known = word.known || slot.end.is_some();
        let later = |skip| Slot { skip: slot.skip + skip, ..slot };
        let within = |(kind, part): (Kind, value::Part)| {
            let end = part.end.map(|end| slot.skip + end).or(slot.end);
            (kind, Slot { end, ..later(part.start) })
        };
        match kind {
            Kind::Text | Kind::Prose => Vec::new(),
            Kind::Read | Kind::Append | Kind::Write if text == "-" && known => Vec::new(),
            Kind::At => value::at(text, known).into_iter().map(within).collect(),
            Kind::Form => value::form(text, known).into_iter().map(within).collect(),
            Kind::Mount => value::mount(text, known).into_iter().map(within).collect(),
            Kind::Filter => value::filter(text).into_iter().map(within).collect(),
            Kind::Each => value::each(text).into_iter().map(within).collect(),
            Kind::Relayed => {
                let before = slot.word.checked_sub(2).and_then(|at| self.words.get(at));
                let before = before.filter(|_| slot.skip == 0).map_or("", |word| word.head);
                value::relayed(before, text, known).into_iter().map(within).collect()
            }
            Kind::Sql if known && value::is_plain_sql(text) => Vec::new(),
            Kind::Debug if known && value::is_plain_debugging(text) => Vec::new(),
            Kind::Sql | Kind::Debug => vec![(Kind::Code(Language::Other), slot)],
            Kind::Host if value::begins(text, "file:") => {
                vec![within((Kind::Read, value::of_file_url(text)))]
            }
            kind if kind.is_path() && self.reading.spec.is(Spec::REMOTE) && value::is_remote(text) => {
                vec![(Kind::Host, slot)]
            }
            kind if kind.is_path() && value::begins(text, "file:") => {
                vec![within((kind, value::of_file_url(text)))]
            }
            kind => vec![(kind, slot)],
        }
    }
}

impl Kind {
    /// Whether the word names a file or a directory.
    fn is_path(self) -> bool {
        match self {
            Kind::Read | Kind::ReadTree | Kind::List | Kind::Append | Kind::Write | Kind::WriteTree => true,
            Kind::Delete
            | Kind::DeleteTree
            | Kind::Enter
            | Kind::Into
            | Kind::Beside
            | Kind::At
            | Kind::Each
            | Kind::Form => true,
            Kind::Link | Kind::Script(_) | Kind::Program => false,
            Kind::Text | Kind::Command | Kind::Shell | Kind::Code(_) | Kind::Sed | Kind::Awk => false,
            Kind::Assign
            | Kind::Host
            | Kind::Sql
            | Kind::Debug
            | Kind::Mount
            | Kind::Filter
            | Kind::Relayed
            | Kind::Prose => false,
        }
    }

    /// Whether what the word names is made, changed or taken away.
    fn changes(self) -> bool {
        let fills = matches!(self, Kind::Append | Kind::Write | Kind::WriteTree | Kind::Beside);
        fills || matches!(self, Kind::Delete | Kind::DeleteTree)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An example of a spec.
    struct Example {
        file: &'static str,
        handler: bool,
        run: &'static str,
        does: &'static [&'static str],
    }

    static EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

    /// Splits at blanks outside of quotes.
    fn split(text: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None, None);
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match (letter, quote) {
                (' ', None) => words.extend(word.take()),
                ('\'' | '"', None) => {
                    quote = Some(letter);
                    word.get_or_insert_with(String::new);
                }
                (_, Some(open)) if letter == open => quote = None,
                ('\\', None | Some('"')) => word.get_or_insert_with(String::new).extend(letters.next()),
                _ => word.get_or_insert_with(String::new).push(letter),
            }
        }
        words.extend(word);
        words
    }

    fn kind_name(kind: Kind) -> String {
        let (name, language) = match kind {
            Kind::Code(language) => ("Code".to_owned(), format!(":{language:?}").to_lowercase()),
            Kind::Script(language) => ("Script".to_owned(), format!(":{language:?}").to_lowercase()),
            other => (format!("{other:?}"), String::new()),
        };
        let dashed = name.chars().enumerate().fold(String::new(), |all, (at, letter)| {
            let dash = if at > 0 && letter.is_uppercase() { "-" } else { "" };
            all + dash + &letter.to_lowercase().to_string()
        });
        dashed + &language
    }

    fn shown(words: &[String]) -> Vec<Shown<'_>> {
        words.iter().map(|word| Shown { head: word, known: true }).collect()
    }

    /// What a command of plain words does, sorted. `follow`: also what the commands do that it runs.
    fn does(words: &[String], follow: bool) -> Vec<String> {
        let Some((name, words)) = words.split_first() else { return Vec::new() };
        let Some(spec) = find(name) else { return vec![format!("run {name}")] };
        let reading = read(spec, &shown(words));
        let mut all = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        for (kind, slot) in &reading.uses {
            let text = slot.of(&words[slot.word]);
            match kind {
                Kind::Sed | Kind::Awk => {}
                Kind::Assign if follow => {}
                Kind::Host => all.push("connect".to_owned()),
                Kind::Shell if follow && reading.operands.contains(&slot.word) && !texts.is_empty() => {
                    texts.last_mut().unwrap().extend([" ", text]);
                }
                Kind::Shell if follow => texts.push(text.to_owned()),
                kind => all.push(format!("{} {text}", kind_name(*kind))),
            }
        }
        all.extend(texts.iter().flat_map(|text| does(&split(text), true)));
        all.extend(reading.effects.iter().map(|effect| match effect {
            Fixed::Use(kind, path) => format!("{} {path}", kind_name(*kind)),
            Fixed::RepoRead => "repo-read".to_owned(),
            Fixed::RepoWrite => "repo-write".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }));
        if !reading.unlisted.is_empty() {
            all.push("unknown".to_owned());
        }
        match reading.rest {
            Some(rest) if follow => all.extend(does(&words[rest..], true)),
            Some(rest) => all.push(format!("command {}", words[rest..].join(" "))),
            None => {}
        }
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn examples_are_read_as_they_say() {
        let mut wrong = Vec::new();
        for example in EXAMPLES.iter().filter(|example| !example.handler) {
            let mut expected: Vec<_> = example.does.iter().map(|does| (*does).to_owned()).collect();
            expected.sort();
            let found = does(&split(example.run), true);
            if found != expected && does(&split(example.run), false) != expected {
                wrong.push(format!(
                    "{}: {}\n  expected {expected:?}\n  found    {found:?}",
                    example.file, example.run
                ));
            }
        }
        assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn ways_to_write_options() {
        let cases: &[(&str, &[&str])] = &[
            ("cp -rv a b", &["read-tree a", "write-tree b"]),
            ("cp a b -r", &["read-tree a", "write-tree b"]),
            ("cp -- -r b", &["read -r", "write b"]),
            ("cp -td a", &["read a", "write-tree d"]),
            ("cp -vtd a", &["read a", "write-tree d"]),
            ("cp -t d a", &["read a", "write-tree d"]),
            ("cp --target-directory d a", &["read a", "write-tree d"]),
            ("cp --target-directory=d a", &["read a", "write-tree d"]),
            ("cp --tar=d a", &["read a", "write-tree d"]),
            ("cp --r a b", &["read a", "unknown", "write b"]),
            ("cp --verbose=x a b", &["read a", "unknown", "write b"]),
            ("cp --backup a b", &["read a", "write b"]),
            ("cp --mystery a b", &["read a", "unknown", "write b"]),
            ("cp -rQ a b", &["read-tree a", "unknown", "write-tree b"]),
            ("cp - b", &["write b"]),
            ("head -5 a", &["read a"]),
            ("head -c5 a", &["read a"]),
            ("tail +5", &[]),
            ("tar xzf a.tgz", &["read a.tgz", "write-tree ."]),
            ("tar czf a.tgz d", &["read-tree d", "write a.tgz"]),
            ("tar -c -f a.tgz d", &["read-tree d", "write a.tgz"]),
            ("dd if=a of=b bs=1", &["read a", "write b"]),
            ("dd mystery=b", &["unknown"]),
            ("env -i A=b rm x", &["delete x"]),
            ("sudo -u root rm -rf x", &["delete-tree x"]),
            ("ssh -oproxycommand='rm x' h", &["connect", "delete x"]),
            ("ssh -o Mystery=1 h", &["connect", "unknown"]),
            ("curl -F 'a=@b;type=c' http://h", &["connect", "read b"]),
            ("curl file:///etc/passwd", &["read /etc/passwd"]),
            ("scp a h:b", &["connect", "read-tree a"]),
            ("ln -s a/b", &["link a/b", "write-tree ."]),
            ("systemctl list-units --user", &[]),
            ("rclone --dry-run sync a b", &["connect", "list b", "read-tree a"]),
            ("openssl x509 --in a", &["read a"]),
            ("jq --slurpfile a b . c", &["read b", "read c"]),
            ("chmod -x a", &["write a"]),
            ("grep -rl x", &["read-tree ."]),
            ("unzip a", &["read a", "write-tree ."]),
            ("mktemp a", &["write a"]),
            ("7z x -od a", &["read a", "write-tree d"]),
            ("vim +:q a", &["code:other :q", "read a", "unknown", "write a"]),
            ("op --version", &[]),
            ("op --version -x", &["connect", "foreign"]),
            ("sdk -V", &[]),
            ("du -h", &["list ."]),
            ("sqlite3 a .schema", &["code:other .schema", "read a", "write a"]),
            ("sqlite3 'file:/etc/x?mode=rw'", &["read /etc/x", "write /etc/x"]),
            ("docker run -v /a:/b:ro x cat /c", &["connect", "foreign", "read-tree /a"]),
            (
                "docker run --mount type=bind,source=/a,target=/b x",
                &["connect", "foreign", "read-tree /a", "write-tree /a"],
            ),
            ("timeout -k 1 5 nice -5 env A=b rm -r x", &["delete-tree x"]),
            ("flock l -c x", &["run -c", "write l"]),
            (
                "sqlite3 a \"select readfile('b')\"",
                &["code:other select readfile('b')", "read a", "unknown", "write a"],
            ),
        ];
        for (run, expected) in cases {
            assert_eq!(does(&split(run), true), *expected, "{run}");
        }
    }

    fn read_shown(name: &str, words: &[(&'static str, bool)]) -> Reading {
        let words: Vec<_> = words.iter().map(|(head, known)| Shown { head, known: *known }).collect();
        read(find(name).unwrap(), &words)
    }

    #[test]
    fn words_that_are_known_in_part() {
        let slot = |word, skip| Slot { word, skip, end: None };
        let reading = read_shown("cp", &[("--target-directory=", false), ("a", true)]);
        assert_eq!(reading.uses, [(Kind::WriteTree, slot(0, 19)), (Kind::Read, slot(1, 0))]);
        let reading = read_shown("cp", &[("-t", false), ("a", true)]);
        assert_eq!(reading.uses, [(Kind::WriteTree, slot(0, 2)), (Kind::Read, slot(1, 0))]);
        let reading = read_shown("cp", &[("", false), ("b", true)]);
        assert_eq!(reading.uses, [(Kind::Read, slot(0, 0)), (Kind::Write, slot(1, 0))]);
        assert!(reading.unlisted.is_empty());
        for word in ["-", "-r", "--", "--tar"] {
            assert_eq!(read_shown("cp", &[(word, false), ("b", true)]).unlisted, [0], "{word}");
        }
        let uses = |name, words| read_shown(name, words).uses.first().copied();
        assert_eq!(uses("curl", &[("-Fa=", false)]), Some((Kind::Read, slot(0, 4))));
        assert_eq!(uses("curl", &[("-d", true), ("", false)]), Some((Kind::Read, slot(1, 0))));
        assert_eq!(uses("curl", &[("-da=", false)]), None);
        assert_eq!(uses("dd", &[("of=", false)]), Some((Kind::Write, slot(0, 3))));
        assert_eq!(uses("ssh", &[("-oProxyCommand=", false)]), Some((Kind::Shell, slot(0, 15))));
        assert_eq!(read_shown("ssh", &[("-oProxy", false)]).unlisted, [0]);
        assert_eq!(
            uses("psql", &[("-c", true), ("select 1", false)]),
            Some((Kind::Code(Language::Other), slot(1, 0)))
        );
        assert_eq!(read_shown("tar", &[("", false)]).unlisted, [0]);
        assert_eq!(read_shown("systemctl", &[("", false)]).unlisted, [0]);
    }

    #[test]
    fn what_is_said_besides_the_uses() {
        let prose = |run: &str| {
            let words = split(run);
            read(find(&words[0]).unwrap(), &shown(&words[1..])).prose
        };
        assert_eq!(prose("docker exec x cat /etc/hosts"), [2, 3]);
        assert_eq!(prose("jest -t 'reads /etc/passwd' /etc"), [1]);
        let output = |run: &str| {
            let words = split(run);
            read(find(&words[0]).unwrap(), &shown(&words[1..])).output
        };
        for run in
            ["date +%F", "date", "wc -l", "wc -l a", "stat -c %s a/b", "uuidgen", "openssl rand -hex 4"]
        {
            assert_eq!(output(run), Output::Name, "{run}");
        }
        for run in
            ["date +%Y/%m", "date +%D", "wc -l a/b", "stat a", "stat -c %n a/b", "openssl rand -base64 4"]
        {
            assert_eq!(output(run), Output::Text, "{run}");
        }
        assert_eq!(find("irb").and_then(Spec::stdin_code), Some(Language::Other));
        assert_eq!(find("cat").and_then(Spec::stdin_code), None);
    }

    #[test]
    fn names_of_options_and_sub_commands() {
        let reading = read_shown("cp", &[("-Rt", true), ("d", true), ("a", true)]);
        let names: Vec<_> = reading.options.iter().map(|given| given.name).collect();
        assert_eq!((names, reading.operands), (vec!["-r", "-t"], vec![2]));
        let reading = read_shown("systemctl", &[("--user", true), ("restart", true), ("x", true)]);
        assert_eq!((reading.sub, reading.operands), (vec!["restart"], vec![2]));
        assert_eq!(read_shown("tmux", &[("splitw", true)]).sub, ["split-window"]);
        assert_eq!(read_shown("tmux", &[("run", true)]).sub, ["run-shell"]);
        assert_eq!(read_shown("sudo", &[("-n", true), ("ls", true), ("-l", true)]).rest, Some(1));
        assert!(find("no such program").is_none());
    }
}
