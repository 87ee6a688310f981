//! Markdown to the sentences in it, with their places.
//!
//! Promise: what is not plain prose is left alone. Code, quotations, HTML and front matter are skipped; a table is one
//! piece. A sentence is what can be taken out without breaking what stands beside it: bold text, brackets, quotation
//! marks and code are never cut through. Where that cannot be told, the whole paragraph is one sentence.

use std::ops::Range;

/// A text's structure.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    pub(super) blocks: Vec<Block>,
    pub(super) lists: Vec<List>,
    pub(super) sentences: Vec<Sentence>,
    pub(super) tables: Vec<Aside>,
    /// The sections that hold something besides blocks: code, a table, a quotation.
    pub(super) others: Vec<Option<usize>>,
}

#[derive(Debug)]
pub(super) struct Heading {
    /// Its lines, with their ends.
    pub(super) lines: Range<usize>,
    pub(super) level: usize,
    /// The heading above it in rank.
    pub(super) above: Option<usize>,
}

/// A paragraph, or the text of a list item.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) lines: Range<usize>,
    /// From behind the marker to before the last line's end.
    pub(super) text: Range<usize>,
    pub(super) sentences: Range<usize>,
    pub(super) section: Option<usize>,
    pub(super) list: Option<usize>,
    /// The item that it stands in.
    inside: Option<usize>,
    /// What follows makes no sense without it.
    pinned: bool,
}

#[derive(Debug)]
pub(super) struct List {
    /// The sentence that leads into it.
    pub(super) lead: Option<usize>,
    lead_block: Option<usize>,
    pub(super) blocks: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Sentence {
    pub(super) span: Range<usize>,
    pub(super) block: usize,
    /// The list that it leads into.
    pub(super) leads: Option<usize>,
    /// The sentence of the item that it stands below.
    pub(super) inside: Option<usize>,
    /// Code, a table or a quotation follows, which makes no sense without it.
    pub(super) pinned: bool,
}

/// A table.
#[derive(Debug)]
pub(super) struct Aside {
    pub(super) lines: Range<usize>,
    pub(super) section: Option<usize>,
}

/// A place where blocks stand: the page, or an item.
struct Container {
    indent: usize,
    item: Option<usize>,
    last: Last,
}

/// What stands last in a container.
#[derive(Clone, Copy)]
enum Last {
    Nothing,
    Paragraph(usize),
    List(usize),
}

/// What runs over several lines without being read.
enum Skipped {
    Fence(char, usize),
    Comment,
    /// Until a blank line.
    Raw,
    /// Until a line that is indented less.
    Indented(usize),
    FrontMatter,
}

struct Reader<'a> {
    text: &'a str,
    outline: Outline,
    containers: Vec<Container>,
    /// The block whose text the next line may continue.
    open: Option<usize>,
    skipped: Option<Skipped>,
}

struct MarkdownLine<'a> {
    span: Range<usize>,
    indent: usize,
    /// Without indentation and end.
    text: &'a str,
}

impl MarkdownLine<'_> {
    fn start_of_text(&self, raw: &str) -> usize {
        self.span.start + (raw.len() - raw.trim_start().len())
    }
}

/// Reads a text.
pub(super) fn outline(text: &str) -> Outline {
    let root = Container { indent: 0, item: None, last: Last::Nothing };
    let mut reader =
        Reader { text, outline: Outline::default(), containers: vec![root], open: None, skipped: None };
    let mut lines = Vec::new();
    let mut start = 0;
    for raw in text.split_inclusive('\n') {
        let span = start..start + raw.len();
        start = span.end;
        let indent = raw.chars().take_while(|c| matches!(c, ' ' | '\t'));
        let indent = indent.fold(0, |column, c| if c == '\t' { column / 4 * 4 + 4 } else { column + 1 });
        lines.push(MarkdownLine { span, indent, text: raw.trim() });
    }
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        let after = lines.get(index + 1..).unwrap_or_default();
        index += 1 + reader.line(line, after, index == 0);
    }
    reader.finish()
}

