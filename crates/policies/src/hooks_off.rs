//! Denies what would switch off toolgate's hooks: a change of the host's settings, or a command after which the host could not start them.
//!
//! Why: one line in a repository (`"disableAllHooks": true`) silences every hook of some hosts at once, in the
//! middle of a session. So does a session's directory that is gone, moved or closed: a host starts its hooks there, and
//! most run a call whose hook cannot be started.
//!
//! Settings: none. This is the floor.
//!
//! Sees through: a settings file that the host would drop as a whole (a comment, a wrong type) with toolgate's
//! registration in it; the session's directory, or one above it, deleted or moved (`rm`, `mv`, `git mv`, `git rm`) or closed to its owner
//! (`chmod`, `install -d -m`, `setfacl`), by whatever name.
//! Does not see: settings that the host applies without telling toolgate first; `toolgate doctor` sees them. A directory below the
//! worktree's top that another branch, a stash or a search that deletes takes away, or that an archive closes. Such a command is contained, and
//! toolgate puts the directory back afterwards; where there is no sandbox, start the session at the top.

use std::path::Path;

use toolgate_model::{
    Access, ConfigChange, Decision, Facts, Finding, FindingKind, Place, Policy, Run, Use, shorten,
};

use crate::worktree_removal::{is_at_or_over, names_a_part, of_a_search};

pub(crate) struct HooksOff;

impl Policy for HooksOff {
    fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        findings.extend(changed_settings(facts));
        if let Some(start) = &facts.places.start {
            findings.extend(facts.uses.iter().find_map(|used| unreachable(facts, used, start)));
        }
    }
}

fn changed_settings(facts: &Facts<'_>) -> Option<Finding> {
    let reason = match facts.config {
        None | Some(ConfigChange::Harmless) => return None,
        Some(ConfigChange::HooksOff) => "these settings switch all hooks off",
        Some(ConfigChange::RegistrationGone) => "these settings no longer hold the registration of toolgate",
        Some(ConfigChange::Unreadable) => {
            "the host cannot read these settings, and would drop the registration of toolgate with them"
        }
    };
    let finding =
        Finding::new("hooks-off", Decision::Deny, FindingKind::Tampering).because(reason.to_owned());
    Some(finding.instead("fix the file, or run `toolgate uninstall` in a terminal"))
}

/// What is wrong with a use after which the session's directory could not be reached any more.
fn unreachable(facts: &Facts<'_>, used: &Use<'_>, start: &Place) -> Option<Finding> {
    let place = used.place.as_ref().ok().filter(|_| used.access.changes())?;
    let path = place.paths().find(|path| is_at_or_over(path, start))?;
    // In a string for a shell, all that runs there has one origin.
    let by = |does: &dyn Fn(&Run) -> bool| {
        facts.runs.iter().any(|run| run.origin.is_some() && run.origin == used.origin && does(run))
    };
    let lies_inside = |root: &Place| path != root.physical && path != root.lexical && root.holds(path);
    // The worktree itself and what it lies in are the matter of `worktree-removal` and `outside-scope`.
    let is_below_root = facts.places.root.as_ref().is_none_or(lies_inside);
    let (does, instead) = if used.access == Access::Delete {
        // What a glob names lies below the place, and a search says itself what it deletes.
        let is_glob = used.text.contains(['*', '?', '[', '{']);
        let is_start = path == start.physical || path == start.lexical;
        // `rsync --delete` empties the place that it copies to, and leaves it.
        let empties = is_start && by(&|run| run.program == "rsync");
        let spares = empties || (is_glob && (is_start || names_a_part(&used.text)));
        if spares || of_a_search(facts, used) || !is_below_root {
            return None;
        }
        (
            "removes",
            "leave the directory and move what is in it (`git mv src/* lib/`), or have the session started at the worktree's top",
        )
    } else if is_below_root && by(&|run| removes_tracked(run, path)) {
        // git never takes away the top, where its pointer lies.
        ("removes", "name the files in it, and leave one")
    } else if by(&closes) {
        ("closes", "leave its owner the `x`: `chmod 700`, `chmod go-rwx`")
    } else {
        return None;
    };
    let named = Path::to_string_lossy(path).into_owned();
    let reason = format!(
        "{} {does} `{}`, where the host starts its hooks: no later call could be judged",
        facts.tool,
        shorten(&named, 100),
    );
    let finding = Finding::new("hooks-off", Decision::Deny, FindingKind::Tampering).because(reason);
    Some(finding.at(&used.param, named).instead(instead))
}

