//! Secret files that a search or a diff comes upon among others.
//!
//! Such a command runs where secrets are taken out of what it prints. Against whom: an agent that has a value printed without its name, in
//! pieces or encoded, since that is not known as a secret. So what is printed has to come to the caller line by line, as it is.

use toolgate_model::{Access, Facts, Reach, Run, Use, base_name, work};

use super::is_secret_name;

/// Searches that print whole lines, unless an option says otherwise.
const SEARCHES: [&str; 9] = ["ack", "ack-grep", "ag", "egrep", "fgrep", "ggrep", "grep", "rg", "zgrep"];
/// What may stand behind them in a pipe.
const FILTERS: [&str; 7] = ["cat", "head", "less", "more", "sort", "tail", "uniq"];
/// Ways in which a shell takes an output in, to hand on a piece of it.
const TAKEN_IN: [&str; 8] = ["$(", "`", "<(", ">(", "read", "mapfile", "coproc", "exec"];
/// What the names in secret files have in them.
const TELLING: [&str; 12] =
    ["pass", "pwd", "secret", "token", "_key", "-key", "apikey", "api key", "cred", "auth", "private", "dsn"];

/// Whether the output of a call has to be looked through, because secret files may be among what it shows.
pub fn shows_secrets_in_passing(facts: &Facts<'_>) -> bool {
    facts.uses.iter().any(|used| is_secret_name(used, &used.text) && is_in_passing(used, facts))
}

/// Whether a search or a diff comes upon this file without asking for it, and what it shows goes to the caller as it is.
pub(super) fn is_in_passing(used: &Use<'_>, facts: &Facts<'_>) -> bool {
    let is_found = used.access == Access::Search
        && used.reach == Reach::Exact
        && used.origin.as_ref().is_some_and(|origin| origin.via.is_none());
    let reader = || {
        let command = facts.command.map_or(0, str::len);
        work::pay_for(facts.runs.len() + facts.uses.len(), 16);
        work::pay_for(command, TAKEN_IN.len());
        facts.runs.iter().rev().find(|run| run.origin == used.origin && !work::is_spent())
    };
    is_found && reader().is_some_and(|run| !asks_for_secrets(run) && is_shown_whole(run, facts))
}

/// Whether what a command prints comes to the caller line by line, as it is.
fn is_shown_whole(reader: &Run, facts: &Facts<'_>) -> bool {
    let takes = |run: &&Run| run.fed_by.contains(&reader.program);
    let keeps_lines = |run: &Run| {
        let program = run.program.as_str();
        program == "wc" || ((FILTERS.contains(&program) || SEARCHES.contains(&program)) && !cuts_lines(run))
    };
    let is_nowhere = |path: &str| path == "/dev/null";
    let writes = |used: &Use<'_>| used.writes() && used.reach == Reach::Exact && !is_nowhere(&used.text);
    let command = facts.command.unwrap_or_default();
    !TAKEN_IN.iter().any(|way| command.contains(way))
        && reader.outputs.iter().all(|path| is_nowhere(path))
        && facts.runs.iter().filter(takes).all(keeps_lines)
        && !facts.uses.iter().any(writes)
}

/// Whether a program prints pieces of lines.
fn cuts_lines(run: &Run) -> bool {
    let cuts: &[&str] = match base_name(&run.program) {
        "head" | "tail" => &["-c"],
        "rg" => &["-o", "-r", "--passthru", "--json"],
        "git" => &["-o", "--word-diff", "--color-words", "--word-diff-regex"],
        "ag" | "ack" | "ack-grep" => &["-o", "--output", "--passthru"],
        _ => &["-o"],
    };
    cuts.iter().any(|cut| run.has(cut))
}

/// Whether a command asks for what secret files hold: by words that stand there, or for every line. One that is not known as a
/// search or a diff does.
fn asks_for_secrets(run: &Run) -> bool {
    let values = |names: &[&str]| -> Vec<Option<&str>> {
        let given = run.options.iter().filter(|(name, _)| names.contains(&name.as_str()));
        given.map(|(_, value)| value.as_deref()).collect()
    };
    if cuts_lines(run) {
        return true;
    }
    let program = base_name(&run.program);
    match run.sub.first().map(String::as_str) {
        Some("grep") if program == "git" => {}
        // Changes whose lines have a word in them.
        Some(_) if program == "git" => {
            return values(&["-S", "-G"]).iter().any(|text| text.is_none_or(tells));
        }
        _ if SEARCHES.contains(&program) => {}
        _ => return true,
    }
    let given = values(&["-e"]);
    let patterns =
        if given.is_empty() { run.operands.iter().take(1).map(Option::as_deref).collect() } else { given };
    patterns.is_empty()
        || run.has("-f")
        || run.has("-v")
        || patterns.iter().any(|pattern| pattern.is_none_or(|text| tells(text) || is_broad(text)))
}

fn tells(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    matches!(text.trim_matches(|c: char| !c.is_ascii_alphanumeric()), "key" | "keys")
        || TELLING.iter().any(|word| text.contains(word))
}

/// `.`, `=`, `^`: as good as every line.
fn is_broad(pattern: &str) -> bool {
    pattern.chars().filter(char::is_ascii_alphanumeric).count() < 2
}
