//! What a command's output says about a sandbox: the lines in which a program reports a failure, and what the terms deny of
//! what they name.
//!
//! Programs report a failure each in its own words. Here stand the words of the system, which nearly all repeat, and the shapes in
//! which a name stands beside them. A name that was found is a candidate and no more: it counts where the terms deny it. So a line
//! that only looks like a failure does no harm.
//!
//! The output is a contained program's, which may print anything: the look is bounded, and takes time in proportion to its length.

use std::path::Path;

use super::denied::{DeniedInside, FoundOutside, Outside, Wanted};
use super::{Containment, ContainmentLevel, NetworkMode};

/// So much of the end of an output is looked at. Failures stand there.
const MOST_BYTES: usize = 64 * 1024;
/// So many denials are found in it.
const MOST_FOUND: usize = 32;
/// So many are told.
const MOST_TOLD: usize = 5;
/// So many lines before a failure may name what it is about.
const LINES_BEFORE: usize = 4;
/// So many names of one line are tried.
const MOST_NAMES: usize = 8;

/// What a program says has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// `EACCES` or `EPERM`.
    Refused,
    /// `EROFS`.
    ReadOnly,
    /// `EBUSY`: something is mounted there.
    Busy,
    /// `ENOENT`: at level `full` what is closed does not exist.
    Missing,
    /// An address that was not reached.
    Unreached,
}

/// The words of failures, in small letters. The first that a line has counts.
const WORDS: &[(&str, Failure)] = &[
    ("could not resolve host", Failure::Unreached),
    ("temporary failure in name resolution", Failure::Unreached),
    ("name or service not known", Failure::Unreached),
    ("failed to lookup address information", Failure::Unreached),
    ("unable to resolve host", Failure::Unreached),
    ("eai_again", Failure::Unreached),
    ("enotfound", Failure::Unreached),
    ("no such host", Failure::Unreached),
    ("network is unreachable", Failure::Unreached),
    ("enetunreach", Failure::Unreached),
    ("no route to host", Failure::Unreached),
    ("couldn't connect to server", Failure::Unreached),
    ("connection refused", Failure::Unreached),
    ("econnrefused", Failure::Unreached),
    ("read-only file system", Failure::ReadOnly),
    ("erofs", Failure::ReadOnly),
    ("permission denied", Failure::Refused),
    ("operation not permitted", Failure::Refused),
    ("eacces", Failure::Refused),
    ("eperm", Failure::Refused),
    ("device or resource busy", Failure::Busy),
    ("ebusy", Failure::Busy),
    ("no such file or directory", Failure::Missing),
    ("directory nonexistent", Failure::Missing),
    ("can't cd to", Failure::Missing),
    ("cannot open", Failure::Missing),
    ("does not appear to be a git repository", Failure::Missing),
    ("enoent", Failure::Missing),
    ("cannot connect to the docker daemon", Failure::Missing),
];

/// Words of programs that wanted to write, in small letters.
const WRITING: &[&str] = &[
    "cannot create",
    "can't create",
    "couldn't create",
    "could not create",
    "unable to create",
    "failed to create",
    "cannot write",
    "could not write",
    "unable to write",
    "failed to write",
    "for writing",
    "error writing",
    "cannot remove",
    "cannot delete",
    "cannot move",
    "cannot rename",
    "cannot overwrite",
    "cannot touch",
    "cannot lock",
    "could not lock",
    "temporary file",
    "output file",
    "changing permissions",
    "changing ownership",
    "mkdir",
    "rmdir",
    "unlink",
    "rename",
    "symlink",
    "copyfile",
    "tee: ",
];

