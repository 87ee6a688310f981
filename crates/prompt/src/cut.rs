//! The text without what goes.

use crate::fate::{Fate, Fates};
use crate::markdown::{Block, Outline, is_item};

/// A place in the text and what stands there instead.
struct Edit {
    start: usize,
    end: usize,
    text: String,
    /// Whole lines are left out, so that the blank lines around them want looking after.
    lines: bool,
}

/// Takes out what goes and puts the short forms in.
pub(super) fn cut(text: &str, outline: &Outline, fates: &Fates) -> String {
    let mut edits = Vec::new();
    for block in &outline.blocks {
        block_edits(block, outline, fates, &mut edits);
    }
    let headings = outline.headings.iter().zip(&fates.headings).filter(|(_, goes)| **goes);
    edits.extend(headings.map(|(heading, _)| Edit {
        start: heading.lines.start,
        end: heading.lines.end,
        text: String::new(),
        lines: true,
    }));
    edits.sort_by_key(|edit| edit.start);
    let mut short = String::with_capacity(text.len());
    let mut at = 0;
    let mut edits = edits.into_iter().peekable();
    while let Some(edit) = edits.next() {
        // Blank lines behind an edit may be gone already.
        short.push_str(text.get(at..edit.start).unwrap_or_default());
        short.push_str(&edit.text);
        at = at.max(edit.end);
        if !edit.lines {
            continue;
        }
        // What goes line by line is one gap, with the blank lines inside of it.
        while let Some(next) = edits.next_if(|next| next.lines && is_blank(text, at, next.start)) {
            at = next.end;
        }
        at = close_gap(text, at, &mut short, outline);
    }
    short.push_str(text.get(at..).unwrap_or_default());
    short
}

fn block_edits(block: &Block, outline: &Outline, fates: &Fates, edits: &mut Vec<Edit>) {
    let numbers = block.sentences.clone();
    let sentences = outline.sentences.get(numbers.clone()).unwrap_or_default();
    let fates = fates.sentences.get(numbers).unwrap_or_default();
    if !fates.is_empty() && fates.iter().all(|fate| *fate == Fate::Goes) {
        edits.push(Edit { start: block.lines.start, end: block.lines.end, text: String::new(), lines: true });
        return;
    }
    let mut said = None;
    let mut gone = None;
    for (sentence, fate) in sentences.iter().zip(fates) {
        match fate {
            Fate::Goes => {
                gone.get_or_insert(sentence.span.start);
                continue;
            }
            Fate::Stays(_) => {}
            Fate::Reminds(keep) => edits.push(Edit {
                start: sentence.span.start,
                end: sentence.span.end,
                text: keep.clone(),
                lines: false,
            }),
        }
        if let Some(start) = gone.take() {
            edits.push(Edit { start, end: sentence.span.start, text: String::new(), lines: false });
        }
        said = Some(sentence.span.end);
    }
    if let (Some(_), Some(start)) = (gone, said) {
        edits.push(Edit { start, end: block.text.end, text: String::new(), lines: false });
    }
}

fn is_blank(text: &str, start: usize, end: usize) -> bool {
    text.get(start..end).is_some_and(|between| between.trim().is_empty())
}

/// Sees to it that what is left around a gap is set apart as before, and by no more blank lines than before. Says
/// where the text goes on.
fn close_gap(text: &str, at: usize, short: &mut String, outline: &Outline) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let blank: usize =
        rest.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    let apart = short.is_empty() || short.lines().next_back().is_none_or(|line| line.trim().is_empty());
    if rest.len() == blank {
        // Nothing follows: the text ends in one line's end.
        let length = short.trim_end().len();
        if length > 0 {
            short.truncate(length);
            short.push('\n');
        } else {
            short.clear();
        }
        return text.len();
    }
    if apart {
        return at + blank;
    }
    // An item goes on after an item. Anything else might now be read as a part of what stands before it.
    let next = outline.blocks.binary_search_by_key(&at, |block| block.lines.start);
    let next = next.ok().and_then(|number| outline.blocks.get(number));
    let goes_on =
        next.is_some_and(|block| block.list.is_some()) && short.lines().next_back().is_some_and(is_item);
    if blank == 0 && !goes_on {
        short.push('\n');
    }
    at
}
