//! What becomes of each sentence.
//!
//! A sentence that could go stays all the same where something that stays leans on it: a list that it leads into, a
//! sentence behind it that begins with "they". So everything begins as going that may, and each sentence that stays
//! keeps what it leans on. What is decided on a text holds for the shortened text too: there is nothing more to cut in it.

use std::collections::BTreeSet;

use crate::inventory::KnownRule;
use crate::reading::Reading;
use crate::{Finding, Outcome, RuleKind};

/// What becomes of everything in a text.
pub(super) struct Fates {
    pub(super) sentences: Vec<Fate>,
    /// Whether each heading goes.
    pub(super) headings: Vec<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Stays(Why),
    Goes,
    /// The short form of a rule stands in its place.
    Reminds(String),
}

/// Why a sentence stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// It states no rule that is known.
    Unknown,
    Guidance,
    /// It is what stays of a rule.
    Reminder,
    /// It says more than the rule: these words.
    More(Vec<String>),
    /// It begins with a word that points at something that stays.
    Refers,
    /// Something that stays leans on it.
    LeantOn,
    /// Its short form would be no shorter, or would not fit where it stands.
    Short,
}

impl Fates {
    pub(super) fn of(reading: &Reading<'_>) -> Fates {
        let mut deciding = Deciding::new(reading);
        deciding.settle();
        deciding.remind();
        let headings = deciding.headings();
        Fates { sentences: deciding.fates, headings }
    }

    /// The findings, in the order of the text.
    pub(super) fn findings(&self, reading: &Reading<'_>) -> Vec<Finding> {
        let (outline, entry) = (reading.outline, |number: &usize| reading.inventory.entry(*number));
        let mut places = Vec::new();
        for ((sentence, fate), stated) in outline.sentences.iter().zip(&self.sentences).zip(&reading.stated) {
            let found = match fate {
                Fate::Goes => Some((RuleKind::Enforced, Outcome::Goes)),
                Fate::Reminds(keep) => Some((RuleKind::Hybrid, Outcome::Shortened(keep.clone()))),
                Fate::Stays(why) => why.told().map(|(kind, why)| (kind, Outcome::Stays(why))),
            };
            places.extend(found.map(|(kind, outcome)| (sentence.span.clone(), kind, stated, outcome)));
        }
        let nothing = BTreeSet::new();
        let headings = outline.headings.iter().zip(&self.headings).filter(|(_, goes)| **goes);
        places.extend(
            headings.map(|(heading, _)| (heading.lines.clone(), RuleKind::Enforced, &nothing, Outcome::Goes)),
        );
        for (table, stated) in outline.tables.iter().zip(&reading.tables) {
            if stated.iter().filter_map(entry).any(|entry| entry.policy.is_some()) {
                let outcome = Outcome::Stays("a table is for looking up".to_owned());
                places.push((table.lines.clone(), RuleKind::Hybrid, stated, outcome));
            }
        }
        places.sort_by_key(|(span, ..)| span.start);
        let (mut line, mut at) = (1, 0);
        let mut findings = Vec::new();
        for (span, kind, stated, outcome) in places {
            line += reading.text.get(at..span.start).unwrap_or_default().matches('\n').count();
            at = span.start;
            let told =
                |entry: &&KnownRule| (entry.kind == RuleKind::Guidance) == (kind == RuleKind::Guidance);
            let told: Vec<_> = stated.iter().filter_map(entry).filter(told).collect();
            let policies: BTreeSet<_> = told.iter().filter_map(|entry| entry.policy.clone()).collect();
            findings.push(Finding {
                line,
                kind,
                rules: told.iter().map(|entry| entry.id.clone()).collect(),
                policies: policies.into_iter().collect(),
                outcome,
                bytes: span.len(),
                text: reading.text.get(span).unwrap_or_default().trim_end().to_owned(),
            });
        }
        findings
    }
}

