//! The drawing: the command with everything underlined that it would do, the scripts that it goes through, and what is
//! objected.

use std::ops::Range;
use std::rc::Rc;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Renderer, Snippet};
use toolgate_model::{Decision, Effect, Finding, Gap, Origin, Unknown, Via, is_hidden, shorten, visible};

use super::veil::{Discretion, Veil};
use super::words::{decided, label, objections, origin, steps, why};
use toolgate_gate::explain::Explanation;

/// More labels than this make no picture.
const MAX_LABELS: usize = 40;
/// More objections than this are counted, not shown.
const MAX_TOLD: usize = 12;
/// A line of a script is at most this long, in characters.
const MAX_LINE: usize = 200;

/// Something to be underlined, and what is said of it.
struct Mark<'a> {
    place: MarkedPart<'a>,
    labels: Vec<(String, bool)>,
}

/// A part of the command, or a line of a script.
#[derive(Clone, PartialEq)]
enum MarkedPart<'a> {
    Command(Range<usize>),
    Script { step: &'a str, line: &'a str },
}

/// One thing to be remarked: where it comes from, its words, and what is objected.
struct Remark<'a> {
    origin: &'a Origin,
    text: String,
    objections: String,
}

impl Remark<'_> {
    fn objected(&self) -> bool {
        !self.objections.is_empty()
    }

    /// The words, with the way through wrappers.
    fn label(&self, wrappers: &[String]) -> String {
        format!("{}{}{}", self.text, through(wrappers), self.objections)
    }
}

/// An objection, and the other places that the same objection is made to.
pub(super) struct Told<'f> {
    pub(super) finding: &'f Finding,
    also: Vec<&'f str>,
}

impl Told<'_> {
    /// The other places, in one line.
    pub(super) fn also(&self, hiding: &Discretion) -> Option<String> {
        const MAX: usize = 5;
        let shown = self.also.iter().take(MAX).map(|path| format!("`{}`", shorten(&hiding.line(path), 80)));
        let mut shown = shown.collect::<Vec<_>>().join(", ");
        if let Some(more) = self.also.len().checked_sub(MAX).filter(|more| *more > 0) {
            shown.push_str(&format!(" and {more} more"));
        }
        (!shown.is_empty()).then(|| format!("the same holds for {shown}"))
    }
}

/// The objections of which each says something new. They come strictest first, so the first about a place says why; that it is
/// written as well as read, and outside besides, helps nobody. What a policy objects to in many places is said once.
/// `--json` has them all.
pub(super) fn folded(findings: &[Finding]) -> Vec<Told<'_>> {
    let mut told: Vec<Told<'_>> = Vec::new();
    for finding in findings {
        let path = finding.path.as_str();
        let is_told =
            |known: &Told<'_>| !path.is_empty() && (known.finding.path == path || known.also.contains(&path));
        if told.iter().any(is_told) {
            continue;
        }
        let is_same = |known: &&mut Told<'_>| {
            let known = known.finding;
            !path.is_empty()
                && !known.path.is_empty()
                && known.wording.is_none()
                && (known.policy, known.kind, &known.rule, known.decision)
                    == (finding.policy, finding.kind, &finding.rule, finding.decision)
        };
        match told.iter_mut().find(is_same) {
            Some(same) => same.also.push(path),
            None => told.push(Told { finding, also: Vec::new() }),
        }
    }
    told
}

