//! Who may write and read which file of a squad: the table below the heading "Source of Truth".
//!
//! Its cells are prose, so they are read by their words, and only for what they plainly say. Who is named at the head of a phrase may
//! write: not who is named in a remark ("Scribe, on behalf of all agents"), not who a phrase denies it ("agent may not
//! self-modify"), and no person and no program. That all may is believed only in a cell whose every word is understood.
//! What is left is nobody.

use std::collections::{BTreeMap, BTreeSet};

use toolgate_model::{COORDINATOR, plain_name};

use super::RosterRow;
use super::markdown::{Table, sections, undressed};

/// Who may write or read a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    /// The agent that hands out work.
    Coordinator,
    /// The agent that `{name}` in the path names.
    Owner,
    /// The agent of this name, as [`plain_name`] gives it.
    Agent(String),
    /// Every agent.
    Everyone,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnershipRow {
    /// The path as the table has it: `{name}` in it stands for an agent's name, a `/` at its end for everything below.
    pub path: String,
    /// Which agents may write it; nobody where empty.
    pub write: Vec<Writer>,
    /// Whether what it holds must stay.
    pub append_only: bool,
    /// Which agents may read it; `None` where the table says nothing of reading.
    pub read: Option<Vec<Writer>>,
}

/// The rules of the first such table. Empty where there is none.
pub fn ownership(md: &str, roster: &[RosterRow]) -> Vec<OwnershipRow> {
    let names = Names::new(roster);
    let mut below = None;
    for section in sections(md) {
        if below.is_none_or(|level| section.level <= level) {
            let about = plain_name(&undressed(section.heading)).contains("source-of-truth");
            below = about.then_some(section.level);
        }
        let table = below.and_then(|_| section.tables.iter().find_map(|table| rules(table, &names)));
        if let Some(rules) = table {
            return rules;
        }
    }
    Vec::new()
}

fn rules(table: &Table, names: &Names) -> Option<Vec<OwnershipRow>> {
    let (file, write) = (table.column("file")?, table.column("who-may-write")?);
    let (status, read) = (table.column("status"), table.column("who-may-read"));
    let mut rules = Vec::new();
    for row in &table.rows {
        let paths = paths(table.cell(row, file));
        if paths.is_empty() {
            continue;
        }
        let [writers, status] =
            [Some(write), status].map(|column| column.map_or("", |at| table.cell(row, at)));
        let append_only = [status, writers].iter().any(|cell| says_append_only(cell));
        let write = names.writers_in(writers, Right::Write);
        let read = read.map(|column| names.writers_in(table.cell(row, column), Right::Read));
        for path in paths {
            // Without a name in the path nobody is its owner.
            let owned = path.contains("{name}");
            let named = |writers: &[Writer]| -> Vec<Writer> {
                writers.iter().filter(|writer| owned || **writer != Writer::Owner).cloned().collect()
            };
            let read = read.as_deref().map(named);
            rules.push(OwnershipRow { path: path.to_owned(), write: named(&write), append_only, read });
        }
    }
    Some(rules)
}

/// The paths in a cell: what stands in code, or else the words that look like paths.
fn paths(cell: &str) -> Vec<&str> {
    let code: Vec<&str> =
        cell.split('`').skip(1).step_by(2).map(str::trim).filter(|path| !path.is_empty()).collect();
    if !code.is_empty() {
        return code;
    }
    let words = cell.split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | '(' | ')' | '*'));
    words.filter(|word| word.contains(['/', '.']) && word.contains(char::is_alphanumeric)).collect()
}

