//! What is known of the rules that prompts state: `inventory.toml`, read and made ready for the search.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::markdown::split;
use crate::words::{Word, stems, words};

const SOURCE: &str = include_str!("inventory.toml");

/// What becomes of a rule in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleKind {
    /// toolgate enforces it: it can leave the prompt.
    Enforced,
    /// toolgate enforces it, and the model does better if it knows: a short form stays.
    Hybrid,
    /// It shapes how the model thinks; no tool call shows it. It stays.
    Guidance,
}

impl RuleKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            RuleKind::Enforced => "enforced",
            RuleKind::Hybrid => "hybrid",
            RuleKind::Guidance => "guidance",
        }
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    common: String,
    label: String,
    refers: String,
    acts: String,
    not: String,
    voids: String,
    entry: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    kind: RuleKind,
    policy: Option<String>,
    about: String,
    #[serde(default)]
    forms: Vec<String>,
    /// The entry with which it is stated, where it has no forms of its own.
    of: Option<String>,
    #[serde(default)]
    knows: String,
    phrases: Option<String>,
    keep: Option<String>,
}

/// One rule that prompts state.
#[derive(Debug)]
pub struct KnownRule {
    /// Its number in the inventory.
    pub id: String,
    /// What becomes of it.
    pub kind: RuleKind,
    /// The policy that enforces it; none for guidance.
    pub policy: Option<String>,
    /// What it says.
    pub about: String,
    /// What stays in its place, where it is hybrid.
    pub keep: Option<String>,
    /// Each form is groups that must all be there.
    forms: Vec<Vec<Group>>,
    /// The entry with which it is stated.
    of: Option<usize>,
    /// Words that may stand in a sentence that says this and nothing else.
    knows: BTreeSet<String>,
    /// Phrases that may stand there, by number.
    phrases: Vec<usize>,
}

impl KnownRule {
    /// The sentences of what stays.
    pub(super) fn kept(&self) -> impl Iterator<Item = &str> {
        self.keep.iter().flat_map(|keep| split(keep).into_iter().filter_map(|span| keep.get(span)))
    }

    /// The clauses that state the rule in a form that forbids nothing.
    fn ruled(&self, text: &Seen) -> BTreeSet<usize> {
        let mut ruled = BTreeSet::new();
        for form in self.forms.iter().filter(|form| form.iter().all(|group| group.sense != Sense::Forbidden))
        {
            let mut said = form.iter().filter(|group| group.sense == Sense::Said);
            let clauses = |group: &Group| text.clauses(&group.phrases).collect::<BTreeSet<_>>();
            if let Some(first) = said.next() {
                ruled.extend(said.fold(clauses(first), |all, group| &all & &clauses(group)));
            }
        }
        ruled
    }
}

/// Phrases of which one must be there.
#[derive(Debug)]
struct Group {
    phrases: Vec<usize>,
    sense: Sense,
}

/// How a group must be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    /// In the sentence itself.
    Said,
    /// There, and forbidden.
    Forbidden,
    /// In the sentence or around it: in its heading, in the line that leads into its list, in the sentence before.
    Around,
}

/// All that is known, ready for the search.
#[derive(Debug)]
pub struct Inventory {
    entries: Vec<KnownRule>,
    common: BTreeSet<String>,
    label: BTreeSet<String>,
    refers: BTreeSet<String>,
    acts: BTreeSet<String>,
    phrases: Phrases,
    /// The entries that want a phrase in the sentence itself, by phrase: of the others there is nothing to ask.
    asked: BTreeMap<usize, BTreeSet<usize>>,
    not: Vec<usize>,
    voids: Vec<usize>,
}

/// Phrases by their first word, so that a text is gone through once.
#[derive(Debug, Default)]
struct Phrases {
    by_first: BTreeMap<String, Vec<(usize, Vec<String>)>>,
    /// How many words each has.
    lengths: Vec<usize>,
}

/// The words of a text and the phrases that occur in it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    words: Vec<Word>,
    /// Each with the number of its first word.
    phrases: BTreeSet<(usize, usize)>,
}