impl Reader<'_> {
    /// Takes a line in; says how many of the lines after it were taken with it.
    fn line(&mut self, line: &MarkdownLine<'_>, after: &[MarkdownLine<'_>], first: bool) -> usize {
        if self.skips(line) {
            return 0;
        }
        if line.text.is_empty() {
            self.open = None;
            return 0;
        }
        if first && line.text == "---" && after.iter().any(|line| line.text == "---") {
            self.skipped = Some(Skipped::FrontMatter);
            return 0;
        }
        if let Some(level) = heading_level(line.text).filter(|_| line.indent < 4) {
            self.heading(line.span.clone(), level);
            return 0;
        }
        let rule = is_rule(line.text);
        let underline =
            (line.text.chars().all(|c| c == '=') || line.text.chars().all(|c| c == '-')) && line.indent < 4;
        if underline
            && self.containers.len() == 1
            && let Some(block) = self.open.filter(|_| rule || line.text.starts_with('='))
        {
            self.underlined(block, line);
            return 0;
        }
        if rule {
            self.leave(0);
            self.ends_what_stands_last();
            return 0;
        }
        let marker = marker(line.text).filter(|marker| {
            !marker.interrupts_only_lists || self.open.is_none() || self.containers.len() > 1
        });
        let begins = marker.is_some() || line.text.starts_with(['>', '<', '|']) || fence(line.text).is_some();
        if self.open.is_none() || begins {
            let deepest = self.containers.iter().rposition(|container| container.indent <= line.indent);
            self.leave(deepest.unwrap_or_default());
        }
        let inner = self.containers.last().map_or(0, |container| container.indent);
        if self.open.is_none() && line.indent >= inner + 4 {
            self.pin();
            self.skipped = Some(Skipped::Indented(inner + 4));
            return 0;
        }
        if let Some((mark, length)) = fence(line.text) {
            self.pin();
            self.skipped = Some(Skipped::Fence(mark, length));
            return 0;
        }
        if line.text.starts_with("<!--") {
            self.pin();
            self.skipped = Some(Skipped::Comment).filter(|_| !line.text.contains("-->"));
            return 0;
        }
        if line.text.starts_with('>') || (line.text.starts_with('<') && self.open.is_none()) {
            self.pin();
            self.skipped = Some(Skipped::Raw);
            return 0;
        }
        if line.text.contains('|') && after.first().is_some_and(|next| is_delimiter(next.text)) {
            let rows = after.iter().take_while(|row| row.text.contains('|')).count();
            let end = after.get(rows.saturating_sub(1)).map_or(line.span.end, |row| row.span.end);
            self.pin();
            let section = self.section();
            self.outline.tables.push(Aside { lines: line.span.start..end, section });
            return rows;
        }
        match (marker, self.open) {
            (Some(marker), _) => self.item(line, &marker),
            (None, Some(block)) => {
                if let Some(block) = self.outline.blocks.get_mut(block) {
                    block.lines.end = line.span.end;
                }
            }
            (None, None) => self.paragraph(line),
        }
        0
    }

    /// Whether the line belongs to what is skipped; ends that where it is its last.
    fn skips(&mut self, line: &MarkdownLine<'_>) -> bool {
        let ends = match self.skipped {
            None => return false,
            Some(Skipped::Fence(mark, length)) => {
                fence(line.text).is_some_and(|(other, long)| other == mark && long >= length)
                    && line.text.chars().all(|c| c == mark)
            }
            Some(Skipped::Comment) => line.text.contains("-->"),
            Some(Skipped::FrontMatter) => line.text == "---",
            Some(Skipped::Raw) => line.text.is_empty(),
            Some(Skipped::Indented(indent)) => {
                if !line.text.is_empty() && line.indent < indent {
                    self.skipped = None;
                    return false;
                }
                false
            }
        };
        if ends {
            self.skipped = None;
        }
        true
    }

    fn section(&self) -> Option<usize> {
        self.outline.headings.len().checked_sub(1)
    }

    /// Something that is no block stands here.
    fn other(&mut self) {
        let section = self.section();
        if self.outline.others.last() != Some(&section) {
            self.outline.others.push(section);
        }
        self.open = None;
        self.ends_what_stands_last();
    }

    /// Nothing that comes now belongs to what came before.
    fn ends_what_stands_last(&mut self) {
        if let Some(container) = self.containers.last_mut() {
            container.last = Last::Nothing;
        }
    }

    /// Something that is no block stands here, and what leads into it must stay.
    fn pin(&mut self) {
        let leading = self.containers.last().and_then(|container| match container.last {
            Last::Paragraph(block) => Some(block),
            Last::Nothing => container.item,
            Last::List(_) => None,
        });
        // An item may have more than one thing below it, and stays for each.
        let item = self.containers.last().and_then(|container| container.item);
        for block in leading.into_iter().chain(item) {
            if let Some(block) = self.outline.blocks.get_mut(block) {
                block.pinned = true;
            }
        }
        self.other();
    }

    /// Leaves all containers but the outer ones, up to this one.
    fn leave(&mut self, deepest: usize) {
        self.containers.truncate(deepest + 1);
        self.open = None;
    }

    fn heading(&mut self, lines: Range<usize>, level: usize) {
        self.leave(0);
        self.ends_what_stands_last();
        // INVARIANT: each step up goes to a lower level, so that the way is at most six long.
        let mut above = self.section();
        while let Some(heading) = above.and_then(|number| self.outline.headings.get(number)) {
            if heading.level < level {
                break;
            }
            above = heading.above;
        }
        self.outline.headings.push(Heading { lines, level, above });
    }

    /// What was taken for a paragraph is a heading.
    fn underlined(&mut self, block: usize, line: &MarkdownLine<'_>) {
        debug_assert_eq!(block + 1, self.outline.blocks.len());
        if let Some(block) = self.outline.blocks.pop() {
            let level = if line.text.starts_with('=') { 1 } else { 2 };
            self.heading(block.lines.start..line.span.end, level);
        }
    }

    fn paragraph(&mut self, line: &MarkdownLine<'_>) {
        let start = line.start_of_text(self.text.get(line.span.clone()).unwrap_or_default());
        let inside = self.containers.last().and_then(|container| container.item);
        let block = self.block(line, start, None, inside);
        if let Some(container) = self.containers.last_mut() {
            container.last = Last::Paragraph(block);
        }
    }

    fn item(&mut self, line: &MarkdownLine<'_>, marker: &Marker) {
        let Some(container) = self.containers.last_mut() else { return };
        let (inside, last) = (container.item, container.last);
        let list = match last {
            Last::List(list) => list,
            Last::Paragraph(_) | Last::Nothing => {
                let lead_block = match last {
                    Last::Paragraph(block) => Some(block),
                    Last::Nothing | Last::List(_) => inside,
                };
                self.outline.lists.push(List { lead: None, lead_block, blocks: Vec::new() });
                self.outline.lists.len() - 1
            }
        };
        container.last = Last::List(list);
        let start = line.start_of_text(self.text.get(line.span.clone()).unwrap_or_default());
        let block = self.block(line, start + marker.length, Some(list), inside);
        if let Some(list) = self.outline.lists.get_mut(list) {
            list.blocks.push(block);
        }
        let indent = line.indent + marker.length;
        self.containers.push(Container { indent, item: Some(block), last: Last::Nothing });
    }

    fn block(
        &mut self,
        line: &MarkdownLine<'_>,
        start: usize,
        list: Option<usize>,
        inside: Option<usize>,
    ) -> usize {
        let number = self.outline.blocks.len();
        self.outline.blocks.push(Block {
            lines: line.span.clone(),
            text: start..line.span.end,
            sentences: 0..0,
            section: self.section(),
            list,
            inside,
            pinned: false,
        });
        self.open = Some(number);
        number
    }

    /// Cuts every block into sentences, and ties them to what depends on them.
    fn finish(mut self) -> Outline {
        let mut sentences = Vec::new();
        for (number, block) in self.outline.blocks.iter_mut().enumerate() {
            let whole = self.text.get(block.text.start..block.lines.end).unwrap_or_default();
            block.text.end = block.text.start + whole.trim_end().len();
            let text = self.text.get(block.text.clone()).unwrap_or_default();
            let first = sentences.len();
            for span in split(text) {
                let span = block.text.start + span.start..block.text.start + span.end;
                sentences.push(Sentence { span, block: number, leads: None, inside: None, pinned: false });
            }
            block.sentences = first..sentences.len();
        }
        self.outline.sentences = sentences;
        let last = |outline: &Outline, block: usize| {
            let block = outline.blocks.get(block)?;
            block.sentences.clone().next_back()
        };
        for number in 0..self.outline.lists.len() {
            let lead_block = self.outline.lists.get(number).and_then(|list| list.lead_block);
            let lead = lead_block.and_then(|block| last(&self.outline, block));
            if let Some(list) = self.outline.lists.get_mut(number) {
                list.lead = lead;
            }
            if let Some(sentence) = lead.and_then(|lead| self.outline.sentences.get_mut(lead)) {
                sentence.leads = Some(number);
            }
        }
        for number in 0..self.outline.blocks.len() {
            let Some(block) = self.outline.blocks.get(number) else { continue };
            let (own, inside, pinned) = (block.sentences.clone(), block.inside, block.pinned);
            let inside = inside.and_then(|item| last(&self.outline, item));
            if let Some(sentences) = self.outline.sentences.get_mut(own) {
                for sentence in &mut *sentences {
                    sentence.inside = inside;
                }
                if let Some(sentence) = sentences.last_mut() {
                    sentence.pinned = pinned;
                }
            }
        }
        self.outline
    }
}