/// What the terms deny of what an output says has failed. `directory` is where the command ran: a relative name begins there. Any of the
/// output may be given; the end of it counts.
pub fn denied_in_output(
    terms: &Containment,
    directory: &Path,
    outside: Outside<'_>,
    level: ContainmentLevel,
    output: &[u8],
) -> Vec<DeniedInside> {
    let text = end_of(output);
    let lines: Vec<&str> = text.lines().collect();
    // The output is read by the agent. What is said of a place that it may not look at must be the same whether something is there or not.
    let outside = |path: &Path| {
        let unseen = FoundOutside { leads_to: None, is_writable: true };
        if terms.shows(path) { outside(path) } else { Some(unseen) }
    };
    let look = Look { terms, directory, outside: &outside, level };
    let mut found: Vec<DeniedInside> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let before = lines.get(at.saturating_sub(LINES_BEFORE)..at).unwrap_or_default();
        for denied in look.line(line, before) {
            let is_known =
                |other: &DeniedInside| other.target == denied.target && other.wanted == denied.wanted;
            if !found.iter().any(is_known) {
                found.push(denied);
            }
        }
        if found.len() >= MOST_FOUND {
            break;
        }
    }
    // One that could not be named says no more than one that could.
    if found.iter().filter(|denied| denied.wanted == Wanted::Connect).count() > 1 {
        found.retain(|denied| denied.target != NETWORK);
    }
    found
}

/// What was denied, in a few sentences for a model and a person.
pub fn explain_denied(denied: &[DeniedInside]) -> String {
    let mut told: Vec<String> = denied.iter().take(MOST_TOLD).map(ToString::to_string).collect();
    if denied.len() > MOST_TOLD {
        told.push("and more".to_owned());
    }
    told.join("\n")
}

/// Words of programs that found no keys, in small letters.
const KEYLESS: &[&str] = &[
    "permission denied (publickey",
    "could not read username for",
    "could not read password for",
    "terminal prompts disabled",
    "host key verification failed",
];

/// Words of programs that came to a limit, in small letters, by its place among the limits.
const LIMITED: &[(usize, &[&str])] = &[
    (1, &["resource temporarily unavailable", "cannot fork", "can't fork", "unable to fork"]),
    (2, &["cannot allocate memory", "out of memory", "memoryerror", "bad_alloc", "memory allocation of"]),
    (3, &["file too large", "file size limit exceeded", "efbig"]),
];

/// What a line says about keys or limits, which are no matter of a path.
fn without_path(terms: &Containment, lower: &str) -> Option<DeniedInside> {
    let denied = |target: &str, rule: &str, message: String| DeniedInside {
        target: target.to_owned(),
        wanted: Wanted::Connect,
        rule: rule.to_owned(),
        message,
        setting: None,
    };
    if KEYLESS.iter().any(|word| lower.contains(word)) {
        return Some(denied(
            "keys",
            "containment: keys",
            "keys and credentials are not in the sandbox; run what needs them (`git push`, `git fetch`, `gh`) as a call of its own"
                .to_owned(),
        ));
    }
    let is_hit = |(at, words): &&(usize, &[&str])| {
        terms.limits.get(*at).is_some_and(|limit| *limit > 0) && words.iter().any(|word| lower.contains(word))
    };
    let (at, _) = LIMITED.iter().find(is_hit)?;
    let limit = terms.limits.get(*at)?;
    let (what, name, less) = match at {
        1 => (format!("the user has at most {limit} processes"), "processes", "run fewer at once"),
        2 => (format!("a process maps at most {limit} MiB of memory"), "memory", "use less"),
        _ => (format!("a file has at most {limit} MiB"), "file-size", "write smaller files"),
    };
    let message = format!("{what} in the sandbox; {less}, or have a person raise `{name}` in [containment]");
    Some(denied(name, &format!("containment: {name}"), message))
}

/// What stands for an address that is not known.
pub(super) const NETWORK: &str = "the network";

/// The last whole lines of an output, without what colours them.
fn end_of(output: &[u8]) -> String {
    let start = output.len().saturating_sub(MOST_BYTES);
    let end = output.get(start..).unwrap_or_default();
    let cut = if start == 0 { 0 } else { end.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1) };
    let mut plain = Vec::with_capacity(end.len());
    let mut bytes = end.get(cut..).unwrap_or_default().iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            0x1b if bytes.next_if_eq(&b'[').is_some() => {
                while bytes.next().is_some_and(|byte| !(0x40..=0x7e).contains(&byte)) {}
            }
            0x1b => {}
            b'\r' => plain.push(b'\n'),
            byte => plain.push(byte),
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