impl Seen {
    /// The clauses that one of these phrases begins in.
    fn clauses(&self, phrases: &[usize]) -> impl Iterator<Item = usize> {
        let of = |phrase: &usize| self.phrases.range((*phrase, 0)..=(*phrase, usize::MAX));
        phrases.iter().flat_map(of).map(|(_, first)| self.words.get(*first).map_or(0, |word| word.clause))
    }

    fn has(&self, phrases: &[usize]) -> bool {
        self.clauses(phrases).next().is_some()
    }

    /// What stands above a section: the phrases of its heading and of those in rank above it.
    pub(super) fn below(mut self, above: Option<&Seen>) -> Seen {
        self.words.clear();
        self.phrases.extend(above.into_iter().flat_map(|seen| &seen.phrases));
        self
    }
}

/// What stands around a sentence.
pub(super) struct Surroundings<'a> {
    pub(super) heading: &'a Seen,
    pub(super) lead: &'a Seen,
    pub(super) before: &'a Seen,
}

impl Inventory {
    /// The inventory that is shipped.
    pub fn shipped() -> Result<Inventory, String> {
        Inventory::read(SOURCE)
    }

    fn read(text: &str) -> Result<Inventory, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut phrases = Phrases::default();
        let mut entries = Vec::new();
        let mut asked: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for written in file.entry {
            let knows: BTreeSet<String> = stems(&written.knows).into_iter().collect();
            let mut forms = Vec::new();
            for form in &written.forms {
                let mut groups = Vec::new();
                for group in form.split(" & ") {
                    groups.push(phrases.group(group.trim())?);
                }
                let own = |group: &&Group| group.sense != Sense::Around;
                let Some(own) = groups.iter().find(own) else {
                    return Err(format!("`{form}` asks for nothing in the sentence itself"));
                };
                for phrase in &own.phrases {
                    asked.entry(*phrase).or_default().insert(entries.len());
                }
                forms.push(groups);
            }
            let may_stand = match &written.phrases {
                Some(written) => phrases.group(written)?.phrases,
                None => Vec::new(),
            };
            let told = match written.kind {
                RuleKind::Enforced => written.policy.is_some() && written.keep.is_none(),
                RuleKind::Hybrid => written.policy.is_some() && written.keep.is_some(),
                RuleKind::Guidance => written.policy.is_none() && written.keep.is_none(),
            };
            let of = written.of.as_ref();
            let of = of
                .map(|id| entries.iter().position(|entry: &KnownRule| entry.id == *id).ok_or(id))
                .transpose();
            let of = of.map_err(|id| format!("there is no entry `{id}` above `{}`", written.id))?;
            if !told || (forms.is_empty() && of.is_none()) {
                return Err(format!("entry `{}` says too much or too little for its kind", written.id));
            }
            entries.push(KnownRule {
                id: written.id,
                kind: written.kind,
                policy: written.policy,
                about: written.about,
                keep: written.keep,
                forms,
                of,
                knows,
                phrases: may_stand,
            });
        }
        let not = phrases.group(&file.not)?.phrases;
        let voids = phrases.group(&file.voids)?.phrases;
        let set = |text: &str| stems(text).into_iter().collect();
        Ok(Inventory {
            entries,
            common: set(&file.common),
            label: set(&file.label),
            refers: set(&file.refers),
            acts: set(&file.acts),
            phrases,
            asked,
            not,
            voids,
        })
    }

    /// Every entry, in the file's order.
    pub fn entries(&self) -> &[KnownRule] {
        &self.entries
    }

    pub(super) fn entry(&self, number: usize) -> Option<&KnownRule> {
        self.entries.get(number)
    }

    pub(super) fn see(&self, text: &str) -> Seen {
        let words = words(text);
        let phrases = self.phrases.within(&words);
        Seen { words, phrases }
    }

    /// The numbers of the entries that a text states, where it stands.
    pub(super) fn stated(&self, text: &Seen, around: &Surroundings<'_>) -> BTreeSet<usize> {
        let mut stated = BTreeSet::new();
        if text.has(&self.voids) {
            return stated;
        }
        let near: BTreeSet<_> =
            text.phrases.iter().filter_map(|(phrase, _)| self.asked.get(phrase)).flatten().collect();
        for (number, entry) in self.entries.iter().enumerate() {
            if entry.of.is_some_and(|of| stated.contains(&of))
                || (near.contains(&number)
                    && entry.forms.iter().any(|form| self.is_said(form, entry.kind, text, around)))
            {
                stated.insert(number);
            }
        }
        stated
    }

    /// Whether all groups of a form are there, in the sense that it wants.
    fn is_said(&self, form: &[Group], kind: RuleKind, text: &Seen, around: &Surroundings<'_>) -> bool {
        let above = |phrases: &[usize]| around.heading.has(phrases) || around.lead.has(phrases);
        let negated: BTreeSet<usize> = text.clauses(&self.not).collect();
        let forbids = form.iter().any(|group| group.sense == Sense::Forbidden);
        // Guidance may be put either way. A rule that is said under "you may not" is meant the other way round.
        let either_way = forbids || kind == RuleKind::Guidance;
        if !either_way && above(&self.not) {
            return false;
        }
        form.iter().all(|group| {
            let mut clauses = text.clauses(&group.phrases).peekable();
            match group.sense {
                Sense::Around => {
                    clauses.peek().is_some() || above(&group.phrases) || around.before.has(&group.phrases)
                }
                Sense::Said if either_way => clauses.peek().is_some(),
                // "Never redact" is not "redact".
                Sense::Said => clauses.peek().is_some() && clauses.all(|clause| !negated.contains(&clause)),
                // "Write to the file, never to the inbox" does not forbid to write to the file.
                Sense::Forbidden if !negated.is_empty() => {
                    clauses.peek().is_some() && clauses.all(|clause| negated.contains(&clause))
                }
                Sense::Forbidden => clauses.peek().is_some() && above(&self.not),
            }
        })
    }

    /// The words of a text that none of these entries explains. A sentence without any says nothing else. Where what
    /// stands above it forbids what it says, that counts as its own "not".
    pub(super) fn unexplained<'a>(
        &self,
        text: &'a Seen,
        entries: &BTreeSet<usize>,
        forbidden_above: bool,
    ) -> Vec<&'a Word> {
        let entries: Vec<&KnownRule> = entries.iter().filter_map(|entry| self.entries.get(*entry)).collect();
        let negated: BTreeSet<usize> = text.clauses(&self.not).collect();
        let ruled: BTreeSet<usize> = entries.iter().flat_map(|entry| entry.ruled(text)).collect();
        let forbidden = forbidden_above && negated.is_empty();
        let by_form = self.covered(
            text,
            entries.iter().flat_map(|entry| entry.forms.iter().flatten()).flat_map(|group| &group.phrases),
        );
        let by_phrase = self.covered(text, entries.iter().flat_map(|entry| &entry.phrases));
        let explained = |number: usize, word: &Word| {
            // What is to be done, beside what is not, is a rule of its own: "never force it; push to a branch".
            let told = self.acts.contains(&word.stem)
                && !(forbidden || negated.contains(&word.clause) || ruled.contains(&word.clause));
            by_phrase.contains(&number)
                || (!told
                    && (by_form.contains(&number)
                        || self.common.contains(&word.stem)
                        || entries.iter().any(|entry| entry.knows.contains(&word.stem))))
        };
        let words = text.words.iter().enumerate();
        words.filter(|(number, word)| !explained(*number, word)).map(|(_, word)| word).collect()
    }

    /// The numbers of the words that these phrases cover.
    fn covered<'a>(&self, text: &Seen, phrases: impl Iterator<Item = &'a usize>) -> BTreeSet<usize> {
        let mut covered = BTreeSet::new();
        for phrase in phrases {
            let length = self.phrases.lengths.get(*phrase).copied().unwrap_or_default();
            let found = text.phrases.range((*phrase, 0)..=(*phrase, usize::MAX));
            covered.extend(found.flat_map(|(_, first)| *first..first + length));
        }
        covered
    }

    /// Whether a heading, or a line that leads into a list, says nothing that would be missed without what followed.
    pub(super) fn is_label(&self, text: &Seen, entries: &BTreeSet<usize>) -> bool {
        self.unexplained(text, entries, true).iter().all(|word| self.label.contains(&word.stem))
    }

    /// Whether a sentence points at the one before it, by its first word or by saying nothing of its own.
    pub(super) fn refers_back(&self, text: &Seen) -> bool {
        let first = text.words.first();
        first.is_none_or(|word| self.refers.contains(&word.stem)) || self.says_nothing(text)
    }

    /// Whether a sentence has no word of its own: "No exceptions."
    pub(super) fn says_nothing(&self, text: &Seen) -> bool {
        text.words.iter().all(|word| self.common.contains(&word.stem))
    }

    pub(super) fn negates(&self, text: &Seen) -> bool {
        text.has(&self.not)
    }
}