fn says_append_only(cell: &str) -> bool {
    let words = cell.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut last = "";
    words.into_iter().any(|word| {
        std::mem::replace(&mut last, word).eq_ignore_ascii_case("append") && word.eq_ignore_ascii_case("only")
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    Write,
    Read,
}

/// Words that take something from those whom they are said of.
const DENIES: &[&str] = &[
    "not",
    "never",
    "no",
    "none",
    "nobody",
    "neither",
    "nor",
    "cannot",
    "but",
    "except",
    "excepting",
    "excluding",
    "unless",
    "besides",
];
/// Words that begin a phrase of their own.
const DIVIDES: &[&str] = &["but", "except", "excepting", "excluding", "unless", "besides"];
/// Words after which others are named than those who may: "after a look by Kane, Ash".
const LEADS_ELSEWHERE: &[&str] = &["by", "from", "of", "behalf", "via", "through", "with", "to"];
const READS: &[&str] = &["read", "reads", "read-only"];
const WRITES: &[&str] =
    &["write", "writes", "append", "appends", "append-only", "edit", "edits", "update", "updates"];
/// What one does who leaves the writing to others.
const DEFERS: &[&str] = &[
    "propose", "proposes", "suggest", "suggests", "request", "requests", "review", "reviews", "approve",
    "approves",
];
/// No agent, though an agent's name may stand before it: "Squad CLI", "owner (human)".
const NO_AGENT: &[&str] = &["human", "humans", "maintainer", "maintainers", "user", "users", "cli"];
/// Words between those who are named together.
const JOINS: &[&str] = &["and", "or", "&", "+", "/"];
/// Words that change nothing.
const FILLS: &[&str] = &["only", "the", "a", "an", "also", "both", "either", "plus", "may", "can"];

/// The names by which agents are known, and who is meant.
struct Names {
    known: BTreeMap<String, Writer>,
    /// The words of the longest name.
    longest: usize,
}

impl Names {
    fn new(roster: &[RosterRow]) -> Names {
        // A longer name would be looked for at every word of a text, which has to cost what it is long.
        const MOST_WORDS: usize = 6;
        let words = |name: &str| name.split('-').count();
        let mut known = BTreeMap::from([("scribe".to_owned(), Writer::Agent("scribe".to_owned()))]);
        for entry in roster.iter().filter(|entry| words(&entry.name) <= MOST_WORDS) {
            let agent = if entry.role == COORDINATOR {
                Writer::Coordinator
            } else {
                Writer::Agent(entry.name.clone())
            };
            known.insert(entry.name.clone(), agent);
        }
        known.retain(|name, _| ![NO_AGENT, JOINS, FILLS].iter().any(|list| list.contains(&name.as_str())));
        let longest = known.keys().map(|name| words(name)).max().unwrap_or_default();
        Names { known, longest }
    }

    /// Whom a cell gives a right.
    fn writers_in(&self, cell: &str, right: Right) -> Vec<Writer> {
        // Who may write is said in a line. Nobody has read through a page, so nobody is named by it.
        const LONGEST_CELL: usize = 2000;
        if cell.len() > LONGEST_CELL {
            return Vec::new();
        }
        let cell = Cell::new(cell);
        let (mut named, mut denied) = (BTreeSet::new(), BTreeSet::new());
        for sentence in &cell.sentences {
            let mut said = Vec::new();
            let (mut denying, mut elsewhere) = (false, false);
            for phrase in sentence {
                let (remarks, main): (Vec<&Word>, Vec<&Word>) = phrase.iter().partition(|word| word.remark);
                // "Neither Kane, Ash nor Lambert": what is denied stays denied to the end of the sentence.
                denying |= has(&main, DENIES);
                if denying {
                    denied.extend(self.mentioned(&main));
                }
                if has(&remarks, DENIES) {
                    denied.extend(self.mentioned(&remarks));
                }
                if denying {
                    continue;
                }
                let head = if elsewhere { Vec::new() } else { self.head(phrase) };
                if right == Right::Read || !only_looks(&main, &remarks) {
                    said.extend(head);
                } else if main.first().is_some_and(|word| READS.contains(&word.text.as_str())) {
                    // "Kane, read-only"
                    said.clear();
                }
                elsewhere |= has(&main, LEADS_ELSEWHERE) || has(&remarks, LEADS_ELSEWHERE);
            }
            named.extend(said);
        }
        if named.contains(&Writer::Everyone) && !self.understands(&cell, right) {
            named.remove(&Writer::Everyone);
            // "Each agent its own"
            if cell.words().any(|word| word.text == "own") {
                named.insert(Writer::Owner);
            }
        }
        named.difference(&denied).cloned().collect()
    }

    /// Who stands at the head of a phrase: one, or some joined by "and". What follows is of no concern.
    fn head(&self, phrase: &[Word]) -> Vec<Writer> {
        let main: Vec<(usize, &str)> = phrase
            .iter()
            .enumerate()
            .filter(|(_, word)| !word.remark)
            .map(|(at, word)| (at, word.text.as_str()))
            .collect();
        let texts: Vec<&str> = main.iter().map(|(_, text)| *text).collect();
        let skip = |from: usize, lists: &[&[&str]]| {
            let rest = texts.iter().skip(from);
            from + rest.take_while(|text| lists.iter().any(|list| list.contains(text))).count()
        };
        let mut head = Vec::new();
        let mut at = skip(0, &[JOINS, FILLS]);
        while let Some((writer, length)) = texts.get(at..).and_then(|rest| self.person(rest)) {
            at += length;
            let last = main.get(at - 1).map_or(0, |(place, _)| *place);
            let agent = phrase.get(last + 1).is_none_or(|next| !NO_AGENT.contains(&next.text.as_str()));
            head.extend(agent.then_some(writer));
            let joined = skip(at, &[JOINS]);
            if joined == at {
                break;
            }
            at = skip(joined, &[FILLS]);
        }
        // "Bridge (Coordinator)", whoever that is.
        let mut remarks = phrase.iter().filter(|word| word.remark).map(|word| word.text.as_str());
        let titled = remarks.next() == Some(COORDINATOR) && remarks.next().is_none();
        if head.is_empty() && titled && !texts.iter().any(|text| NO_AGENT.contains(text)) {
            head.push(Writer::Coordinator);
        }
        head
    }

    /// The agent or agents that these words begin with, and by how many of them.
    fn person(&self, words: &[&str]) -> Option<(Writer, usize)> {
        match words {
            ["squad", "agent" | "agents" | "member" | "members" | "team", ..] => None,
            ["squad", "coordinator", ..] => Some((Writer::Coordinator, 2)),
            ["squad" | "coordinator", ..] => Some((Writer::Coordinator, 1)),
            ["owning", "agent" | "member", ..] => Some((Writer::Owner, 2)),
            ["owner", ..] => Some((Writer::Owner, 1)),
            ["everyone" | "everybody" | "anyone" | "anybody", ..] => Some((Writer::Everyone, 1)),
            ["all" | "any" | "every" | "each", "agent" | "agents" | "member" | "members", ..] => {
                Some((Writer::Everyone, 2))
            }
            [
                "all" | "any" | "every" | "each",
                "squad" | "team",
                "agent" | "agents" | "member" | "members",
                ..,
            ] => Some((Writer::Everyone, 3)),
            _ => (1..=self.longest).rev().find_map(|length| {
                let name = plain_name(&words.get(..length)?.join(" "));
                self.known.get(&name).map(|writer| (writer.clone(), length))
            }),
        }
    }

    /// All who are spoken of, wherever they stand. An agent without a name is the one that the path names.
    fn mentioned(&self, words: &[&Word]) -> Vec<Writer> {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let at = |from: usize| {
            let rest = texts.get(from..)?;
            let another =
                from.checked_sub(1).and_then(|before| texts.get(before)).is_some_and(|word| *word == "other");
            let unnamed = matches!(rest, ["agent" | "agents" | "self" | "itself", ..]) && !another;
            self.person(rest).map(|(writer, _)| writer).or(unnamed.then_some(Writer::Owner))
        };
        (0..texts.len()).filter_map(at).collect()
    }

    /// Whether nothing in a cell could narrow down what it says of all.
    fn understands(&self, cell: &Cell, right: Right) -> bool {
        let words: Vec<&Word> = cell.words().collect();
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let reads = if right == Right::Read { READS } else { &[] };
        let harmless = |text: &str| [JOINS, FILLS, WRITES, reads].iter().any(|list| list.contains(&text));
        let mut at = 0;
        while let (Some(word), Some(rest)) = (words.get(at), texts.get(at..)) {
            at += match self.person(rest) {
                Some((_, length)) if !word.remark => length,
                None if harmless(&word.text) => 1,
                _ => return false,
            };
        }
        true
    }
}

/// Whether those at the head of a phrase do something else than to write.
fn only_looks(main: &[&Word], remarks: &[&Word]) -> bool {
    let looks = has(main, READS) || has(remarks, READS) || has(main, DEFERS);
    looks && !has(main, WRITES) && !has(remarks, WRITES)
}

fn has(words: &[&Word], wanted: &[&str]) -> bool {
    words.iter().any(|word| wanted.contains(&word.text.as_str()))
}

/// A word of a cell. What stands in parentheses, behind a dash or behind a colon is a remark.
struct Word {
    text: String,
    remark: bool,
}

/// A cell, taken apart: sentences of phrases of words.
struct Cell {
    sentences: Vec<Vec<Vec<Word>>>,
}

impl Cell {
    fn new(text: &str) -> Cell {
        let text =
            undressed(text).to_lowercase().replace('’', "'").replace("<br>", ";").replace("<br/>", ";");
        let mut cell = Cell { sentences: Vec::new() };
        cell.end_sentence();
        let (mut depth, mut behind_dash) = (0_usize, false);
        let parts = |letter: char| letter.is_whitespace() || "(),;:—–".contains(letter);
        for word in text.split_inclusive(parts) {
            let mark = word.chars().next_back().unwrap_or_default();
            let word = word.trim_end_matches(parts);
            let (word, full_stop) = word.strip_suffix(['.', '!']).map_or((word, false), |word| (word, true));
            if matches!(word, "-" | "--") {
                behind_dash = true;
            } else {
                cell.push(word, depth > 0 || behind_dash);
            }
            match mark {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                '—' | '–' | ':' => behind_dash = true,
                ',' if depth == 0 => cell.end_phrase(),
                ';' if depth == 0 => cell.end_sentence(),
                _ => {}
            }
            if full_stop && depth == 0 {
                cell.end_sentence();
            }
            behind_dash &= !(depth == 0 && (full_stop || matches!(mark, ',' | ';')));
        }
        cell
    }

    fn push(&mut self, word: &str, remark: bool) {
        // `Kane/Ash` are two; `kane/notes.md` is one, and a path.
        let apart = if word.contains('.') { word.to_owned() } else { word.replace('/', " / ") };
        for text in apart.split_whitespace() {
            if !remark && DIVIDES.contains(&text) {
                self.end_phrase();
            }
            let text = if text.ends_with("n't") { "not" } else { text };
            if let Some(phrase) = self.sentences.last_mut().and_then(|sentence| sentence.last_mut()) {
                phrase.push(Word { text: text.to_owned(), remark });
            }
        }
    }

    fn end_phrase(&mut self) {
        if let Some(sentence) = self.sentences.last_mut() {
            sentence.push(Vec::new());
        }
    }

    fn end_sentence(&mut self) {
        self.sentences.push(vec![Vec::new()]);
    }

    fn words(&self) -> impl Iterator<Item = &Word> {
        self.sentences.iter().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;

    fn crew() -> Vec<RosterRow> {
        [("bridge", "coordinator"), ("kane", "dev"), ("night-watch", "tester"), ("user", "dev")]
            .map(|(name, role)| RosterRow { name: name.to_owned(), role: role.to_owned() })
            .to_vec()
    }

    fn found_in(cell: &str, right: Right) -> Vec<String> {
        let writers = Names::new(&crew()).writers_in(cell, right);
        writers
            .into_iter()
            .map(|writer| match writer {
                Writer::Agent(name) => name,
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn agents_named_at_the_head_of_a_phrase_may_write() {
        for (cell, wanted) in [
            ("Coordinator", &["Coordinator"][..]),
            ("**Squad** (Coordinator) — adds lines", &["Coordinator"]),
            ("Bridge", &["Coordinator"]),
            ("Ripley (Coordinator)", &["Coordinator"]),
            ("The owning agent only", &["Owner"]),
            ("owner", &["Owner"]),
            ("`scribe`", &["scribe"]),
            ("Night Watch, @kane", &["kane", "night-watch"]),
            ("Night-Watch/Kane", &["kane", "night-watch"]),
            ("Kane and the Night Watch or Scribe at dawn", &["kane", "night-watch", "scribe"]),
            ("Owning agent (adds lines), Scribe (sums up, moves)", &["Owner", "scribe"]),
            ("Kane (adds) & Scribe", &["kane", "scribe"]),
            ("Scribe - for all that happens. Kane.", &["kane", "scribe"]),
            ("Scribe: sums up; Kane: the rest<br>owner", &["Owner", "kane", "scribe"]),
            ("Scribe (never changed afterwards)", &["scribe"]),
            ("Coordinator at first; the agent may not change its own", &["Coordinator"]),
            ("Kane reads and writes", &["kane"]),
            ("Owning agent only (no other agents)", &["Owner"]),
            ("Scribe, some reviewer approves", &["scribe"]),
            ("All agents", &["Everyone"]),
            ("any agent (append only)", &["Everyone"]),
            ("EVERYONE", &["Everyone"]),
            ("Every team member and Scribe", &["scribe", "Everyone"]),
            ("Each agent, its own", &["Owner"]),
        ] {
            let mut wanted = wanted.to_vec();
            let mut found = found_in(cell, Right::Write);
            wanted.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, wanted, "{cell}");
        }
    }

    #[test]
    fn no_other_word_gives_the_right_to_write() {
        for cell in [
            "",
            "—",
            "nobody",
            "Nobody but Kane",
            "Repo maintainer (human)",
            "Maintainers",
            "Human",
            "Owner (human)",
            "Project owner",
            "The squad CLI (`squad add`)",
            "Squad members",
            "User",
            "agents",
            "Facilitator",
            "agent may not change itself",
            "Owning agent may not",
            "Scribe doesn't",
            "Neither Kane, Scribe nor the coordinator",
            "All agents except Kane",
            "All agents but Kane",
            "All agents, not Kane",
            "All agents; Kane may not",
            "All agents (Scribe only)",
            "All agents on the list",
            "Any agent, with a nod from Kane, Scribe",
            "All agents, read-only",
            "All agents (read only)",
            "Any agent may propose",
            "Kane, read-only",
            "Kane (read-only)",
            "Kane reads",
            "Kane reviews",
            "for Kane",
            "(Kane)",
            "— Kane",
            "kane/notes.md",
            "Kane's friend",
            "(Scribe, Kane",
        ] {
            assert_eq!(found_in(cell, Right::Write), [""; 0], "{cell}");
        }
        for (cell, wanted) in [
            ("Scribe, on behalf of Kane, Night Watch", "scribe"),
            ("Scribe (for all agents)", "scribe"),
            ("Coordinator but not Kane", "Coordinator"),
            ("Coordinator, never Kane, Scribe", "Coordinator"),
            ("Coordinator or a human", "Coordinator"),
            ("Any agent may propose; Scribe writes", "scribe"),
            ("Kane, except Kane at night; Scribe", "scribe"),
        ] {
            assert_eq!(found_in(cell, Right::Write), [wanted], "{cell}");
        }
    }

    #[test]
    fn read_only_phrases_give_the_right_to_read() {
        assert_eq!(found_in("All agents (read-only)", Right::Read), ["Everyone"]);
        assert_eq!(found_in("Kane reads at the start; owning agent is told", Right::Read), ["Owner", "kane"]);
        assert_eq!(found_in("Coordinator, some other agent (read-only)", Right::Read), ["Coordinator"]);
        assert_eq!(found_in(&"Kane, ".repeat(400), Right::Read), [""; 0]);
    }

    #[test]
    fn each_row_of_the_table_is_a_rule() {
        let text = "# Rules\n| File | Who May Write |\n|-|-|\n| `no` | Kane |\n\
            ## The SOURCE of Truth, in short\n\n| Who | May |\n|-|-|\n| Kane | all |\n\n\
            ### Files\n| Who may read | Status | FILE | Who May Write |\n|:-|-|-|-|\n\
            | All agents | Holds. **Append-Only.** | `.squad/agents/{name}/log.md` | Owning agent |\r\n\
            | Owning agent |  | .squad/log/ | Scribe, append only |\n\
            | | Append at the end only | `a.md`, `b c.md` | Owner |\n\
            | Kane | | | Kane |\n\n\
            | File | Who May Write |\n|-|-|\n| `later` | Kane |\n";
        let kane = || Writer::Agent("kane".to_owned());
        let rule = |path: &str, write: Vec<Writer>, append_only: bool, read: Vec<Writer>| OwnershipRow {
            path: path.to_owned(),
            write,
            append_only,
            read: Some(read),
        };
        let wanted = [
            rule(".squad/agents/{name}/log.md", vec![Writer::Owner], true, vec![Writer::Everyone]),
            rule(".squad/log/", vec![Writer::Agent("scribe".to_owned())], true, vec![]),
            rule("a.md", vec![], false, vec![]),
            rule("b c.md", vec![], false, vec![]),
        ];
        assert_eq!(ownership(text, &crew()), wanted);

        let short = "# Source of truth\nFile | Who May Write\n-|-\nx.md | Kane\ny.md | Kane | Scribe\n";
        let rules = ownership(short, &crew());
        let seen: Vec<_> =
            rules.iter().map(|rule| (rule.path.as_str(), rule.write.clone(), rule.read.clone())).collect();
        assert_eq!(seen, [("x.md", vec![kane()], None), ("y.md", vec![], None)]);
    }

    #[test]
    fn a_table_without_its_heading_or_columns_gives_no_rules() {
        for text in [
            "",
            "| File | Who May Write |\n|-|-|\n| a | Kane |\n",
            "## Source of Truth\n| File | Writers |\n|-|-|\n| a | Kane |\n",
            "## Source of Truth\n| Path | Who May Write |\n|-|-|\n| a | Kane |\n",
            "## Source of Truth\n## Next\n| File | Who May Write |\n|-|-|\n| `a` | Kane |\n",
            "## Source of Truth\n```\n| File | Who May Write |\n|-|-|\n| `a` | Kane |\n```\n",
        ] {
            assert_eq!(ownership(text, &crew()), [], "{text}");
        }
    }

    #[test]
    fn a_long_text_gives_a_bounded_number_of_rules() {
        let start = "## Members\n# Source of Truth\n| File | Who May Write |\n|-|-|\n| `a` | ";
        let table = "\n# Source of Truth\n| File | Who May Write |\n|-|-|\n";
        let row = "all agents, not kane and (scribe |\n| `a` | ";
        for piece in ["|", "`", "](", "|-|\n", "<!--\n", "a/ ", table, row] {
            let text = start.to_owned() + &piece.repeat(1_000_000 / piece.len());
            let rules = ownership(&text, &crew());
            let agents = crate::squad::roster(&text);
            assert!(rules.len() <= text.len() / row.len() + 1 && agents.is_empty(), "{piece}");
        }
    }

    proptest! {
        #[test]
        fn any_cell_gives_rights_only_to_names_it_contains(
            cell in "((all agents|kane|scribe|owner|coordinator|not|and|,|;|\\(|\\)|—|may|read-only|the|x|\\.|/|`|é) ?){0,12}",
        ) {
            for right in [Right::Write, Right::Read] {
                for name in found_in(&cell, right) {
                    let word = if name == "Everyone" { "all agents".to_owned() } else { name.to_lowercase() };
                    prop_assert!(cell.contains(&word), "{name}");
                }
            }
        }

        #[test]
        fn rules_from_any_text_have_a_path(text in "(# Source of Truth\n\\|File\\|Who May Write\\|\n\\|-\\|-\\|\n)?[|`/.\\-:# \n\\\\a-cé(),;{}]{0,300}") {
            for rule in ownership(&text, &crew()) {
                prop_assert!(!rule.path.is_empty());
            }
        }
    }
}
