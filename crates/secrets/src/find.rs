//! Where the secrets of a text stand.

use memchr::{memchr_iter, memmem};

use crate::forms::{self, Assignment, Form, Runs};
use crate::known::{self, Known};
use crate::lens::{Lens, escaped_parts, wide_parts};
use crate::names::{self, Telling};
use crate::tables::{self, Anchor, CLASS_COUNT, Pattern, Shape, Step};
use crate::{Emails, email, pem, search, spots, url, values};

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each can be set by itself")]
pub struct Rules {
    /// Only private keys and the tokens of the best known makers, and email addresses.
    pub core_only: bool,
    /// Which email addresses.
    pub emails: Emails,
    /// Addresses (`team@corp.com`) and domains (`@corp.com`) that are no finding, beside those that are always safe.
    pub safe_emails: Vec<String>,
    /// Values that only look random, where their names say that they are secret.
    pub entropy: bool,
    /// The values of all names that end in `password`, `secret`, `token` and the like, also where they look like those
    /// in a test or a manual.
    pub every_assignment: bool,
    /// Keys that their makers print in their manuals are no finding.
    pub keep_examples: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            core_only: false,
            emails: Emails::Unlisted,
            safe_emails: Vec::new(),
            entropy: true,
            every_assignment: false,
            keep_examples: false,
        }
    }
}

/// A secret and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its first byte.
    pub from: usize,
    /// Behind its last byte.
    pub to: usize,
    /// The pattern that it fits, by its id: `github-token`.
    pub pattern: &'static str,
    /// The name in its mark: `GITHUB_TOKEN`.
    pub mark: &'static str,
    /// What it is, for people: `a GitHub token`.
    pub about: &'static str,
    /// The smaller, the more its kind says.
    pub(crate) rank: u8,
}

/// A kind of secret that is known by more than a shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecretKind {
    pub(crate) id: &'static str,
    pub(crate) mark: &'static str,
    pub(crate) about: &'static str,
    rank: u8,
}

const PRIVATE_KEY: SecretKind =
    SecretKind { id: "private-key", mark: "PRIVATE_KEY", about: "a private key", rank: 0 };
const SHAPED: u8 = 1;
const NEAR: u8 = 2;
const AUTHORIZATION: SecretKind =
    SecretKind { id: "authorization", mark: "AUTHORIZATION", about: "the credentials of a request", rank: 3 };
const URL_PASSWORD: SecretKind =
    SecretKind { id: "url-password", mark: "PASSWORD", about: "a password in an address", rank: 3 };
const PASSWORD: SecretKind = SecretKind {
    id: "password",
    mark: "PASSWORD",
    about: "a password after a credential-like name",
    rank: 4,
};
const SECRET: SecretKind =
    SecretKind { id: "secret", mark: "SECRET", about: "a secret after a credential-like name", rank: 4 };
const RANDOM: SecretKind = SecretKind {
    id: "random-value",
    mark: "SECRET",
    about: "a random value after a credential-like name",
    rank: 5,
};
const PREFIXED: SecretKind =
    SecretKind { id: "prefixed-token", mark: "TOKEN", about: "a token that says so itself", rank: 4 };
const EMAIL: SecretKind = SecretKind { id: "email", mark: "EMAIL", about: "an email address", rank: 6 };

/// All kinds that are no data file.
pub(crate) const KINDS: [SecretKind; 8] =
    [PRIVATE_KEY, AUTHORIZATION, URL_PASSWORD, PASSWORD, SECRET, PREFIXED, RANDOM, EMAIL];

impl From<Telling> for SecretKind {
    fn from(telling: Telling) -> SecretKind {
        match telling {
            Telling::Password => PASSWORD,
            Telling::Secret => SECRET,
            Telling::Weak => RANDOM,
            Telling::Header => AUTHORIZATION,
        }
    }
}

impl Found {
    pub(crate) fn of(kind: SecretKind, from: usize, to: usize) -> Found {
        let SecretKind { id, mark, about, rank } = kind;
        Found { from, to, pattern: id, mark, about, rank }
    }

    pub(crate) fn known(from: usize, to: usize) -> Found {
        Found::of(SECRET, from, to)
    }

    pub(crate) fn private_key(from: usize, to: usize) -> Found {
        Found::of(PRIVATE_KEY, from, to)
    }

