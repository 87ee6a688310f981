//! What is said of a command is what it does: made-up commands run in real bash, watched by the kernel, and every file
//! that they touch has to be covered by an effect that was said before, or the analysis has to have said that it
//! does not know.
//!
//! `TOOLGATE_COMMANDS=5000 TOOLGATE_SEED=7 cargo test -p toolgate --test it shell_differential` runs more of them, and
//! others; `TOOLGATE_FIRST=n` begins further on, `TOOLGATE_MISSES=n` shows more misses than usual, `TOOLGATE_SHOW=1`
//! prints each command with what was said and touched.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::commands::{self, Dice};
use crate::support::said::said;
use crate::support::skipped;
use crate::support::watch::{Kind, Said, Scratch, Touch, cannot_watch, covers, loudly};
use toolgate_model::{Access, Reach};

/// Few enough for every run of the tests: each form once, and some in each other.
const COMMANDS: usize = 330;
const THREADS: usize = 2;

fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What one command came to.
struct Outcome {
    known: bool,
    touches: usize,
    /// What was touched and not said.
    miss: Option<String>,
}

fn compare(number: usize, seed: usize, ask: impl Fn(&Scratch, &str) -> Option<Vec<Said>>) -> Outcome {
    let scratch = Scratch::new();
    commands::plant(&scratch);
    let dice = &mut Dice::new((seed as u64) << 32 | number as u64);
    let command = commands::command(number, dice)
        .replace("@S", scratch.path("").to_str().unwrap().trim_end_matches('/'));
    let said = ask(&scratch, &command);
    let touches = scratch.watch(&command);
    let describe = |said: &[Said]| {
        let line =
            |(access, path, reach): &Said| format!("    {access:?} {} {reach:?}\n", scratch.short(path));
        said.iter().map(line).collect::<String>()
    };
    let list = |touches: &[&Touch]| {
        let line = |touch: &&Touch| format!("    {:?} {}\n", touch.kind, scratch.short(&touch.path));
        touches.iter().map(line).collect::<String>()
    };
    if std::env::var_os("TOOLGATE_SHOW").is_some() {
        let told = said.as_deref().map_or("    unknown\n".to_owned(), describe);
        let seen = list(&touches.iter().collect::<Vec<_>>());
        loudly(&format!("#{number} {command}\n  said:\n{told}  touched:\n{seen}"));
    }
    let tmp = scratch.path("tmp");
    let miss = said.as_ref().and_then(|said| {
        let missed: Vec<&Touch> = touches.iter().filter(|touch| !covers(said, touch, &tmp)).collect();
        let told = describe(said);
        (!missed.is_empty()).then(|| {
            format!("#{number}\n{command}\n  touched and not said:\n{}  said:\n{told}", list(&missed))
        })
    });
    Outcome { known: said.is_some(), touches: touches.len(), miss }
}

#[test]
fn every_file_that_a_command_touches_is_covered_by_an_effect() {
    if let Some(why) = cannot_watch() {
        skipped(&format!("the differential test of shell commands: {why}"));
        return;
    }
    let (count, seed) = (number("TOOLGATE_COMMANDS", COMMANDS), number("TOOLGATE_SEED", 1));
    let next = AtomicUsize::new(number("TOOLGATE_FIRST", 0));
    let last = next.load(Ordering::Relaxed) + count;
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= last {
                        break;
                    }
                    let outcome = compare(number, seed, said);
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    let touches: usize = outcomes.iter().map(|outcome| outcome.touches).sum();
    let unknown = outcomes.iter().filter(|outcome| !outcome.known).count();
    let misses: Vec<&str> = outcomes.iter().filter_map(|outcome| outcome.miss.as_deref()).collect();
    loudly(&format!(
        "shell_differential: {count} commands, {touches} touches, {unknown} unknown ({}.{} %), {} missed",
        unknown * 100 / count.max(1),
        unknown * 1000 / count.max(1) % 10,
        misses.len(),
    ));
    assert!(touches > count / 2, "the commands do too little to show anything");
    let shown = misses.iter().take(number("TOOLGATE_MISSES", 25)).copied().collect::<Vec<_>>().join("\n");
    assert!(
        misses.is_empty(),
        "{} of {count} commands (seed {seed}) touch what was not said:\n{shown}",
        misses.len()
    );
}