impl Phrases {
    /// Reads `write|edit a file`, `!write` (forbidden), `^reviewer` (may stand around the sentence).
    fn group(&mut self, written: &str) -> Result<Group, String> {
        let (sense, written) = match (written.strip_prefix('^'), written.strip_prefix('!')) {
            (Some(rest), _) => (Sense::Around, rest),
            (_, Some(rest)) => (Sense::Forbidden, rest),
            (None, None) => (Sense::Said, written),
        };
        let mut numbers = Vec::new();
        for phrase in written.split('|') {
            let stems = stems(phrase);
            let Some((first, rest)) = stems.split_first() else {
                return Err(format!("an empty phrase in `{written}`"));
            };
            numbers.push(self.number(first, rest));
        }
        Ok(Group { phrases: numbers, sense })
    }

    fn number(&mut self, first: &str, rest: &[String]) -> usize {
        let known = self.by_first.entry(first.to_owned()).or_default();
        if let Some((number, _)) = known.iter().find(|(_, there)| there == rest) {
            return *number;
        }
        let number = self.lengths.len();
        self.lengths.push(rest.len() + 1);
        known.push((number, rest.to_vec()));
        number
    }

    fn within(&self, words: &[Word]) -> BTreeSet<(usize, usize)> {
        let mut found = BTreeSet::new();
        for (number, first) in words.iter().enumerate() {
            let rest = words.get(number + 1..).unwrap_or_default();
            let follows = |after: &[String]| {
                after.len() <= rest.len()
                    && after
                        .iter()
                        .zip(rest)
                        .all(|(wanted, word)| *wanted == word.stem && word.clause == first.clause)
            };
            let begun = self.by_first.get(&first.stem).into_iter().flatten();
            found.extend(begun.filter(|(_, after)| follows(after)).map(|(phrase, _)| (*phrase, number)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_inventory_holds_every_rule_once() {
        let inventory = Inventory::shipped().unwrap();
        let ids: BTreeSet<_> = inventory.entries().iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids.len(), inventory.entries().len(), "an id stands there twice");
        let wanted = [("P", 18), ("B", 17), ("H", 5)];
        for id in wanted.iter().flat_map(|(kind, last)| (1..=*last).map(move |n| format!("{kind}{n}"))) {
            assert!(ids.contains(id.as_str()), "{id} is missing");
        }
    }

    #[test]
    fn an_entry_without_what_its_kind_needs_is_refused() {
        let file = |entry: &str| {
            format!(
                "common = ''\nlabel = ''\nrefers = ''\nacts = ''\nvoids = 'not only'\nnot = 'not'\n[[entry]]\n{entry}"
            )
        };
        let read = |entry: &str| Inventory::read(&file(entry)).map(|_| ());
        assert_eq!(read("id = 'a'\nkind = 'guidance'\nabout = ''\nforms = ['x & y|z']"), Ok(()));
        for wrong in [
            "id = 'a'\nkind = 'enforced'\nabout = ''\nforms = ['x']",
            "id = 'a'\nkind = 'hybrid'\npolicy = 'p'\nabout = ''\nforms = ['x']",
            "id = 'a'\nkind = 'guidance'\nkeep = 'k'\nabout = ''\nforms = ['x']",
            "id = 'a'\nkind = 'guidance'\nabout = ''\nforms = []",
            "id = 'a'\nkind = 'guidance'\nabout = ''\nforms = ['x|']",
            "id = 'a'\nkind = 'guidance'\nabout = ''\nforms = ['^x']",
            "id = 'a'\nkind = 'guidance'\nabout = ''\nof = 'b'",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