    fn shaped(pattern: &'static Pattern, rank: u8, from: usize, to: usize) -> Found {
        let [id, mark, about] = [pattern.id, pattern.mark, pattern.about].map(tables::Text::as_str);
        Found { from, to, pattern: id, mark, about, rank }
    }
}

/// All secrets in a text, in order; none touches another.
pub fn find(text: &[u8], rules: &Rules) -> Vec<Found> {
    find_some(text, rules, usize::MAX).unwrap_or_default()
}

/// The same; `None` where there are more than `most`. Without a bound, an output that is made of addresses takes more memory and time than
/// there is.
pub(crate) fn find_some(text: &[u8], rules: &Rules, most: usize) -> Option<Vec<Found>> {
    let found = decoded(text, rules, most)?;
    let found = with_repeats(text, found, most);
    (found.len() <= most).then_some(found)
}

/// What was found stands elsewhere too: `TOKEN=x`, and then `using x`. Not many more than `most` are looked for.
fn with_repeats(text: &[u8], mut found: Vec<Found>, most: usize) -> Vec<Found> {
    if found.is_empty() {
        return found;
    }
    let mut known = Known::new();
    for secret in
        found.iter().filter(|found| found.rank < EMAIL.rank && found.to - found.from >= known::SHORTEST)
    {
        let value = text.get(secret.from..secret.to).unwrap_or_default();
        if values::is_telling(value) {
            known.add(value, *secret);
        }
    }
    if known.is_empty() {
        return found;
    }
    let before = found.len();
    let mut next = 0;
    let mut more = Vec::new();
    known.each(text, |from, to, secret| {
        while found.get(next).is_some_and(|found| found.to <= from) {
            next += 1;
        }
        if more.len() <= most && found.get(next).is_none_or(|found| to <= found.from) {
            more.push(Found { from, to, ..secret });
        }
    });
    found.append(&mut more);
    if found.len() > before { apart(found) } else { found }
}

fn decoded(text: &[u8], rules: &Rules, most: usize) -> Option<Vec<Found>> {
    let Some(joined) = Lens::without_colours(text, b"") else {
        return escaped_and_plain(text, rules, most).map(apart);
    };
    // A colour may split a secret, and it may part one from a word. The letters of an escape are no name of somebody.
    let tokens = Rules { emails: Emails::None, ..rules.clone() };
    let mut found = escaped_and_plain(text, &tokens, most)?;
    let parted = Lens::without_colours(text, b" ").map(|parted| (parted, &tokens));
    for (lens, rules) in [(joined, rules)].into_iter().chain(parted) {
        let inside = escaped_and_plain(lens.bytes(), rules, most)?;
        found.extend(inside.into_iter().map(|found| lens.back(found)));
    }
    Some(apart(found))
}

fn escaped_and_plain(text: &[u8], rules: &Rules, most: usize) -> Option<Vec<Found>> {
    let mut found = plain(text, rules, most)?;
    let mut is_enough = false;
    // One after the other: a text may hold a million, and all of them take more memory than it does.
    let mut look = |from: usize, lens: &Lens| {
        is_enough = is_enough || found.len() > most;
        if !is_enough {
            match plain(lens.bytes(), rules, most) {
                Some(inside) => found.extend(inside.into_iter().map(|found| lens.back(found).shifted(from))),
                None => is_enough = true,
            }
        }
    };
    escaped_parts(text, &mut look);
    wide_parts(text, &mut look);
    (!is_enough).then_some(found)
}

impl Found {
    pub(crate) fn shifted(self, by: usize) -> Found {
        Found { from: self.from + by, to: self.to + by, ..self }
    }
}

/// In order, and what overlaps as one: the longest says what it is, and of equals the one that says most.
fn apart(mut found: Vec<Found>) -> Vec<Found> {
    if found.len() < 2 {
        return found;
    }
    found.sort_by_key(|found| (found.from, std::cmp::Reverse(found.to), found.rank));
    let mut apart: Vec<Found> = Vec::with_capacity(found.len());
    for next in found {
        match apart.last_mut() {
            Some(last) if next.from < last.to => {
                let (from, to) = (last.from, last.to.max(next.to));
                // What only looks random or like an address gives way to what is known.
                match (last.rank >= RANDOM.rank, next.rank >= RANDOM.rank) {
                    (true, false) => {
                        *last = next;
                        continue;
                    }
                    (false, true) => continue,
                    _ => {}
                }
                let length = |found: &Found| found.to - found.from;
                let better = (length(&next), last.rank) > (length(last), next.rank);
                *last = Found { from, to, ..if better { next } else { *last } };
            }
            _ => apart.push(next),
        }
    }
    apart
}