struct Look<'l> {
    terms: &'l Containment,
    directory: &'l Path,
    outside: Outside<'l>,
    level: ContainmentLevel,
}

impl Look<'_> {
    fn line(&self, line: &str, before: &[&str]) -> Vec<DeniedInside> {
        let lower = line.to_ascii_lowercase();
        if let Some(denied) = without_path(self.terms, &lower) {
            return vec![denied];
        }
        if lower.starts_with("cannot save the current status") {
            return self.terms.denied_stash(self.level).into_iter().collect();
        }
        let words =
            || WORDS.iter().filter_map(|(word, failure)| Some((find_word(&lower, word)?, *word, *failure)));
        let Some((at, word, failure)) = words().next() else { return Vec::new() };
        if failure == Failure::Unreached {
            return self.address(line, &lower, word).into_iter().collect();
        }
        let is_writing = WRITING.iter().any(|word| lower.contains(word));
        let names = names_in(line, at, at + word.len());
        let mut denied: Vec<DeniedInside> =
            names.iter().filter_map(|name| self.path(name, failure, is_writing)).collect();
        if names.is_empty() && denied.is_empty() {
            // `error: failed to open: /x`, an empty line, `Caused by:`, and only then why.
            let named = introduction(line, at, before).iter().rev().flat_map(|line| absolute_words(line));
            denied.extend(named.take(MOST_NAMES).find_map(|name| self.path(&name, failure, is_writing)));
        }
        denied
    }

    fn path(&self, name: &str, failure: Failure, is_writing: bool) -> Option<DeniedInside> {
        let path = self.directory.join(name);
        let (terms, level, outside) = (self.terms, self.level, self.outside);
        let read = || terms.denied(&path, Wanted::Read, level, outside);
        let write = || terms.denied(&path, Wanted::Write, level, outside);
        let found = || outside(&path);
        match failure {
            // Only a mount gives these.
            Failure::ReadOnly | Failure::Busy => write().or_else(|| terms.denied_near_pin(&path, level)),
            Failure::Refused if is_writing => write(),
            Failure::Refused => read().or_else(|| {
                // It may be read, so it was to be written, or it has failed for another reason. A name that is not there was to be
                // made. One that is there was to be written if the person could do that.
                found().is_none_or(|found| found.is_writable).then(write)?
            }),
            // Elsewhere what is closed can still be seen.
            Failure::Missing if level != ContainmentLevel::Full => None,
            Failure::Missing if is_writing => write().filter(|_| {
                let above = path.parent().and_then(outside);
                above.is_some() && self.is_closed(path.parent())
            }),
            Failure::Missing => {
                found().and_then(|_| read().or_else(|| terms.denied_unseen(&path, level, outside)))
            }
            Failure::Unreached => None,
        }
    }

    /// Whether a directory does not exist in the sandbox.
    fn is_closed(&self, directory: Option<&Path>) -> bool {
        let denied = |path| {
            let (terms, level, outside) = (self.terms, self.level, self.outside);
            let read = terms.denied(path, Wanted::Read, level, outside);
            read.or_else(|| terms.denied_unseen(path, level, outside)).is_some()
        };
        directory.is_some_and(denied)
    }

    fn address(&self, line: &str, lower: &str, word: &str) -> Option<DeniedInside> {
        if self.terms.network == NetworkMode::All {
            return None;
        }
        let address = address_in(line, lower, word);
        let is_refused = word.contains("refused");
        match &address {
            // The loopback is the sandbox's own. Who listens there, or does not, is nothing that the terms decide.
            Some(address) if is_loopback(address) => None,
            None if is_refused => None,
            _ => self.terms.denied_address(address.as_deref()),
        }
    }
}