fn heading_level(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    ((1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some(level)
}

/// A line across the page, which under a paragraph of hyphens makes it a heading.
fn is_rule(text: &str) -> bool {
    let marks = || text.chars().filter(|c| !c.is_whitespace());
    marks().count() >= 3 && ['-', '*', '_'].iter().any(|mark| marks().all(|c| c == *mark))
}

fn fence(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    (length >= 3).then_some((mark, length))
}

/// The line under a table's head.
fn is_delimiter(text: &str) -> bool {
    text.contains('|') && text.contains('-') && text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

struct Marker {
    /// With the blank behind it.
    length: usize,
    /// A number other than one in the middle of a paragraph is a number.
    interrupts_only_lists: bool,
}

/// Whether a line begins an item.
pub(super) fn is_item(line: &str) -> bool {
    marker(line.trim()).is_some()
}

fn marker(text: &str) -> Option<Marker> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let rest = text.get(digits..)?;
    let mark = rest.chars().next()?;
    let listed = if digits == 0 { matches!(mark, '-' | '*' | '+') } else { matches!(mark, '.' | ')') };
    let blanks = rest.get(1..)?.chars().take_while(|c| matches!(c, ' ' | '\t')).count();
    let empty = rest.len() == 1;
    let number = text.get(..digits)?;
    (listed && digits < 10 && (blanks > 0 || empty)).then_some(Marker {
        length: digits + 1 + blanks,
        interrupts_only_lists: empty || (digits > 0 && number != "1"),
    })
}

/// Words that end in a full stop and end no sentence.
const SHORTENED: [&str; 9] = ["e.g", "i.e", "etc", "vs", "cf", "mr", "dr", "no", "approx"];

/// Where the sentences of a paragraph stand.
pub(super) fn split(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = Open::default();
    let mut start = 0;
    let mut ended: Option<usize> = None;
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, c)| *c);
        if c.is_whitespace()
            && let Some(end) = ended
        {
            let rest = text.get(at..).unwrap_or_default();
            if open.nothing() && begins_sentence(rest.trim_start()) {
                found.push(start..end);
                start = at + (rest.len() - rest.trim_start().len());
            }
            ended = None;
        }
        open.take(before, c, next);
        let stop = matches!(c, '.' | '!' | '?') && !open.code;
        let closes = matches!(c, ')' | ']' | '"' | '”' | '\'' | '’' | '*' | '_' | '`');
        ended = match ended {
            _ if stop && (c != '.' || ends_word(text.get(start..at).unwrap_or_default())) => {
                Some(at + c.len_utf8())
            }
            Some(_) if closes => Some(at + c.len_utf8()),
            still if c.is_whitespace() => still,
            _ => None,
        };
        before = c;
    }
    // What never closes may hold anything: nothing in it is cut.
    if !open.nothing() {
        found.clear();
        start = 0;
    }
    if start < text.len() {
        found.push(start..text.len());
    }
    found
}