/// The watch itself, on commands of which it is plain what they do.
#[test]
fn the_watch_reports_what_a_command_touches() {
    if let Some(why) = cannot_watch() {
        skipped(&format!("the test of the watch: {why}"));
        return;
    }
    for (command, expected) in [
        ("cat zqa.txt", "Read inside/zqa.txt"),
        ("echo x > zqlink/zqn", "Write outside/zqn"),
        ("cat < zqflink", "Read outside/zqo.txt"),
        ("cd zqlink && touch ../zqup", "Write zqup"),
        ("(cd zqdir; rm zqc.txt) & wait", "Delete inside/zqdir/zqc.txt"),
        (
            "ln -s ../outside zql; rm zql/zqo.txt; rm zql",
            "Write inside/zql,Delete inside/zql,Delete outside/zqo.txt",
        ),
        (
            "ln -s ../outside zql; mv zql zqm; mkdir zqm/zqd",
            "Delete inside/zql,Write inside/zql,Write inside/zqm,Write outside/zqd",
        ),
        (
            "mv zqdir zqmoved; echo x > zqmoved/zqc.txt",
            "Delete inside/zqdir,Write inside/zqmoved,Write inside/zqmoved/zqc.txt",
        ),
        ("ln zqa.txt zqhard", "Link inside/zqa.txt,Write inside/zqhard"),
        ("chmod 600 \"zq sp.txt\"", "Write inside/zq sp.txt"),
        ("touch $'zq\\n\"<>'", "Write inside/zq\n\"<>"),
        ("touch zqünï", "Write inside/zqünï"),
        ("ls zqdir", ""),
        ("cat zqdir", ""),
        ("cat zqnone; echo x > zqnone/zqx", ""),
        ("bash -c 'cd ..; cd outside; : > zqo.txt'", "Write outside/zqo.txt"),
        ("truncate -s 1 ~/zqh.txt", "Write home/zqh.txt"),
        ("./zqs.sh", "Read inside/zqa.txt,Read inside/zqs.sh,Write inside/zqscript.out"),
    ] {
        let scratch = Scratch::new();
        commands::plant(&scratch);
        let mut touches: Vec<String> = scratch
            .watch(command)
            .iter()
            .map(|touch| format!("{:?} {}", touch.kind, scratch.short(&touch.path)))
            .collect();
        touches.sort();
        let mut expected: Vec<&str> = expected.split(',').filter(|text| !text.is_empty()).collect();
        expected.sort_unstable();
        assert_eq!(touches, expected, "{command}");
    }
}

/// An analysis that says nothing is found out.
#[test]
fn an_analysis_that_reports_nothing_is_found_out() {
    if let Some(why) = cannot_watch() {
        skipped(&format!("the test of the differential test: {why}"));
        return;
    }
    let outcomes: Vec<Outcome> = (0..12).map(|number| compare(number, 1, |_, _| Some(Vec::new()))).collect();
    let found = outcomes.iter().filter(|outcome| outcome.miss.is_some()).count();
    let touching = outcomes.iter().filter(|outcome| outcome.touches > 0).count();
    assert!(found == touching && found > 6, "{found} of {touching}");
}