/// Where a word stands by itself. `FileNotFoundError` is no `ENOTFOUND`.
fn find_word(line: &str, word: &str) -> Option<usize> {
    let is_alone = |at: &usize| {
        let before = line.get(..*at).and_then(|before| before.chars().next_back());
        let after = line.get(*at + word.len()..).and_then(|after| after.chars().next());
        // `Could not resolve hostname` is as good as `Could not resolve host`.
        !before.is_some_and(char::is_alphanumeric)
            && (word.contains(' ') || !after.is_some_and(char::is_alphanumeric))
    };
    line.match_indices(word).map(|(at, _)| at).find(is_alone)
}

/// What may be names of files in a line in which the words of a failure stand from `start` to `end`.
fn names_in(line: &str, start: usize, end: usize) -> Vec<String> {
    let quoted: Vec<String> = quoted(line).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if !quoted.is_empty() {
        return quoted;
    }
    // `cat: /x: Permission denied`, `open /x: permission denied`, `/x (Permission denied)`.
    let before = line.get(..start).unwrap_or_default().trim_end_matches([' ', '(', ':', '-', ',']);
    let before = after_shell(before);
    let mut words: Vec<&str> = Vec::new();
    for part in before.rsplit(": ").take(MOST_NAMES) {
        let part = part.trim();
        match absolute_in(part) {
            Some(name) => return vec![name.to_owned()],
            None if !part.contains(' ') && !part.is_empty() => words.push(part),
            None => words.extend(part.rsplit(' ').next()),
        }
    }
    // `Permission denied @ rb_sysopen - /x (Errno::EACCES)`, `can't cd to /x`.
    let after = line.get(end..).unwrap_or_default();
    if let Some(name) = absolute_words(after).next() {
        return vec![name];
    }
    words.into_iter().filter(|word| looks_relative(word)).map(str::to_owned).collect()
}

/// The lines that introduce one which says no more than why something failed. None where it says itself who failed at what: what another program
/// printed before (`sh: 1: kill: Operation not permitted`) names nothing of it then.
fn introduction<'b, 'l>(line: &str, at: usize, before: &'b [&'l str]) -> &'b [&'l str] {
    let said = line.get(..at).unwrap_or_default().trim();
    let is_bare = said.trim_end_matches(':').is_empty() || is_number_of_cause(said);
    // `npm error path /x`, and behind it `npm error errno EACCES`: one report, each line with its own name before it.
    let report = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let (program, word) = (words.next()?, words.next()?.to_ascii_lowercase());
        (!program.ends_with(':') && matches!(word.as_str(), "error" | "err!")).then_some(program)
    };
    let own_report = report(line);
    let introduces = |above: &str| {
        let lower = above.trim().to_ascii_lowercase();
        let leads_over = lower.ends_with(':') || lower.starts_with("caused by") || lower.starts_with("error");
        (is_bare && leads_over) || (own_report.is_some() && report(above) == own_report)
    };
    // `Caused by:` names nothing itself, and what it explains stands above it.
    let last = before.iter().rposition(|line| !line.trim().is_empty());
    let lines = last.and_then(|last| before.get(..=last)).unwrap_or_default();
    if lines.last().is_some_and(|above| introduces(above)) { lines } else { &[] }
}