/// Whether the full stop behind these words ends a sentence.
fn ends_word(before: &str) -> bool {
    // INVARIANT: a word that is longer than any of interest is not gone through, so that all full stops of a text cost
    // no more than its length.
    let separates = |c: &char| c.is_whitespace() || matches!(c, '(' | '*' | '_');
    let backwards: String = before.chars().rev().take(10).take_while(|c| !separates(c)).collect();
    let word = backwards.chars().rev().collect::<String>().to_lowercase();
    let letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let number = before == word && word.chars().all(|c| c.is_ascii_digit());
    let shortened = SHORTENED.contains(&word.as_str());
    !(letter || number || shortened)
}

/// Only a letter, or what may stand before it, begins a sentence: nothing that would mean something else at the
/// beginning of a line.
fn begins_sentence(rest: &str) -> bool {
    if rest.starts_with("```") {
        return false;
    }
    let bare = rest.trim_start_matches(['*', '_', '"', '“', '(', '[', '`']);
    bare.chars()
        .next()
        .is_some_and(|c| c.is_uppercase() || (rest.starts_with(['`', '*']) && c.is_alphanumeric()))
        && !rest.starts_with("* ")
}

/// What has been opened and not closed yet.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mark that opens and closes by itself")]
struct Open {
    code: bool,
    brackets: usize,
    quoted: bool,
    strong: bool,
    emphasis: bool,
    underlined: bool,
    stars: usize,
}