pub(super) fn draw(
    explanation: &Explanation<'_>,
    command: &Veil,
    hiding: &Discretion,
    root: Option<&str>,
    colour: bool,
) -> String {
    let remarks = remarks(explanation, hiding);
    let (marks, left) = marks(&remarks, command.text(), |range| command.range(range), hiding);
    let mut elements = elements(marks, explanation, command.text(), hiding);
    if explanation.effects.iter().any(|effect| matches!(effect.what, Effect::Connect)) {
        elements.push(Level::NOTE.message("it connects to another machine").into());
    }
    if left > 0 {
        elements.push(Level::NOTE.message(format!("{left} more effects; `--effects` lists them all")).into());
    }
    let verdict = &explanation.verdict;
    for (parameter, text) in &explanation.rewrites {
        let text = shorten(&hiding.line(text), MAX_LINE);
        elements.push(Level::NOTE.message(format!("`{parameter}` becomes `{text}`")).into());
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut helped = "";
    let told = folded(verdict.findings());
    for one in told.iter().take(MAX_TOLD) {
        let finding = one.finding;
        let mut group = titled(finding, hiding).elements(std::mem::take(&mut elements));
        if let Some(also) = one.also(hiding) {
            group = group.element(Level::NOTE.message(also));
        }
        if finding.instead != helped {
            group = group.element(Level::HELP.message(visible(&hiding.hide(&finding.instead))));
            helped = &finding.instead;
        }
        groups.push(group);
    }
    if groups.is_empty() {
        groups.push(Level::NOTE.primary_title("no policy objects").elements(elements));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = with_all_shown(&renderer.render(&groups));
    if let Some(more) = told.len().checked_sub(MAX_TOLD).filter(|more| *more > 0) {
        text.push_str(&format!("\n{more} more objections"));
    }
    text.push_str(&format!("\nverdict: {}", super::decided_as(verdict)));
    for text_of in not_proved(explanation, hiding) {
        text.push_str(&format!("\nnot proved: {text_of}"));
    }
    if let Some(cwd) = &explanation.cwd {
        text.push_str(&format!("\ndirectory: {}", hiding.line(cwd)));
    }
    if let Some(root) = root {
        text.push_str(&format!("\nroot: {}", hiding.line(root)));
    }
    text
}

fn titled<'a>(finding: &'a Finding, hiding: &Discretion) -> annotate_snippets::Title<'a> {
    let level = match finding.decision {
        Decision::Deny => Level::ERROR,
        Decision::Ask => Level::WARNING,
        Decision::Allow | Decision::Contain => Level::NOTE,
    };
    let title = hiding.hide(finding.wording.as_ref().unwrap_or(&finding.reason));
    level.primary_title(visible(&title)).id(finding.policy)
}

/// What is to be remarked of a command. That a program runs is said where nothing else of it is, and where somebody objects
/// to it.
fn remarks<'a>(explanation: &'a Explanation<'_>, hiding: &Discretion) -> Vec<Remark<'a>> {
    let findings = explanation.verdict.findings();
    let said = |numbers: &[usize]| objections(numbers.iter().filter_map(|number| findings.get(*number)));
    let mut all = Vec::new();
    for effect in &explanation.effects {
        let Some(origin) = origin(&effect.what) else { continue };
        let is_run = matches!(effect.what, Effect::Run(_));
        if is_run && effect.findings.is_empty() && speaks_for_itself(explanation, origin) {
            continue;
        }
        all.push(Remark { origin, text: label(&effect.what, hiding), objections: said(&effect.findings) });
    }
    for change in explanation.changes.iter().filter(|change| !change.findings.is_empty()) {
        let Some(origin) = &change.what.origin else { continue };
        let text = format!("changes into `{}`", hiding.line(&change.what.text));
        all.push(Remark { origin, text, objections: said(&change.findings) });
    }
    for target in explanation.expanded.iter().filter(|target| !target.findings.is_empty()) {
        let Some(origin) = &target.what.origin else { continue };
        let (verb, word) = (target.what.access.verb(), hiding.line(&target.what.text));
        let text = format!("{verb} `{word}`, which the shell expands");
        all.push(Remark { origin, text, objections: said(&target.findings) });
    }
    all
}

