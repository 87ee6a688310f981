//! The settings of a clone. Of what a command has changed in them, only what a branch follows is taken over: everything else can
//! name programs that git runs, or where it sends things.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::Places;
use crate::git::Taken;
use crate::git::objects::is_whiteout;
use crate::git::refs::is_branch_name;
use crate::path::{kind_at, read_file};

const LARGEST: u64 = 4 << 20;

type Values = BTreeMap<String, Vec<String>>;

pub(super) fn take(places: &Places, taken: &mut Taken) -> io::Result<()> {
    let file = Path::new("config");
    match kind_at(&places.upper, file)? {
        None => return Ok(()),
        _ if places.is_handled(file) => return Ok(()),
        Some(kind) if is_whiteout(kind) => {
            taken.refuse("config", "it was removed inside; outside it is as before");
            return Ok(());
        }
        Some(_) => {}
    }
    // Bounded, and a regular file, before git reads it.
    let (now, before) = (read_file(&places.upper, file, LARGEST)?, read_file(&places.common, file, LARGEST)?);
    if now == before {
        return Ok(());
    }
    let of = |text: Option<Vec<u8>>| {
        let text =
            String::from_utf8(text.unwrap_or_default()).map_err(|_| io::Error::other("it is not text"))?;
        places.git.settings_in(&text).map(gathered)
    };
    let (now, before) = match (of(now), of(before)) {
        (Ok(now), Ok(before)) => (now, before),
        (Err(error), _) | (_, Err(error)) => {
            taken.refuse("config", error);
            return Ok(());
        }
    };
    let keys: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    for key in keys.into_iter().filter(|key| now.get(*key) != before.get(*key)) {
        let values = now.get(key).map(Vec::as_slice).unwrap_or_default();
        let outcome = if !values.iter().all(|value| is_harmless(key, value, &before)) || !is_of_branch(key) {
            Err("it can name what git runs, and where it sends things; for one command use `git -c`, \
                 or have a person change it, outside the agent"
                .to_owned())
        } else {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            places.git.set_setting(key, &values).map_err(|error| error.to_string())
        };
        if let Err(why) = outcome {
            taken.refuse(&format!("config: {key}"), why);
        }
    }
    Ok(())
}

fn gathered(pairs: Vec<(String, String)>) -> Values {
    let mut values = Values::new();
    for (key, value) in pairs {
        values.entry(key).or_default().push(value);
    }
    values
}

/// `branch.NAME.remote` and `branch.NAME.merge`, which say what a branch follows; and its name and part.
fn of_branch(key: &str) -> Option<(&str, &str)> {
    let (name, part) = key.strip_prefix("branch.")?.rsplit_once('.')?;
    is_branch_name(name).then_some((name, part))
}

fn is_of_branch(key: &str) -> bool {
    of_branch(key).is_some_and(|(_, part)| matches!(part, "remote" | "merge"))
}

/// Whether a value names a remote that the person has set up, or a branch. A URL in its place could name a program.
fn is_harmless(key: &str, value: &str, before: &Values) -> bool {
    match of_branch(key) {
        Some((_, "remote")) => value == "." || before.contains_key(&format!("remote.{value}.url")),
        Some((_, "merge")) => value.strip_prefix("refs/heads/").is_some_and(is_branch_name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_branch_follows_is_harmless() {
        let before = gathered(vec![("remote.origin.url".to_owned(), "/x".to_owned())]);
        for (key, value, expected) in [
            ("branch.a.remote", "origin", true),
            ("branch.a/b.c.remote", ".", true),
            ("branch.a.merge", "refs/heads/a", true),
            ("branch.a.remote", "ext::sh -c x", false),
            ("branch.a.remote", "other", false),
            ("branch.a.merge", "refs/heads/../x", false),
            ("branch.a.mergeoptions", "--x", false),
            ("branch.a.pushremote", "origin", false),
            ("core.fsmonitor", "/bin/false", false),
            ("core.hookspath", "x", false),
            ("alias.x", "!x", false),
            ("branch.remote", "origin", false),
        ] {
            assert_eq!(is_harmless(key, value, &before), expected, "{key} {value}");
        }
    }
}