/// `  0: Permission denied`, in a list of causes.
fn is_number_of_cause(said: &str) -> bool {
    let number = said.trim_end_matches(':');
    said.ends_with(':') && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a shell says, without its own name: `/bin/bash: line 1: cd: x`.
fn after_shell(said: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let own = said.split_once(": line ").and_then(|(_, rest)| rest.split_once(": "));
    own.filter(|(number, _)| is_number(number)).map_or(said, |(_, rest)| rest)
}

/// A name that begins at the root, and goes to the end of a part of a line.
fn absolute_in(part: &str) -> Option<&str> {
    // `/x - open (13: Permission denied)`
    let part = part.split(" - ").next().unwrap_or(part);
    if part.starts_with('/') {
        return Some(part);
    }
    let at = part.find(" /").map(|at| at + 1);
    let at = at.or_else(|| part.find("://").map(|at| at + 2).filter(|_| part.contains("unix://")));
    part.get(at?..)
}

/// The words of a line that begin at the root.
fn absolute_words(line: &str) -> impl Iterator<Item = String> {
    line.split_whitespace().take(64).filter_map(|word| {
        let word = word.strip_prefix("unix://").unwrap_or(word);
        let word = word.trim_start_matches(['(', '"', '\'', '`', '[', '=']);
        let word = word.trim_end_matches(['.', ',', ';', ':', ')', ']', '"', '\'', '`']);
        (word.starts_with('/') && word.len() > 1).then(|| word.to_owned())
    })
}

fn looks_relative(word: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || "._-+/@~%".contains(letter);
    !word.is_empty() && word.len() < 256 && word.chars().all(is_name) && word.contains(['.', '/'])
}

/// What stands in quotes. A quote inside of a word is an apostrophe.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    let mut previous = ' ';
    let mut count = 0;
    std::iter::from_fn(move || {
        loop {
            let letter = rest.chars().next().filter(|_| count < MOST_NAMES)?;
            let after = rest.get(letter.len_utf8()..)?;
            let close = match letter {
                '\'' | '"' | '`' => Some(letter),
                '‘' => Some('’'),
                '“' => Some('”'),
                _ => None,
            };
            let close = close.filter(|_| !previous.is_alphanumeric());
            previous = letter;
            rest = after;
            let Some(close) = close else { continue };
            count += 1;
            if let Some(at) = after.find(close) {
                rest = after.get(at + close.len_utf8()..).unwrap_or_default();
                return after.get(..at);
            }
        }
    })
}

/// The address or name in a line about the network.
fn address_in(line: &str, lower: &str, word: &str) -> Option<String> {
    // `https://example.com/x`
    if let Some(at) = lower.find("://") {
        let scheme = lower.get(..at).unwrap_or_default();
        let host = line.get(at + 3..).unwrap_or_default();
        let host = host.split(|letter: char| letter.is_whitespace() || "/'\"`)?#,".contains(letter)).next();
        if !scheme.ends_with("unix")
            && let Some(host) = host.and_then(|host| host.rsplit('@').next()).filter(|host| is_host(host))
        {
            return Some(host.to_owned());
        }
    }
    let at = find_word(lower, word)?;
    // `Could not resolve host: example.com`, `getaddrinfo EAI_AGAIN example.com`, `connect ENETUNREACH 1.2.3.4:80`
    let after = line.get(at + word.len()..).unwrap_or_default().split_whitespace().take(3);
    // `ssh: connect to host example.com port 22: Network is unreachable`, `ping: example.com: Temporary failure …`
    let before = line.get(..at).unwrap_or_default().split_whitespace().rev().take(16);
    let trimmed = |word: &str| word.trim_matches(|letter: char| "'\"`:,;.()[]<>".contains(letter)).to_owned();
    after.chain(before).map(trimmed).find(|word| is_host(word))
}

/// A name with a dot, or a number of the kind that addresses are.
fn is_host(word: &str) -> bool {
    let (host, port) = word.rsplit_once(':').unwrap_or((word, ""));
    let is_port = port.chars().all(|letter| letter.is_ascii_digit());
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_letter);
    // Not a version, and not a name of a class: `urllib.error.URLError`.
    let is_top = |top: &str| top.len() > 1 && top.chars().all(|letter| letter.is_ascii_lowercase());
    let is_name =
        host.contains('.') && host.split('.').all(is_part) && host.rsplit('.').next().is_some_and(is_top);
    let is_number = host.parse::<std::net::Ipv4Addr>().is_ok();
    (is_port && (is_name || is_number || host == "localhost")) || word.parse::<std::net::Ipv6Addr>().is_ok()
}

fn is_loopback(address: &str) -> bool {
    let (host, _) = address.rsplit_once(':').unwrap_or((address, ""));
    let is_number = |text: &str| text.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    host == "localhost" || address == "localhost" || is_number(host) || is_number(address)
}

#[cfg(test)]
mod tests;