/// Whether another effect of the same program tells more than the program's name.
fn speaks_for_itself(explanation: &Explanation<'_>, run: &Origin) -> bool {
    let within = |other: &Origin| {
        other.span.0 >= run.span.0 && other.span.1 <= run.span.1 && leads_through(other, run.via.as_ref())
    };
    let others = explanation.effects.iter().filter(|other| !matches!(other.what, Effect::Run(_)));
    others.filter_map(|other| origin(&other.what)).any(within)
}

/// Whether this step is on the way.
fn leads_through(origin: &Origin, step: Option<&Rc<Via>>) -> bool {
    let Some(step) = step else { return true };
    let mut next = origin.via.as_ref();
    while let Some(via) = next {
        if Rc::ptr_eq(via, step) {
            return true;
        }
        next = via.before.as_ref();
    }
    false
}

/// What to underline, in order, and how much is left out.
fn marks<'a>(
    remarks: &[Remark<'a>],
    command: &str,
    place: impl Fn(Range<usize>) -> Range<usize>,
    hiding: &Discretion,
) -> (Vec<Mark<'a>>, usize) {
    let objected = remarks.iter().filter(|remarks| remarks.objected()).count();
    let (mut strict, mut mild) = (MAX_LABELS, MAX_LABELS.saturating_sub(objected));
    let mut marks: Vec<Mark<'_>> = Vec::new();
    let mut left = 0;
    for remarks in remarks {
        let steps = steps(remarks.origin);
        // Where something is objected, the harmless lines of scripts only hide it.
        let beside = !remarks.objected() && objected > 0 && steps.iter().any(|via| !via.line.is_empty());
        let room = if remarks.objected() { &mut strict } else { &mut mild };
        if *room == 0 || beside {
            left += 1;
            continue;
        }
        *room -= 1;
        let span = remarks.origin.span;
        let mut at = MarkedPart::Command(first_line(command, place(span.0 as usize..span.1 as usize)));
        let mut wrappers: Vec<String> = Vec::new();
        for via in steps {
            if via.line.is_empty() {
                wrappers.push(hiding.line(&via.step));
            } else {
                let (script, _) = script_line(&via.step);
                let text = format!("goes on in {}{}", hiding.line(script), through(&wrappers));
                say(&mut marks, at, text, remarks.objected());
                wrappers.clear();
                at = MarkedPart::Script { step: &via.step, line: &via.line };
            }
        }
        say(&mut marks, at, remarks.label(&wrappers), remarks.objected());
    }
    (marks, left)
}

/// `scripts/clean.sh:12`
fn script_line(step: &str) -> (&str, usize) {
    let parts = step.rsplit_once(':').and_then(|(script, number)| Some((script, number.parse().ok()?)));
    parts.unwrap_or((step, 1))
}

fn through(wrappers: &[String]) -> String {
    if wrappers.is_empty() { String::new() } else { format!(" through {}", wrappers.join(" → ")) }
}

fn say<'a>(marks: &mut Vec<Mark<'a>>, place: MarkedPart<'a>, text: String, objected: bool) {
    let mark = match marks.iter_mut().find(|mark| mark.place == place) {
        Some(mark) => mark,
        None => {
            marks.push(Mark { place, labels: Vec::new() });
            let Some(mark) = marks.last_mut() else { return };
            mark
        }
    };
    match mark.labels.iter_mut().find(|(known, _)| *known == text) {
        Some((_, strict)) => *strict |= objected,
        None => mark.labels.push((text, objected)),
    }
}

/// A command over several lines is underlined in its first one.
fn first_line(text: &str, range: Range<usize>) -> Range<usize> {
    let part = text.get(range.clone()).unwrap_or_default();
    let blank = part.len() - part.trim_start().len();
    let line = part.trim_start().lines().next().unwrap_or_default().trim_end();
    let start = range.start + blank;
    start..start + line.len()
}