/// What can be seen without decoding anything.
fn plain(text: &[u8], rules: &Rules, most: usize) -> Option<Vec<Found>> {
    let mut finder = Finder {
        text,
        rules,
        found: Vec::new(),
        runs: [(0, 0); CLASS_COUNT],
        shaped: (usize::MAX, 0),
        named: 0,
        effort: 8 * text.len() + 64 * 1024,
        values: Runs::default(),
        tabled: 0,
        keyed: 0,
        no_end: 0,
    };
    search::anchors(text, &mut |from, length, anchor| {
        if finder.found.len() <= most {
            finder.visit(from, length, anchor);
        }
    });
    let mut found = finder.found;
    // Behind an `@` that ends no password, none begins before it.
    let mut least = 0;
    for at in memchr_iter(b'@', text) {
        if found.len() > most {
            return None;
        }
        if rules.emails != Emails::None
            && let Some((from, to)) = email::around(text, at)
            && !email::is_safe(text.get(from..to).unwrap_or_default(), rules.emails, &rules.safe_emails)
            && !(rules.emails == Emails::Personal && email::is_of_a_work(text, from, to))
        {
            found.push(Found::of(EMAIL, from, to));
        }
        if !rules.core_only {
            match url::password(text, at, least, rules.every_assignment) {
                Some((from, to)) => found.push(Found::of(URL_PASSWORD, from, to)),
                None => least = at,
            }
        }
    }
    (found.len() <= most).then_some(found)
}

/// So much of a token is looked at to see whether it is random.
const ENOUGH: usize = 256;

struct Finder<'t> {
    text: &'t [u8],
    rules: &'t Rules,
    found: Vec<Found>,
    /// The run of each class that was measured last. Without this, `sk-sk-sk-…` would be measured to its end from each
    /// of its parts.
    runs: [(usize, usize); CLASS_COUNT],
    /// Where the last shape stands.
    shaped: (usize, usize),
    /// Names before this have been looked at.
    named: usize,
    /// How many bytes of values may still be looked at: values lie in values (`a=b=c=…`).
    effort: usize,
    values: Runs,
    /// Before this all tables have been read.
    tabled: usize,
    /// Where the last private key ends.
    keyed: usize,
    /// Before this there is no end of a key that has not been seen.
    no_end: usize,
}