impl Why {
    /// As a finding tells it; none where there is nothing to tell.
    fn told(&self) -> Option<(RuleKind, String)> {
        let hybrid = |why: &str| Some((RuleKind::Hybrid, why.to_owned()));
        match self {
            Why::Unknown => None,
            Why::Guidance => Some((RuleKind::Guidance, "shapes the model's behaviour".to_owned())),
            Why::Reminder => hybrid("is the short form"),
            Why::More(words) => Some((RuleKind::Hybrid, format!("says more: {}", words.join(", ")))),
            Why::Refers => hybrid("refers to what stays"),
            Why::LeantOn => hybrid("what stays leans on it"),
            Why::Short => hybrid("is short as it is"),
        }
    }
}

struct Deciding<'a> {
    reading: &'a Reading<'a>,
    fates: Vec<Fate>,
    /// Sentences that stay, whose ties are still to be followed.
    kept: Vec<usize>,
    /// Lists whose lead stays, still to be looked at.
    led: Vec<usize>,
}

impl<'a> Deciding<'a> {
    fn new(reading: &'a Reading<'a>) -> Deciding<'a> {
        let reminders: BTreeSet<&str> =
            reading.inventory.entries().iter().flat_map(KnownRule::kept).collect();
        let numbers = 0..reading.outline.sentences.len();
        let fates: Vec<_> = numbers.map(|number| reading.alone(number, &reminders)).collect();
        let kept = fates.iter().enumerate().filter(|(_, fate)| matches!(fate, Fate::Stays(_)));
        let kept = kept.map(|(number, _)| number).collect();
        Deciding { reading, fates, kept, led: Vec::new() }
    }

    fn goes(&self, number: usize) -> bool {
        self.fates.get(number) == Some(&Fate::Goes)
    }

    fn keep(&mut self, number: usize, why: Why) {
        if let Some(fate) = self.fates.get_mut(number)
            && !matches!(fate, Fate::Stays(_))
        {
            // What leads into a list states no rule, so there is nothing to tell.
            let states = self.reading.stated.get(number).is_some_and(|stated| !stated.is_empty());
            *fate = Fate::Stays(if states { why } else { Why::Unknown });
            self.kept.push(number);
        }
    }

    /// Keeps what leans and is leant on, until nothing more stays for it.
    fn settle(&mut self) {
        loop {
            while let Some(number) = self.kept.pop() {
                self.follow(number);
            }
            // INVARIANT: only here, when nothing else is left to follow, since one item that stays frees the others.
            let Some(list) = self.led.pop() else { break };
            let items: Vec<_> = self.items(list).collect();
            if items.iter().all(|number| self.goes(*number)) {
                for number in items {
                    self.keep(number, Why::LeantOn);
                }
            }
        }
    }

    /// The sentences of a list's items, without what is below them.
    fn items(&self, list: usize) -> impl Iterator<Item = usize> + use<'a> {
        let outline = self.reading.outline;
        let blocks = outline.lists.get(list).into_iter().flat_map(|list| &list.blocks);
        blocks.filter_map(|block| outline.blocks.get(*block)).flat_map(|block| block.sentences.clone())
    }

    /// The ties of a sentence that stays.
    fn follow(&mut self, number: usize) {
        let reading = self.reading;
        let Some(sentence) = reading.sentence(number) else { return };
        let section = |sentence: usize| {
            let block = reading.outline.blocks.get(reading.sentence(sentence)?.block)?;
            Some(block.section)
        };
        if reading.refers_back(number)
            && let Some(before) = number.checked_sub(1)
            && section(before) == section(number)
        {
            self.keep(before, Why::LeantOn);
        }
        if reading.before(number + 1) == Some(number) && reading.refers_back(number + 1) {
            self.keep(number + 1, Why::Refers);
        }
        if reading.is_lead(sentence) {
            self.led.extend(sentence.leads);
        }
        self.stand_below(number);
    }

    /// Keeps what leads to a place where something stays.
    fn stand_below(&mut self, number: usize) {
        let outline = self.reading.outline;
        let Some(sentence) = outline.sentences.get(number) else { return };
        let list = outline.blocks.get(sentence.block).and_then(|block| outline.lists.get(block.list?));
        for above in [list.and_then(|list| list.lead), sentence.inside].into_iter().flatten() {
            self.keep(above, Why::LeantOn);
        }
    }

    /// Of every hybrid rule something stays: its short form in the place of one sentence, or that sentence.
    fn remind(&mut self) {
        let inventory = self.reading.inventory;
        for (number, entry) in inventory.entries().iter().enumerate() {
            let Some(keep) = &entry.keep else { continue };
            if self.is_said(entry) {
                continue;
            }
            let states = |sentence: &usize| {
                self.goes(*sentence)
                    && self.reading.stated.get(*sentence).is_some_and(|stated| stated.contains(&number))
            };
            let going: Vec<usize> = (0..self.fates.len()).filter(states).collect();
            let length =
                |sentence: &usize| self.reading.sentence(*sentence).map_or(0, |sentence| sentence.span.len());
            let shorter = going.iter().map(length).sum::<usize>() > keep.len();
            let place = going.iter().copied().find(|sentence| shorter && self.has_room(*sentence, number));
            match (place, going.first()) {
                (Some(place), _) => {
                    if let Some(fate) = self.fates.get_mut(place) {
                        *fate = Fate::Reminds(keep.clone());
                    }
                    self.stand_below(place);
                }
                (None, Some(first)) => self.keep(*first, Why::Short),
                (None, None) => {}
            }
            self.settle();
        }
    }

    /// Whether the short form stands in the text already.
    fn is_said(&self, entry: &KnownRule) -> bool {
        let kept = || {
            self.fates
                .iter()
                .zip(&self.reading.outline.sentences)
                .filter(|(fate, _)| **fate == Fate::Stays(Why::Reminder))
        };
        entry.kept().all(|keep| kept().any(|(_, sentence)| self.reading.words(sentence) == keep))
    }

    /// Whether the short form of a rule can stand in the place of a sentence: it states no other that has one.
    fn has_room(&self, sentence: usize, entry: usize) -> bool {
        let hybrid =
            |other: &&usize| self.reading.inventory.entry(**other).is_some_and(|entry| entry.keep.is_some());
        let others = self.reading.stated.get(sentence).into_iter().flatten().filter(hybrid);
        others.copied().eq([entry]) && self.reading.takes_reminder(sentence)
    }

    /// A heading goes with the last thing below it, unless it says something itself.
    fn headings(&self) -> Vec<bool> {
        let outline = self.reading.outline;
        let mut stated: Vec<Option<BTreeSet<usize>>> = vec![Some(BTreeSet::new()); outline.headings.len()];
        let mut each_above = |section: Option<usize>, entries: Option<&BTreeSet<usize>>| {
            let mut at = section;
            while let Some(number) = at {
                if let Some(place) = stated.get_mut(number) {
                    match entries {
                        Some(entries) => {
                            if let Some(place) = place {
                                place.extend(entries);
                            }
                        }
                        None => *place = None,
                    }
                }
                at = outline.headings.get(number).and_then(|heading| heading.above);
            }
        };
        for (number, sentence) in outline.sentences.iter().enumerate() {
            let section = outline.blocks.get(sentence.block).and_then(|block| block.section);
            each_above(section, self.reading.stated.get(number).filter(|_| self.goes(number)));
        }
        // A block without sentences holds a marker and no word.
        for block in outline.blocks.iter().filter(|block| block.sentences.is_empty()) {
            each_above(block.section, None);
        }
        for section in &outline.others {
            each_above(*section, None);
        }
        let mut goes: Vec<bool> = stated
            .iter()
            .enumerate()
            .map(|(number, stated)| {
                stated
                    .as_ref()
                    .is_some_and(|stated| !stated.is_empty() && self.reading.is_label(number, stated))
            })
            .collect();
        // Those below come later; one that stays keeps those in rank above it.
        for number in (0..goes.len()).rev() {
            if goes.get(number) == Some(&false)
                && let Some(above) = outline.headings.get(number).and_then(|heading| heading.above)
                && let Some(goes) = goes.get_mut(above)
            {
                *goes = false;
            }
        }
        goes
    }
}