/// What a program makes for itself beside a file that it changes is not asked for by name; anything else is.
#[test]
fn a_touch_is_covered_only_by_a_matching_effect() {
    use Access::{Delete, Link, List, Read, Search, Write};
    use Reach::{Below, Exact};
    let plain = Touch {
        path: "/s/a/b".into(),
        kind: Kind::Write,
        existed: true,
        remains: true,
        temporary: false,
        made_dir: false,
    };
    let new_dir = Touch { existed: false, made_dir: true, ..plain.clone() };
    let temporary = Touch { existed: false, remains: false, temporary: true, ..plain.clone() };
    let with = |kind| Touch { kind, ..plain.clone() };
    let gone = Touch { remains: false, ..with(Kind::Delete) };
    let own = Touch { existed: false, ..gone.clone() };
    for (said, touch, covered) in [
        (vec![], &plain, false),
        (vec![(Write, "/s/a/b", Exact)], &plain, true),
        (vec![(Delete, "/s/a/b", Exact)], &plain, true),
        (vec![(Read, "/s/a/b", Exact)], &plain, false),
        (vec![(Link, "/s/a/b", Exact)], &plain, false),
        (vec![(Write, "/s/a", Exact)], &plain, false),
        (vec![(Write, "/s/a", Below)], &plain, true),
        (vec![(Write, "/s/a/b/c", Below)], &plain, false),
        (vec![(Write, "/s/a/…", Exact)], &plain, true),
        (vec![(Write, "/s/…", Exact)], &plain, true),
        (vec![(Write, "/s/*", Exact)], &plain, false),
        (vec![(Write, "/s/*/?", Exact)], &plain, true),
        (vec![(Write, "/t/…", Exact)], &plain, false),
        (vec![(Read, "/s/a/…", Exact)], &plain, false),
        (vec![(Write, "/s/a/b/c", Exact)], &new_dir, true),
        (vec![(Read, "/s/a/b/c", Exact)], &new_dir, false),
        (vec![(Write, "/s/a/c", Exact)], &temporary, true),
        (vec![(Read, "/s/a/c", Exact)], &temporary, false),
        (vec![(Write, "/s/c", Exact)], &temporary, false),
        (vec![(Read, "/s/a/b", Exact)], &with(Kind::Read), true),
        (vec![(Search, "/s", Below)], &with(Kind::Read), true),
        (vec![(List, "/s", Below)], &with(Kind::Read), false),
        (vec![(Link, "/s/a/b", Exact)], &with(Kind::Read), false),
        (vec![(Link, "/s/a/b", Exact)], &with(Kind::Link), true),
        (vec![(Read, "/s/a/b", Exact)], &with(Kind::Link), false),
        (vec![(Write, "/s/a/b", Exact)], &gone, false),
        (vec![(Delete, "/s/a/b", Exact)], &gone, true),
        (vec![(Write, "/s/a/b", Exact)], &own, true),
    ] {
        let said: Vec<Said> =
            said.into_iter().map(|(access, path, reach)| (access, path.into(), reach)).collect();
        assert_eq!(covers(&said, touch, Path::new("/s/tmp")), covered, "{said:?} {touch:?}");
    }
}

#[test]
fn generated_commands_repeat_for_a_seed_and_stay_in_their_tree() {
    let all = |seed: u64| -> Vec<String> {
        (0..3000)
            .map(|number| commands::command(number, &mut Dice::new(seed << 32 | number as u64)))
            .collect()
    };
    assert_eq!(all(1), all(1));
    assert_ne!(all(1), all(2));
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for command in &all(3) {
        let plain = command.replace("${HOME}", "$HOME");
        for word in plain.split([' ', '\n', ';', '(', ')', '=', '>', '<', '"', '\'', '{', '}', '&', '|']) {
            // Of all absolute paths there are only the scratch tree's, the system's programs and its sink.
            let outside = word.starts_with('/') && !["/dev/null", "/usr/bin/touch"].contains(&word);
            assert!(!outside || word.starts_with("/zq") || word == "/", "{word} in {command}");
            assert!(!word.ends_with("/.."), "{word} in {command}");
        }
        for kind in ["rm -rf", "find ", "git ", "<<E", "bash -c", "eval", "cd ", "pushd", "trap"] {
            *kinds.entry(kind).or_default() += usize::from(command.contains(kind));
        }
        // What goes with all below it is written out.
        for (at, _) in command.match_indices("rm -r") {
            let rest = command.split_at(at).1.trim_start_matches("rm -rf ").trim_start_matches("rm -r ");
            assert!(
                ["zqdir", "zqsub/zqdeep", "../outside/zqod", "zqlink/zqod"]
                    .iter()
                    .any(|name| rest.starts_with(name)),
                "{command}"
            );
        }
    }
    assert!(kinds.values().all(|count| *count > 20), "{kinds:?}");
}