impl Finder<'_> {
    fn visit(&mut self, from: usize, length: usize, anchor: Anchor) {
        let core = self.rules.core_only;
        match anchor {
            Anchor::Shape(number) => self.shape(from, number),
            Anchor::PemBegin => self.private_key(from),
            Anchor::PemEnd => self.rest_of_private_key(from),
            Anchor::Putty => {
                if let Some(to) = pem::putty(self.text, from).filter(|_| from >= self.keyed) {
                    self.found.push(Found::of(PRIVATE_KEY, from, to));
                    self.keyed = to;
                }
            }
            Anchor::Name if !core => self.name(from, length),
            Anchor::Scheme if !core => {
                if let Some((from, to)) = names::credentials(self.text, from, from + length) {
                    self.found.push(Found::of(AUTHORIZATION, from, to));
                }
            }
            Anchor::Prefixed if !core => {
                if let Some((from, to)) = spots::prefixed(self.text, from, from + length) {
                    self.found.push(Found::of(PREFIXED, from, to));
                }
            }
            Anchor::Sql
            | Anchor::User
            | Anchor::Pair
            | Anchor::Option
            | Anchor::Glued
            | Anchor::Pgpass
            | Anchor::Cookie
                if !core =>
            {
                self.spot(anchor, from + length);
            }
            _ => {}
        }
    }

    /// What stands in a telling place.
    fn spot(&mut self, anchor: Anchor, at: usize) {
        let (kind, found) = match anchor {
            Anchor::Sql => {
                let found = spots::sql(self.text, at).filter(|_| spots::is_of_a_user(self.text, at));
                (PASSWORD, found)
            }
            Anchor::Pair => (PASSWORD, spots::pair(self.text, at)),
            Anchor::User => (PASSWORD, spots::user(self.text, at)),
            Anchor::Option => (RANDOM, spots::option(self.text, at)),
            Anchor::Glued => (PASSWORD, spots::glued(self.text, at)),
            Anchor::Pgpass => (PASSWORD, spots::pgpass(self.text, at)),
            _ => {
                let found = &mut self.found;
                spots::cookies(self.text, at, &mut |from, to| found.push(Found::of(SECRET, from, to)));
                return;
            }
        };
        if let Some((from, to)) = found {
            self.found.push(Found::of(kind, from, to));
        }
    }

    fn shape(&mut self, anchor: usize, number: u16) {
        let Some(shape) = tables::shape(number) else { return };
        let Some(pattern) = shape.pattern().filter(|pattern| pattern.core || !self.rules.core_only) else {
            return;
        };
        let Some(begin) = anchor.checked_sub(shape.lead.into()) else { return };
        // In base64 a short beginning stands by chance.
        let by_chance = |at: Option<usize>| {
            let byte = at.and_then(|at| self.text.get(at)).copied().unwrap_or(b' ');
            // A `_` and a `/` do not stand in the same alphabet.
            shape.is_short && (byte == b'-' || (matches!(byte, b'+' | b'/') && !shape.is_parted()))
        };
        if by_chance(begin.checked_sub(1)) {
            return;
        }
        if shape.is_brief_word() && self.is_in_web_path(begin) {
            return;
        }
        let Some((from, to)) = self.fit(shape, pattern, begin) else { return };
        let rest = self.text.get(to..).unwrap_or_default();
        let behind = rest.first().copied().unwrap_or(b' ');
        // `…==` ends a token whatever is glued to it, and so does the beginning of the next one.
        let is_ended = self.text.get(to - 1) == Some(&b'=') || shape.begins(rest);
        if !is_ended
            && (behind.is_ascii_alphanumeric()
                || (shape.is_short && !shape.is_parted() && matches!(behind, b'+' | b'/')))
        {
            return;
        }
        if !pattern.core && values::goes_on_as_none(rest) {
            return;
        }
        // `video.ico-7a388b.png`: a digest in the name of a picture.
        if behind == b'.' && values::is_picture(self.text.get(to + 1..).unwrap_or_default()) {
            return;
        }
        // In the middle of a word only what no name looks like: `_ghp_…_`, `[31mghp_…`.
        let apart = (self.begins_word(begin) || (self.shaped.0..=self.shaped.1).contains(&begin))
            && (is_ended || behind != b'_');
        let glued = begin > 0 && self.text.get(begin - 1).is_some_and(u8::is_ascii_alphanumeric);
        if glued && !apart && !self.behind_colour(begin) {
            return;
        }
        if !apart && (shape.is_short || !values::is_random(self.text.get(from..to).unwrap_or_default(), true))
        {
            return;
        }
        if pattern.mark.as_str() == "JWT" && self.is_broken_web_token(from, to) {
            return;
        }
        self.shaped = (from, to);
        if !self.is_kept(from, to) {
            self.found.push(Found::shaped(pattern, SHAPED, from, to));
        }
    }

    /// Whether what this token says is an object of JSON, and its head is none: nobody takes such a one.
    fn is_broken_web_token(&self, from: usize, to: usize) -> bool {
        const LONGEST: usize = 16 * 1024;
        let token = self.text.get(from..to.min(from + LONGEST)).unwrap_or_default();
        let mut parts = token.split(|byte| *byte == b'.').map(values::from_base64);
        let is_object = |part: Option<Option<Vec<u8>>>| {
            part.flatten().is_some_and(|part| {
                part.starts_with(b"{")
                    && part.trim_ascii_end().ends_with(b"}")
                    && std::str::from_utf8(&part).is_ok()
            })
        };
        let head = is_object(parts.next());
        !head && is_object(parts.next())
    }

    /// Whether this is a part of the path of a web page: `https://acme.site/API-8F3C…`. Behind a `?` it would be given to somebody.
    fn is_in_web_path(&self, at: usize) -> bool {
        const NEAR: usize = 256;
        let before = self.text.get(at.saturating_sub(NEAR)..at).unwrap_or_default();
        let word =
            before.rsplit(|byte| byte.is_ascii_whitespace() || *byte == b'"').next().unwrap_or_default();
        word.ends_with(b"/") && memmem::find(word, b"://").is_some_and(|sign| sign + 3 < word.len())
    }

    /// Whether this is a key of a manual, and those stay.
    fn is_kept(&self, from: usize, to: usize) -> bool {
        self.rules.keep_examples && tables::is_example(self.text.get(from..to).unwrap_or_default())
    }

    /// Whether no word goes on here: `risk-…` holds no `sk-…`. The letter of `\n` is not a word.
    fn begins_word(&self, at: usize) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let before =
            |back: usize| at.checked_sub(back).and_then(|at| self.text.get(at)).copied().unwrap_or(b' ');
        !self.text.get(at).copied().is_some_and(is_word)
            || !is_word(before(1))
            || (before(2) == b'\\'
                && matches!(before(1), b'n' | b't' | b'r' | b'b' | b'f' | b'v' | b'a' | b'0' | b'e'))
    }

    /// Whether the rest of a colour's code stands before: `[31m`, `[0;1m`.
    fn behind_colour(&self, at: usize) -> bool {
        let before = self.text.get(at.saturating_sub(12)..at).unwrap_or_default();
        let Some(code) = before.strip_suffix(b"m") else { return false };
        let digits = code.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        code.get(..code.len() - digits).is_some_and(|code| code.ends_with(b"["))
    }

    /// Whether a shape fits from here on. Returns what of it is secret.
    fn fit(&mut self, shape: &Shape, pattern: &Pattern, begin: usize) -> Option<(usize, usize)> {
        let steps = shape.steps();
        let (mut at, mut from) = (begin, begin);
        let mut parts = [(0, 0); 8];
        let mut part = 0;
        for (number, step) in steps.iter().enumerate() {
            if number == usize::from(shape.kept) {
                from = at;
            }
            match *step {
                Step::Literal(text) => {
                    let text = text.as_str().as_bytes();
                    if !self.text.get(at..)?.starts_with(text) {
                        return None;
                    }
                    at += text.len();
                }
                Step::Class(class, min, max) => {
                    let length = self.run(class, at) - at;
                    let is_last = number + 1 == steps.len();
                    let goes_on = is_last && length > max.into();
                    let is_next =
                        || self.text.get(at + usize::from(max)..).is_some_and(|rest| shape.begins(rest));
                    if length < min.into() || (goes_on && !is_next()) {
                        return None;
                    }
                    let length = length.min(max.into());
                    if let Some(slot) = parts.get_mut(part) {
                        *slot = (at, at + length);
                        part += 1;
                    }
                    at += length;
                }
            }
        }
        // Its beginning says enough of a long one.
        let bytes = || {
            let parts = parts.iter().take(part);
            parts.flat_map(|(from, to)| self.text.get(*from..*to).unwrap_or_default()).take(ENOUGH)
        };
        let any = |fits: fn(&u8) -> bool| bytes().any(fits);
        let satisfied = pattern.is_satisfied_by(
            any(u8::is_ascii_digit),
            any(u8::is_ascii_lowercase),
            any(u8::is_ascii_uppercase),
        );
        if !satisfied && !values::is_mixed(bytes().copied()) {
            return None;
        }
        // `sk-AAAA…`: nobody is given a token of one letter.
        if bytes().nth(15).is_some() && bytes().next().is_some_and(|first| bytes().all(|byte| byte == first))
        {
            return None;
        }
        // What its makers print in manuals is no finding, unless they are among those that are looked for in any case.
        if !pattern.core || pattern.entropy > 0 {
            let bytes: Vec<u8> = bytes().copied().collect();
            let made_up = |bytes: &[u8]| {
                (values::is_camel(bytes) && !shape.is_named())
                    || values::is_sequence(bytes)
                    || (bytes.len() >= 16 && values::is_filled(bytes))
            };
            let made_up = |bytes: &[u8]| !shape.is_intricate() && made_up(bytes);
            let random = || values::entropy(&bytes) * 100.0 >= f32::from(pattern.entropy);
            if (!pattern.core && made_up(&bytes)) || (pattern.entropy > 0 && !random()) {
                return None;
            }
        }
        Some((from, at))
    }

    /// The end of the run of a class that begins here.
    fn run(&mut self, number: u8, at: usize) -> usize {
        let known = self.runs.get(usize::from(number)).copied().unwrap_or_default();
        if (known.0..known.1).contains(&at) {
            return known.1;
        }
        let class = tables::class(number);
        let rest = self.text.get(at..).unwrap_or_default();
        let end = at + rest.iter().take_while(|byte| tables::holds(&class, **byte)).count();
        if let Some(known) = self.runs.get_mut(usize::from(number)) {
            *known = (at, end);
        }
        end
    }

    /// Whether the value of a name that holds a maker's is one of the maker's secrets.
    fn near(&mut self, found: &Assignment) -> Option<Found> {
        const SHORTEST: usize = 16;
        let (value, end) = found.value;
        let text = self.text;
        let short = text.get(value..end.min(value + ENOUGH))?;
        let plain = !values::has_digit(short) && !short.iter().any(u8::is_ascii_uppercase);
        if end - value < SHORTEST || plain || values::is_reference(text.get(value..end)?) {
            return None;
        }
        let plain = names::Plain::of(text.get(self.with_words_before(found)..found.name.1)?);
        tables::near(plain.bytes()).find_map(|pattern| {
            let mut fits = pattern.shapes().iter().filter_map(|shape| self.fit(shape, pattern, value));
            let (from, to) = fits.find(|(_, to)| *to == end)?;
            Some(Found::shaped(pattern, NEAR, from, to))
        })
    }

    /// `the acme token is …`, `acme.Client("…")`: the maker may stand in the words before the name. Where they begin.
    fn with_words_before(&self, found: &Assignment) -> usize {
        const NEAR: usize = 32;
        let from = found.name.0;
        if !matches!(found.form, Form::Yaml | Form::Line | Form::Loose | Form::Beside) {
            return from;
        }
        let words = self.text.get(from.saturating_sub(NEAR)..from).unwrap_or_default();
        let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b'.');
        from - words.iter().rev().take_while(is_word).count()
    }

    fn name(&mut self, from: usize, length: usize) {
        if from < self.named {
            return;
        }
        // `pw=` is found with its sign: without one it is too short to look for.
        let word = self.text.get(from..from + length).unwrap_or_default();
        let length = length - usize::from(word.ends_with(b":") || word.ends_with(b"="));
        let (begin, end) = forms::name_around(self.text, from, from + length);
        self.named = end;
        let name = self.text.get(begin..end).unwrap_or_default();
        if names::is_header(name) {
            if let Some((from, to)) = names::header(self.text, end) {
                self.found.push(Found::of(AUTHORIZATION, from, to));
            }
            return;
        }
        if begin >= self.tabled
            && let Some(table) = spots::table(self.text, begin, end)
        {
            self.tabled = table.end;
            self.found.extend(
                table.found.iter().map(|(from, to, telling)| Found::of((*telling).into(), *from, *to)),
            );
        }
        if let Some(value) = forms::value_before(self.text, begin) {
            self.judge(&Assignment { name: (begin, end), value, form: Form::Quoted });
        }
        if let Some(value) = forms::compared_before(self.text, begin) {
            self.judge(&Assignment { name: (begin, end), value, form: Form::Loose });
        }
        if let Some(found) = forms::assignment(self.text, begin, end, &mut self.values) {
            self.judge(&found);
            if let Some(value) = forms::behind_change(self.text, found.value.1, &mut self.values) {
                self.judge(&Assignment { value, ..found });
            }
        }
    }

    /// Hides the value where it is a secret. Where so many values lie in values that there is no time left to look at each, all that are
    /// called secret are hidden.
    fn judge(&mut self, found: &Assignment) {
        let (from, to) = found.value;
        let looked_at = (to - from).min(forms::LONGEST_VALUE);
        let Some(left) = self.effort.checked_sub(looked_at) else {
            let name = self.text.get(found.name.0..found.name.1).unwrap_or_default();
            if let Some(telling) = names::telling(name).filter(|telling| *telling != Telling::Weak) {
                self.found.push(Found::of(telling.into(), from, to));
            }
            return;
        };
        self.effort = left;
        let Rules { every_assignment, entropy, .. } = *self.rules;
        // A badge's token shows a badge.
        let badge = self.text.get(..found.name.0).is_some_and(|before| before.ends_with(b".svg?"));
        let secret = self.near(found).or_else(|| {
            let named = Assignment { name: self.whole_name(found), ..*found };
            // `CREATE USER x PASSWORD '…'` is a form of its own, which leaves no doubt.
            let named = match found.form {
                Form::Beside if spots::is_of_a_user(self.text, found.name.0) => {
                    Assignment { form: Form::Tight, ..named }
                }
                _ => named,
            };
            let telling = values::secret(self.text, &named, every_assignment, entropy)?;
            (!badge).then(|| Found::of(telling.into(), from, to))
        });
        if let Some(secret) = secret.filter(|secret| !self.is_kept(secret.from, secret.to)) {
            self.found.push(secret);
        }
    }

    /// `Secret key: …`, `the page token is …`: the word before belongs to the name, where people write rather than programs.
    fn whole_name(&self, found: &Assignment) -> (usize, usize) {
        let (from, to) = found.name;
        if !matches!(found.form, Form::Yaml | Form::Line | Form::Loose | Form::Beside) {
            return (from, to);
        }
        // A name that says enough is only a part of one that says that it is none.
        let whole = self.with_word_before(found);
        let telling = |(from, to)| self.text.get(from..to).and_then(names::telling);
        match telling(found.name) {
            Some(Telling::Password | Telling::Secret) if telling(whole).is_some() => (from, to),
            _ => whole,
        }
    }

    fn with_word_before(&self, found: &Assignment) -> (usize, usize) {
        let (from, to) = found.name;
        let before = self.text.get(from.saturating_sub(24)..from).unwrap_or_default();
        match before.strip_suffix(b" ") {
            Some(before) => {
                let word = before.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
                (from - if word > 0 { word + 1 } else { 0 }, to)
            }
            None => (from, to),
        }
    }

    fn private_key(&mut self, from: usize) {
        if from < self.keyed {
            return;
        }
        // A text full of beginnings must not be searched to its end from each of them.
        let near = from + pem::LONGEST.min(self.text.len().saturating_sub(from));
        let searched = from.max(self.no_end.min(near));
        let end = self.text.get(searched..near).and_then(|rest| {
            [&b"-----END"[..], b"---- END"].iter().filter_map(|end| memmem::find(rest, end)).min()
        });
        if end.is_none() {
            self.no_end = near;
        }
        if let Some(to) = pem::block(self.text, from, end.map(|end| searched + end)) {
            self.found.push(Found::of(PRIVATE_KEY, from, to));
            self.keyed = to;
        }
    }

    fn rest_of_private_key(&mut self, end_line: usize) {
        if end_line >= self.keyed
            && let Some((from, to)) = pem::headless(self.text, end_line, self.keyed)
        {
            self.found.push(Found::of(PRIVATE_KEY, from, to));
            self.keyed = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_findings_are_merged() {
        let found = |kind: SecretKind, from, to| Found::of(kind, from, to);
        let all = apart(vec![
            found(EMAIL, 3, 9),
            found(URL_PASSWORD, 0, 5),
            found(SECRET, 20, 30),
            found(RANDOM, 20, 30),
        ]);
        let brief: Vec<_> = all.iter().map(|found| (found.from, found.to, found.pattern)).collect();
        assert_eq!(brief, [(0, 5, "url-password"), (20, 30, "secret")]);
    }

    #[test]
    fn what_says_itself_that_it_is_nobodys_stays() {
        let key = |body: &str| {
            let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} PRIVATE {}-----", "KEY"));
            format!("{begin}\n{body}\n{end}")
        };
        for text in [
            "nonMatchingToken := \"dn4uay319f1ona8f\"".to_owned(),
            "fake_api_key = \"Bc4UcqgG6mG5ARxNAOH7TV2C\"".to_owned(),
            "key_down_event=3xmbkVaUxT2e_mNd.431k-SrdfylJt".to_owned(),
            format!("stability_key = sk-{}", "A".repeat(48)),
            key("anything"),
            "postgres://app:hunter2@h/main postgres://user:password@db/main".to_owned(),
        ] {
            assert_eq!(find(text.as_bytes(), &Rules::default()), [], "{text}");
        }
        for text in [
            "matchingToken := \"dn4uay319f1ona8f\"".to_owned(),
            "api_key = \"Bc4UcqgG6mG5ARxNAOH7TV2C\"".to_owned(),
            format!("stability_key = sk-{}", "A1b2".repeat(12)),
            key("MIIE"),
            "postgres://app:Kq7zt2mP@db/main".to_owned(),
        ] {
            assert_eq!(find(text.as_bytes(), &Rules::default()).len(), 1, "{text}");
        }
    }
}
