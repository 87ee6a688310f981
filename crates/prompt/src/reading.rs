//! What each sentence of a text states, and whether it could go if it stood alone.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::RuleKind;
use crate::fate::{Fate, Why};
use crate::inventory::{Inventory, Seen, Surroundings};
use crate::markdown::{Outline, Sentence};

/// A text, its structure, and what the inventory knows of its parts.
pub(super) struct Reading<'a> {
    pub(super) text: &'a str,
    pub(super) outline: &'a Outline,
    pub(super) inventory: &'a Inventory,
    /// The entries that each sentence states.
    pub(super) stated: Vec<BTreeSet<usize>>,
    /// The same for tables.
    pub(super) tables: Vec<BTreeSet<usize>>,
    /// Each heading alone.
    headings: Vec<Seen>,
    /// Each heading with those in rank above it.
    above: Vec<Seen>,
    sentences: Vec<Seen>,
    nothing: Seen,
}

impl<'a> Reading<'a> {
    pub(super) fn new(text: &'a str, outline: &'a Outline, inventory: &'a Inventory) -> Reading<'a> {
        let see = |span: &Range<usize>| inventory.see(text.get(span.clone()).unwrap_or_default());
        let mut above: Vec<Seen> = Vec::new();
        for heading in &outline.headings {
            let rank = heading.above.and_then(|number| above.get(number));
            above.push(see(&heading.lines).below(rank));
        }
        let mut reading = Reading {
            text,
            outline,
            inventory,
            stated: Vec::new(),
            tables: Vec::new(),
            headings: outline.headings.iter().map(|heading| see(&heading.lines)).collect(),
            above,
            sentences: outline.sentences.iter().map(|sentence| see(&sentence.span)).collect(),
            nothing: Seen::default(),
        };
        for (number, seen) in reading.sentences.iter().enumerate() {
            let mut stated = inventory.stated(seen, &reading.around(number));
            if stated.is_empty() && inventory.says_nothing(seen) {
                let before = reading.before(number).and_then(|before| reading.stated.get(before));
                stated = before.cloned().unwrap_or_default();
            }
            reading.stated.push(stated);
        }
        let tables = outline.tables.iter().map(|table| {
            let heading = table.section.and_then(|section| reading.above.get(section));
            let around = reading.surroundings(heading, None, None);
            inventory.stated(&see(&table.lines), &around)
        });
        reading.tables = tables.collect();
        reading
    }

    pub(super) fn sentence(&self, number: usize) -> Option<&Sentence> {
        self.outline.sentences.get(number)
    }

    pub(super) fn words(&self, sentence: &Sentence) -> &'a str {
        self.text.get(sentence.span.clone()).unwrap_or_default()
    }

    /// What becomes of a sentence as far as it goes by itself.
    pub(super) fn alone(&self, number: usize, reminders: &BTreeSet<&str>) -> Fate {
        let (Some(sentence), Some(seen), Some(stated)) =
            (self.sentence(number), self.sentences.get(number), self.stated.get(number))
        else {
            return Fate::Stays(Why::Unknown);
        };
        let guides = |entry: &usize| {
            self.inventory.entry(*entry).is_some_and(|entry| entry.kind == RuleKind::Guidance)
        };
        if reminders.contains(self.words(sentence)) {
            return Fate::Stays(Why::Reminder);
        }
        if stated.iter().any(guides) {
            return Fate::Stays(Why::Guidance);
        }
        if self.is_lead(sentence) {
            let mut explained = self.below(sentence);
            let goes = !sentence.pinned && !explained.is_empty();
            explained.extend(stated);
            return if goes && self.inventory.is_label(seen, &explained) {
                Fate::Goes
            } else {
                Fate::Stays(Why::Unknown)
            };
        }
        if stated.is_empty() {
            return Fate::Stays(Why::Unknown);
        }
        let more = self.inventory.unexplained(seen, stated, !self.takes_reminder(number));
        if !more.is_empty() {
            return Fate::Stays(Why::More(more.into_iter().map(|word| word.written.clone()).collect()));
        }
        if sentence.pinned || self.ends_in_colon(sentence) {
            return Fate::Stays(Why::LeantOn);
        }
        if self.refers_back(number) && !self.continues(number) {
            return Fate::Stays(Why::Refers);
        }
        Fate::Goes
    }

    /// Whether a sentence does nothing but lead into a list.
    pub(super) fn is_lead(&self, sentence: &Sentence) -> bool {
        sentence.leads.is_some() && self.ends_in_colon(sentence)
    }

    fn ends_in_colon(&self, sentence: &Sentence) -> bool {
        self.words(sentence).trim_end_matches(['*', '_']).ends_with(':')
    }

    /// What the items that a sentence leads into state.
    fn below(&self, sentence: &Sentence) -> BTreeSet<usize> {
        let list = sentence.leads.and_then(|list| self.outline.lists.get(list));
        let blocks = list.into_iter().flat_map(|list| &list.blocks);
        let sentences =
            blocks.filter_map(|block| self.outline.blocks.get(*block)).map(|block| &block.sentences);
        sentences
            .flat_map(|numbers| self.stated.get(numbers.clone()).unwrap_or_default())
            .flatten()
            .copied()
            .collect()
    }

    /// Whether a sentence begins with a word that points at the one before it.
    pub(super) fn refers_back(&self, number: usize) -> bool {
        self.sentences.get(number).is_some_and(|seen| self.inventory.refers_back(seen))
    }

    /// Whether a sentence goes on with the rule of the one before it, in the same block.
    fn continues(&self, number: usize) -> bool {
        let policies = |number: usize| -> BTreeSet<&str> {
            let entries = self.stated.get(number).into_iter().flatten();
            entries.filter_map(|entry| self.inventory.entry(*entry)?.policy.as_deref()).collect()
        };
        self.before(number).is_some_and(|before| !policies(before).is_disjoint(&policies(number)))
    }

    /// The sentence before, in the same block.
    pub(super) fn before(&self, number: usize) -> Option<usize> {
        let block = self.outline.blocks.get(self.sentence(number)?.block)?;
        number.checked_sub(1).filter(|before| *before >= block.sentences.start)
    }

    /// Whether a short form could stand in the place of a sentence: not under "you may not:".
    pub(super) fn takes_reminder(&self, number: usize) -> bool {
        let around = self.around(number);
        !self.inventory.negates(around.heading) && !self.inventory.negates(around.lead)
    }

    /// Whether a heading would not be missed once everything below it, which states these, is gone.
    pub(super) fn is_label(&self, heading: usize, stated: &BTreeSet<usize>) -> bool {
        self.headings.get(heading).is_some_and(|seen| self.inventory.is_label(seen, stated))
    }

    fn around(&self, number: usize) -> Surroundings<'_> {
        let block = self.sentence(number).and_then(|sentence| self.outline.blocks.get(sentence.block));
        let heading = block.and_then(|block| self.above.get(block.section?));
        let lead = block.and_then(|block| self.sentences.get(self.outline.lists.get(block.list?)?.lead?));
        let before = self.before(number).and_then(|before| self.sentences.get(before));
        self.surroundings(heading, lead, before)
    }

    fn surroundings<'s>(
        &'s self,
        heading: Option<&'s Seen>,
        lead: Option<&'s Seen>,
        before: Option<&'s Seen>,
    ) -> Surroundings<'s> {
        let or_nothing = |seen: Option<&'s Seen>| seen.unwrap_or(&self.nothing);
        Surroundings { heading: or_nothing(heading), lead: or_nothing(lead), before: or_nothing(before) }
    }
}