/// `git rm -r src`. That git writes its repository, wherever it is started, takes nothing away.
fn removes_tracked(run: &Run, path: &Path) -> bool {
    let is_removal =
        run.program == "git" && run.sub.first().is_some_and(|sub| sub == "rm") && !run.has("--cached");
    let name = path.file_name().and_then(|name| name.to_str());
    // A pattern, or one of git's own words for a place, may be any directory.
    let is_open = |word: &str| word.starts_with(':') || word.contains(['*', '?', '[', '…']);
    let names_it = |word: &String| {
        let last = word.trim_end_matches('/').rsplit('/').next();
        is_open(word) || matches!(last, Some("" | "." | "..")) || last == name
    };
    let mut operands =
        run.words.iter().skip_while(|word| *word != "rm").skip(1).filter(|word| !word.starts_with('-'));
    is_removal && (operands.any(names_it) || run.has("--pathspec-from-file"))
}

/// Whether a directory may be closed to its owner afterwards.
fn closes(run: &Run) -> bool {
    match run.program.as_str() {
        "chmod" | "gchmod" => run.words.get(1..).is_none_or(closes_by_words),
        "install" | "ginstall" => {
            let mode =
                run.options.iter().find(|(name, _)| name == "-m").and_then(|(_, mode)| mode.as_deref());
            mode.is_some_and(|mode| leaves_open(mode, false) != Some(true))
        }
        // Its rules have a mask besides; nobody needs one here.
        "setfacl" => true,
        _ => false,
    }
}

/// Whether these words of `chmod` take the `x` from a directory's owner. A mode that is not known may.
fn closes_by_words(words: &[String]) -> bool {
    let is_flag = |word: &str| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|letter| "RcfvhHLP".contains(letter))
    };
    if words.iter().any(|word| word.starts_with("--ref")) {
        return true;
    }
    let mode = words.iter().find(|word| !word.starts_with("--") && !is_flag(word));
    mode.is_some_and(|mode| leaves_open(mode, true) != Some(true))
}