impl Open {
    fn take(&mut self, before: char, c: char, next: Option<char>) {
        if c == '`' {
            self.code = !self.code;
        }
        if self.code {
            return;
        }
        let blank_after = next.is_none_or(char::is_whitespace);
        match c {
            '(' | '[' | '“' => self.brackets += 1,
            ')' | ']' | '”' => self.brackets = self.brackets.saturating_sub(1),
            '"' => self.quoted = !self.quoted,
            '*' => {
                self.stars += 1;
                if next != Some('*') {
                    let alone = self.stars == 1 && before.is_whitespace() && blank_after;
                    self.strong ^= self.stars >= 2;
                    self.emphasis ^= self.stars % 2 == 1 && !alone;
                    self.stars = 0;
                }
            }
            '_' if !before.is_alphanumeric() || !next.is_some_and(char::is_alphanumeric) => {
                self.underlined ^= next != Some('_') || before == '_';
            }
            _ => {}
        }
    }

    fn nothing(&self) -> bool {
        !(self.code || self.quoted || self.strong || self.emphasis || self.underlined) && self.brackets == 0
    }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may fail")]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        outline(text).sentences.iter().map(|sentence| &text[sentence.span.clone()]).collect()
    }

    #[test]
    fn paragraphs_and_items_are_cut_into_sentences() {
        let text = "# A\n\nOne. Two\ngoes on! (Three, e.g. this.) 1. is no item.\n\n- **Four.** Five\n  more\n- Six: `a. B`\n";
        assert_eq!(
            sentences(text),
            [
                "One.",
                "Two\ngoes on!",
                "(Three, e.g. this.) 1. is no item.",
                "**Four.**",
                "Five\n  more",
                "Six: `a. B`"
            ]
        );
    }

    #[test]
    fn quotes_brackets_and_marks_are_not_cut_in_two() {
        for whole in [
            "**One. Two.** three",
            "He says \"Stop. Now.\" and goes",
            "See (One. Two) there",
            "Run `a. B` now",
            "An **unclosed. Bold",
            "e.g. This",
            "- 1.5 is more than 1. 4",
        ] {
            assert_eq!(sentences(whole).len(), 1, "{whole}");
        }
    }

    #[test]
    fn code_quotations_html_and_tables_are_left_alone() {
        let text = "---\na: Never.\n---\n```\nNever.\n```\n~~~sh\nNever.\n```\n~~~\n> Never.\n> Never.\n\n<!-- Never.\n\nNever. -->\n\
                    <p>\nNever.\n\n    Never.\n\n| Never. | b |\n|---|---|\n| Never. | b |\n\nNow.\n";
        assert_eq!(sentences(text), ["Now."]);
        assert_eq!(outline(text).tables.len(), 1);
    }

    #[test]
    fn headings_are_read_with_their_levels() {
        let read = outline("# A\n### B\n## C\nD\n===\nE\n---\nF\n\n---\n");
        let ranks: Vec<_> = read.headings.iter().map(|heading| (heading.level, heading.above)).collect();
        assert_eq!(ranks, [(1, None), (3, Some(0)), (2, Some(0)), (1, None), (2, Some(3))]);
        assert_eq!(read.blocks.len(), 1);
    }

    #[test]
    fn lists_are_linked_to_the_sentence_before_them() {
        let text = "One. Two:\n\n- a\n  - b\n\n    c\n- d\n\nThree.\n\n1. e\n\n   ```\n   x\n   ```\n2. f\n";
        let read = outline(text);
        let word = |sentence: usize| &text[read.sentences[sentence].span.clone()];
        let leads: Vec<_> = read.lists.iter().map(|list| list.lead.map(word)).collect();
        assert_eq!(leads, [Some("Two:"), Some("a"), Some("Three.")]);
        let items: Vec<_> = read.lists.iter().map(|list| list.blocks.len()).collect();
        assert_eq!(items, [2, 1, 2]);
        let pinned: Vec<_> = read.sentences.iter().filter(|sentence| sentence.pinned).collect();
        assert_eq!(pinned.len(), 1);
        assert_eq!(&text[pinned[0].span.clone()], "e");
        let below: Vec<_> = read.sentences.iter().map(|sentence| sentence.inside.map(word)).collect();
        assert_eq!(below, [None, None, None, Some("a"), Some("b"), None, None, None, None]);
    }

    #[test]
    fn a_number_inside_a_paragraph_starts_no_list() {
        assert_eq!(outline("It was in\n1984. That year").blocks.len(), 1);
        assert_eq!(sentences("Steps\n1. One\n2. Two"), ["Steps", "One", "Two"]);
    }
}