/// The command and the lines of scripts, underlined.
fn elements<'a>(
    marks: Vec<Mark<'_>>,
    explanation: &Explanation<'_>,
    command: &str,
    hiding: &Discretion,
) -> Vec<Element<'a>> {
    let kind = |strict: bool| if strict { AnnotationKind::Primary } else { AnnotationKind::Context };
    let whole = first_line(command, 0..command.len());
    let about_all = about_all(explanation);
    let ranges = marks.iter().filter_map(|mark| match &mark.place {
        MarkedPart::Command(range) => Some(range.clone()),
        MarkedPart::Script { .. } => None,
    });
    let abridged = Veil::abridging(command, &ranges.chain([whole.clone()]).collect::<Vec<_>>());
    let mut snippet = Snippet::source(with_all_shown(abridged.text())).path("command");
    let mut scripts: Vec<Element<'_>> = Vec::new();
    let mut drawn = false;
    for Mark { place, labels } in marks {
        match place {
            MarkedPart::Command(range) => {
                drawn = true;
                let range = abridged.range(range);
                let annotations =
                    labels.into_iter().map(|(text, strict)| kind(strict).span(range.clone()).label(text));
                snippet = snippet.annotations(annotations);
            }
            MarkedPart::Script { step, line } => {
                let source = shorten(&hiding.line(line), MAX_LINE);
                let (name, number) = script_line(step);
                let span = 0..source.len();
                let annotations: Vec<_> = labels
                    .into_iter()
                    .map(|(text, strict)| kind(strict).span(span.clone()).label(text))
                    .collect();
                let script = Snippet::source(source).path(hiding.line(name)).annotations(annotations);
                scripts.push(script.line_start(number).into());
            }
        }
    }
    if let Some(text) = about_all.or_else(|| (!drawn).then(|| "has no effects".to_owned())) {
        let strict = explanation.verdict.decision().objects();
        snippet = snippet.annotation(kind(strict).span(abridged.range(whole)).label(text));
    }
    std::iter::once(snippet.into()).chain(scripts).collect()
}

/// The text with another character of as many bytes for each [hidden](is_hidden) one, so that every place in it stays where it is. A person
/// approves what is drawn. Those of ASCII the drawing replaces by itself.
pub(super) fn with_all_shown(text: &str) -> String {
    let shown = |c: char| match c.len_utf8() {
        1 => c,
        _ if !is_hidden(c) => c,
        2 => '¿',
        3 => '\u{fffd}',
        _ => '\u{1f6ab}',
    };
    text.chars().map(shown).collect()
}

/// What is objected to the command as a whole.
fn about_all(explanation: &Explanation<'_>) -> Option<String> {
    let blamed = |number: &usize| {
        explanation.effects.iter().any(|part| part.findings.contains(number))
            || explanation.changes.iter().any(|part| part.findings.contains(number))
            || explanation.expanded.iter().any(|part| part.findings.contains(number))
    };
    let rest = explanation.verdict.findings().iter().enumerate().filter(|(number, _)| !blamed(number));
    let mut said: Vec<String> = Vec::new();
    for (_, finding) in rest {
        let text = format!("{} by {}", decided(finding.decision), finding.policy);
        if !said.contains(&text) {
            said.push(text);
        }
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// What nobody objects to, and nobody has proved either.
fn not_proved(explanation: &Explanation<'_>, hiding: &Discretion) -> Vec<String> {
    const MAX: usize = 5;
    let mut texts: Vec<String> = Vec::new();
    for effect in explanation.effects.iter().filter(|effect| effect.findings.is_empty()) {
        if let Effect::Unknown(Unknown::Shell {
            gap: gap @ (Gap::Project | Gap::Program | Gap::Option | Gap::Code | Gap::Doubt(_)),
            text,
            ..
        }) = &effect.what
        {
            let text = format!("`{}` ({})", shorten(&hiding.line(text), 80), why(*gap));
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    if texts.len() > MAX {
        let more = texts.len() - MAX;
        texts.truncate(MAX);
        texts.push(format!("{more} more"));
    }
    texts
}