/// Whether a directory's owner has the `x` after this mode. `None` where it cannot be read.
fn leaves_open(mode: &str, before: bool) -> Option<bool> {
    const OWNER: u32 = 0o100;
    let digits = mode.trim_start_matches(['+', '-', '=']);
    if let Ok(bits) = u32::from_str_radix(digits, 8) {
        let has = bits & OWNER != 0;
        return Some(match mode.chars().next()? {
            '+' => before || has,
            '-' => before && !has,
            _ => has,
        });
    }
    mode.split(',').try_fold(before, |open, clause| {
        let at = clause.find(['+', '-', '='])?;
        let (who, changes) = clause.split_at_checked(at)?;
        if !who.chars().all(|one| "ugoa".contains(one))
            || changes.chars().any(|one| !"+-=rwxXstugo".contains(one))
        {
            return None;
        }
        if !who.is_empty() && !who.contains(['u', 'a']) {
            return Some(open);
        }
        let mut open = open;
        // The last operator may have no bits.
        let changes = format!("{changes} ");
        for change in changes.split_inclusive(['+', '-', '=']).collect::<Vec<_>>().windows(2) {
            let [operator, bits] = change else { continue };
            let bits = bits.trim_end_matches(['+', '-', '=']);
            let has = bits.contains(['x', 'X']);
            // What is copied from the group or from others is not known.
            let copies = bits.contains(['g', 'o']);
            open = match operator.chars().next_back()? {
                '+' => open || has,
                '-' => open && !has && !bits.contains('u') && !copies,
                _ => has || bits.contains('u') && open,
            };
        }
        Some(open)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{facts, objections, place, used};
    use toolgate_model::{Origin, Places, Team};

    #[test]
    fn a_mode_is_read_for_what_it_leaves_a_directorys_owner() {
        for (mode, open) in [
            ("755", Some(true)),
            ("0700", Some(true)),
            ("600", Some(false)),
            ("0", Some(false)),
            ("-100", Some(false)),
            ("-011", Some(true)),
            ("+x", Some(true)),
            ("-x", Some(false)),
            ("a-x", Some(false)),
            ("go-rwx", Some(true)),
            ("u=rw", Some(false)),
            ("u=rwX,go=", Some(true)),
            ("u=rw,+x", Some(true)),
            ("u-x+x", Some(true)),
            ("u+r-x", Some(false)),
            ("=", Some(false)),
            ("u=g", Some(false)),
            ("-r", Some(true)),
            ("$MODE", None),
            ("u?x", None),
        ] {
            assert_eq!(leaves_open(mode, true), open, "{mode}");
        }
        assert_eq!(leaves_open("u+rw", false), Some(false));
    }

    #[test]
    fn what_takes_the_sessions_directory_away_or_closes_it_is_denied() {
        let team = Team::default();
        let places = Places {
            root: Some(Place::plain("/work/alpha")),
            start: Some(Place::plain("/work/alpha/src")),
            ..Places::default()
        };
        let judged = |access, path: &str, text: &str, words: &str| {
            let origin = Some(Origin { span: (0, 9), via: None });
            let text = std::borrow::Cow::Owned(text.to_owned());
            let uses = vec![Use { origin: origin.clone(), text, ..used(access, Ok(place(path))) }];
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let sub = words.iter().skip(1).take(1).cloned().collect();
            let runs = vec![Run { origin, sub, ..Run::of(words) }];
            let call = Facts { uses, runs, ..facts("Bash", &places, &team) };
            let found = objections(&HooksOff, &call);
            found.first().map(|finding| (finding.decision, finding.line()))
        };
        for (access, path, text, words) in [
            (Access::Delete, "/work/alpha/src", "src", "mv src lib"),
            (Access::Write, "/work/alpha/src", "src", "git rm -r src"),
            (Access::Write, "/work/alpha/src", ".", "git rm -rq ."),
            (Access::Write, "/work/alpha/src", ":/src", "git rm -r :/src"),
            (Access::Write, "/work/alpha/src", ".", "chmod 600 ."),
            (Access::Write, "/work/alpha", "..", "chmod -R a-x .."),
            (Access::Write, "/work/alpha", "..", "chmod $M .."),
        ] {
            let (decision, message) = judged(access, path, text, words).unwrap_or_else(|| panic!("{words}"));
            assert_eq!(decision, Decision::Deny, "{words}");
            assert!(message.contains("where the host starts its hooks"), "{message}");
        }
        for (access, path, text, words) in [
            (Access::Delete, "/work/alpha/src/a", "a", "rm a"),
            // Others deny these.
            (Access::Delete, "/work/alpha", ".", "rm -rf ."),
            (Access::Delete, "/", "/", "rm -rf /"),
            (Access::Delete, "/work/alpha/src", "*", "rm -rf *"),
            (Access::Delete, "/work/alpha", "*.o", "rm *.o"),
            (Access::Delete, "/work/alpha/src", "../src", "rsync -a --delete lib/ ../src"),
            (Access::Write, "/work/alpha/src", ".", "chmod 700 ."),
            (Access::Write, "/work/alpha/src", ".", "chmod -R go-w ."),
            (Access::Write, "/work/alpha/src", ".", "touch ."),
            // It writes the repository besides.
            (Access::Write, "/work/alpha", "/work/alpha", "git rm a.txt"),
            (Access::Write, "/work/alpha/src", "/work/alpha/src", "git rm -r a.txt sub"),
            (Access::Write, "/work/alpha/lib", "lib", "chmod 600 lib"),
            (Access::Read, "/work/alpha/src", ".", "ls ."),
        ] {
            assert_eq!(judged(access, path, text, words), None, "{words}");
        }
    }

    #[test]
    fn settings_that_would_switch_our_hook_off_are_denied() {
        let (places, team) = (Places::default(), Team::default());
        let refused = |config| {
            let found = objections(&HooksOff, &Facts { config, ..facts("", &places, &team) });
            found.first().map(|finding| (finding.decision, finding.line()))
        };
        assert_eq!(refused(None), None);
        assert_eq!(refused(Some(ConfigChange::Harmless)), None);
        for (change, why) in [
            (ConfigChange::HooksOff, "switch all hooks off"),
            (ConfigChange::RegistrationGone, "no longer hold the registration"),
            (ConfigChange::Unreadable, "cannot read these settings"),
        ] {
            let (decision, message) = refused(Some(change)).unwrap();
            assert_eq!(decision, Decision::Deny);
            assert!(message.contains(why) && message.contains("fix the file"), "{message}");
        }
    }
}
