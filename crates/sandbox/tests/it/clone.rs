//! A plain clone: what an agent does all day works in it, and what makes git run code is as before, whatever a command does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::world::{Done, World, at_each_level, levels};

fn inside(world: &World, script: &str) -> Done {
    world.contained_in("r", script)
}

fn at_full(test: impl Fn(&World)) {
    for level in levels().into_iter().filter(|level| *level == "full") {
        test(&World::new(level, "topic", ""));
    }
}

/// Everything in the clone that decides what git runs or where it looks, by its content.
fn deciding(common: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut places: Vec<PathBuf> = [
        "hooks",
        "config",
        "config.worktree",
        "commondir",
        "info/attributes",
        "info/grafts",
        "objects/info",
        "worktrees/w/commondir",
        "worktrees/w/gitdir",
        "worktrees/v/commondir",
        "worktrees/v/config.worktree",
        "modules/sub/config",
        "modules/sub/hooks",
        "remotes",
        "branches",
    ]
    .iter()
    .map(|name| common.join(name))
    .collect();
    while let Some(place) = places.pop() {
        match fs::symlink_metadata(&place) {
            Ok(data) if data.is_dir() => {
                places.extend(fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()));
            }
            Ok(data) if data.is_symlink() => drop(found.insert(place, b"link".to_vec())),
            Ok(_) => {
                let content = fs::read(&place).unwrap();
                found.insert(place.strip_prefix(common).unwrap().to_owned(), content);
            }
            Err(_) => {}
        }
    }
    found
}

#[test]
fn ordinary_work_in_a_clone_is_there_outside() {
    at_each_level(|world| {
        for (script, shown, expected) in [
            ("echo two >> file && git add file", "git diff --cached --name-only", "file\n"),
            ("git commit -qm two", "git log --format=%s", "two\none\n"),
            ("git commit -q --amend -m better", "git log --format=%s", "better\none\n"),
            (
                "git checkout -q -b new && git commit -q --allow-empty -m new",
                "git branch --show-current",
                "new\n",
            ),
            ("git switch -q main", "git branch --show-current", "main\n"),
            ("git merge -q new", "git log -1 --format=%s", "new\n"),
            ("git branch -D new", "git branch --list new", ""),
            ("git tag v1 && git tag -a v2 -m two", "git tag --list", "old\nv1\nv2\n"),
            ("git tag -d old", "git tag --list", "v1\nv2\n"),
            (
                "echo x >> file && git stash -q",
                "git stash list --format=%gs; git status --porcelain",
                "WIP on main: ",
            ),
            ("git stash pop -q && git checkout -q file", "git stash list; git status --porcelain", ""),
            (
                "git branch -m side other/side",
                "git branch --list '*side' --format='%(refname:short)'",
                "other/side\n",
            ),
            (
                "echo s > s && git add s && git commit -qm s && git mv s t && git commit -qm t",
                "git ls-files",
                "file\nt\n",
            ),
            (
                "git reset -q --hard HEAD~1 && git cherry-pick -x main@{1} && git revert --no-edit HEAD",
                "git log -1 --format=%s",
                "Revert ",
            ),
            (
                "git checkout -q --detach && git commit -q --allow-empty -m alone",
                "git log -1 --format=%s",
                "alone\n",
            ),
            (
                "git checkout -q main && git pack-refs --all && git repack -q -a",
                "git branch --show-current",
                "main\n",
            ),
            ("git notes add -m x && git notes show", "git notes show", "x\n"),
        ] {
            let done = inside(world, script).ok();
            let seen = world.outside("r", shown);
            let is_there = if expected.is_empty() { seen.is_empty() } else { seen.starts_with(expected) };
            assert!(is_there, "{}: {script}: {seen:?} {done:?}", world.level);
            assert!(!done.report.contains("refused") && !done.report.contains("pin:"), "{script}: {done:?}");
            world.is_sound();
        }
        assert_eq!(world.outside("r", "git status --porcelain"), "");
        let reflog = world.outside("r", "git reflog --format=%gs");
        for line in
            ["commit: two", "commit (amend): better", "merge new", "checkout: moving from new to main"]
        {
            assert!(reflog.contains(line), "{}: {reflog}", world.level);
        }
    });
}

#[test]
fn a_rebase_that_stops_in_a_clone_goes_on_in_the_next_command() {
    at_each_level(|world| {
        world.outside(
            "r",
            "git checkout -q side && echo side > file && git commit -qam side && git checkout -q main",
        );
        let done = inside(world, "echo two > file && git commit -qam two && git rebase side");
        assert_ne!(done.code, 0, "{done:?}");
        assert!(world.common().join("rebase-merge").is_dir(), "{done:?}");
        inside(world, "echo both > file && git add file && git rebase --continue").ok();
        assert!(!world.common().join("rebase-merge").exists());
        assert_eq!(world.log("main"), ["two", "side", "one"]);
        let done =
            inside(world, "git reset -q --hard HEAD~1; git merge -q main@{1}; git log -1 --format=%s").ok();
        assert!(done.output.ends_with("two\n"), "{done:?}");
        world.is_sound();
    });
}

#[test]
fn entries_of_the_stash_come_and_go() {
    at_each_level(|world| {
        for text in ["a", "b", "c"] {
            inside(world, &format!("echo {text} > file && git stash push -q -m {text}")).ok();
        }
        inside(world, "git stash drop -q stash@{1}").ok();
        assert_eq!(world.outside("r", "git stash list --format=%gs"), "On main: c\nOn main: a\n");
        inside(world, "git stash pop -q && git checkout -q . && git stash pop -q").ok();
        assert_eq!(world.outside("r", "git stash list; cat file"), "a\n");
        world.is_sound();
    });
}

#[test]
fn what_makes_git_run_code_is_as_before() {
    at_each_level(|world| {
        world.outside(
            "r",
            "git init -q ../s && git -C ../s commit -q --allow-empty -m sub && git -c protocol.file.allow=always submodule -q add $TOP/s sub \
             && git commit -qm sub",
        );
        let before = deciding(&world.common());
        assert!(before.len() > 4, "{before:?}");
        for script in [
            "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
            "mv .git/hooks .git/old; mkdir .git/hooks; echo evil > .git/hooks/post-checkout",
            "rm -rf .git/hooks; ln -s /tmp .git/hooks",
            "git config core.fsmonitor /bin/false; git config alias.st '!evil'",
            "echo evil >> .git/config",
            "echo '[core]' > x; mv -f x .git/config",
            "rm -f .git/config; ln -s /etc/passwd .git/config",
            "git config --worktree core.fsmonitor evil; echo '[core]' > .git/config.worktree",
            "echo /tmp > .git/commondir",
            "mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes",
            "mkdir -p .git/objects/info; echo /tmp > .git/objects/info/alternates",
            "echo evil > .git/modules/sub/hooks/post-checkout; git -C sub config core.fsmonitor evil",
            "git config --file .git/modules/sub/config core.fsmonitor evil",
            "echo /tmp > .git/worktrees/w/commondir; echo x > .git/worktrees/v/config.worktree",
            "mkdir -p .git/remotes && echo 'URL: ext::sh -c evil' > .git/remotes/origin",
            "git remote set-url origin 'ext::sh -c evil'; git config branch.main.remote 'ext::sh -c evil'",
            "git worktree add -q inner; git submodule -q deinit -f sub",
            "mv .git old-git; cp -r old-git .git; echo evil > .git/hooks/pre-commit",
        ] {
            // The control: without the sandbox it works.
            world.outside("", "rm -rf control && cp -a r control");
            world.try_outside("control", &format!("set +e; {script}"));
            assert_ne!(deciding(&world.path("control/.git")), before, "{script}");
            let done = inside(world, script);
            assert_eq!(deciding(&world.common()), before, "{}: {script}: {done:?}", world.level);
            let is_told = done.report.contains("pin:")
                || done.report.contains("refused:")
                || done.code != 0
                || done.output.contains("ead-only")
                || done.output.contains("busy")
                || done.output.contains("too many");
            assert!(is_told, "{}: {script}: {done:?}", world.level);
        }
        inside(world, "git commit -q --allow-empty -m after").ok();
        assert_eq!(world.log("main -n 1"), ["after"]);
    });
}

/// Only a layer keeps what is removed.
#[test]
fn history_is_not_destroyed_by_removing_files() {
    at_full(|world| {
        let before = (world.refs(), world.outside("r", "git reflog --format=%H"));
        for script in [
            "rm -rf .git/*",
            "rm -rf .git/objects",
            "rm -rf .git/objects/??",
            "rm -rf .git/refs",
            "rm -rf .git/logs",
            "rm -f .git/HEAD",
            "rm -f .git/index",
            "for f in .git/objects/??/*; do chmod u+w $f; echo x > $f; done",
            "echo x > .git/HEAD",
            "echo x > .git/index",
            "echo x > .git/refs/heads/main",
            "git commit-tree -m x HEAD^{tree} > .git/refs/heads/main; rm -rf .git/objects/??",
            "ln -sf /etc/passwd .git/COMMIT_EDITMSG; ln -sf /etc/passwd .git/refs/heads/link",
            "git gc -q --prune=now; git reflog expire --expire=now --all",
        ] {
            let done = inside(world, script);
            let after = (world.refs(), world.outside("r", "git reflog --format=%H"));
            assert_eq!(after, before, "{script}: {done:?}");
            // What is there is kept, whatever an object of the same name holds inside.
            let is_told = done.report.contains("refused:") || script.contains("chmod");
            assert!(is_told, "{script}: {done:?}");
            assert_eq!(world.outside("r", "git status --porcelain"), "", "{script}: {done:?}");
            world.is_sound();
        }
        inside(world, "git commit -q --allow-empty -m after").ok();
        assert_eq!(world.log("main -n 1"), ["after"]);
    });
}

#[test]
fn branches_of_other_worktrees_stay() {
    at_full(|world| {
        let before = world.refs();
        for script in [
            "git commit-tree -m x HEAD^{tree} > .git/refs/heads/topic",
            "git update-ref -d refs/heads/topic; git update-ref -d refs/heads/other/v",
            "echo 'ref: refs/heads/topic' > .git/HEAD",
        ] {
            let done = inside(world, script);
            assert_eq!(world.refs(), before, "{script}: {done:?}");
            assert!(done.report.contains("another worktree has"), "{script}: {done:?}");
            assert_eq!(world.outside("r", "git branch --show-current"), "main\n", "{script}");
        }
    });
}

#[test]
fn what_a_branch_follows_is_set_and_nothing_else() {
    at_full(|world| {
        world.outside(
            "r",
            "git init -q --bare ../remote.git && git remote set-url origin ../remote.git && git push -q origin main:one",
        );
        let done = inside(world, "git checkout -q -b own main --track && git branch -D side");
        assert_eq!(world.outside("r", "git config branch.own.merge"), "refs/heads/main\n", "{done:?}");
        let done = inside(world, "git config user.name evil && git config core.pager evil");
        assert!(done.report.contains("config: user.name was not taken over"), "{done:?}");
        assert!(done.report.contains("config: core.pager was not taken over"), "{done:?}");
        assert_eq!(world.try_outside("r", "git config core.pager").stdout, b"");
    });
}

#[test]
fn what_has_changed_outside_meanwhile_is_kept() {
    at_full(|world| {
        let report = world.path("report-slow");
        let script = "echo inside > file && git commit -qam inside && touch ../r/ready && sleep 1.5";
        let slow = world.start("r", script, &report);
        for _ in 0..1000 {
            if world.path("r/ready").exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        world.outside("r", "git commit -q --allow-empty -m outside");
        let output = slow.wait_with_output().unwrap();
        let done = crate::world::done(&output, &report);
        assert_eq!(world.log("main"), ["outside", "one"], "{done:?}");
        assert!(
            done.report.contains("refs/heads/main was not taken over: it has changed outside meanwhile"),
            "{done:?}"
        );
        world.is_sound();
    });
}

#[test]
fn a_look_at_the_state_outside_is_no_change() {
    at_full(|world| {
        let report = world.path("report-slow");
        let script =
            "touch file ready && sleep 1.5 && echo inside > new && git add new && git commit -qm inside";
        let slow = world.start("r", script, &report);
        for _ in 0..1000 {
            if world.path("r/ready").exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let before = fs::read(world.common().join("index")).unwrap();
        world.outside("r", "sleep 0.1; touch -d 2001-01-01 file; git update-index --refresh");
        assert_ne!(fs::read(world.common().join("index")).unwrap(), before, "it was not written");
        let done = crate::world::done(&slow.wait_with_output().unwrap(), &report).ok();
        assert_eq!(world.log("main"), ["inside", "one"], "{done:?}");
        assert_eq!(world.outside("r", "rm ready; git status --porcelain"), "", "{done:?}");
    });
}

#[test]
fn what_a_background_job_commits_is_taken_over_once() {
    at_full(|world| {
        let script = "git commit -q --allow-empty -m first && (sleep 0.4; git commit -q --allow-empty -m second) > /dev/null 2>&1 &";
        let script =
            format!("{script} while [ \"$(git log -1 --format=%s)\" != first ]; do sleep 0.02; done");
        inside(world, &script).ok();
        assert_eq!(world.log("main"), ["first", "one"]);
        std::thread::sleep(std::time::Duration::from_millis(1200));
        let done = inside(world, "git log -1 --format=%s").ok();
        assert_eq!(done.output, "second\n", "{done:?}");
        assert!(!done.report.contains("refused"), "{done:?}");
        assert_eq!(world.log("main"), ["second", "first", "one"]);
        world.is_sound();
    });
}

#[test]
fn a_background_job_does_not_undo_what_came_later() {
    at_full(|world| {
        inside(world, "git commit -q --allow-empty -m first; sleep 1 > /dev/null 2>&1 &").ok();
        inside(world, "git commit -q --allow-empty -m second").ok();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let done = inside(world, "true").ok();
        assert!(!done.report.contains("refused"), "{done:?}");
        assert_eq!(world.log("main"), ["second", "first", "one"]);
    });
}

#[test]
fn an_empty_clone_gets_its_first_commit() {
    for level in levels() {
        let world = World::new(level, "topic", "");
        world
            .outside("", "git worktree list > /dev/null 2>&1 || true; rm -rf r w v && git init -q -b main r");
        inside(&world, "echo one > file && git add . && git commit -qm first").ok();
        assert_eq!(world.log("main"), ["first"], "{level}");
        world.is_sound();
    }
}

/// `git rebase --continue` is a call of its own, which need not be contained.
#[test]
fn no_rebase_runs_what_a_command_has_put_on_its_list() {
    at_each_level(|world| {
        for worktree in ["r", "w"] {
            world.outside(
                worktree,
                "git commit -q --allow-empty -m two && git commit -q --allow-empty -m three",
            );
            let list = "rebase-merge/git-rebase-todo";
            let script = format!(
                "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2; \
                 echo 'exec touch $TOP/evil' >> $(git rev-parse --git-path {list}); true"
            );
            let done = world.contained_in(worktree, &script);
            assert!(done.report.contains("`exec` lines would run outside"), "{}: {done:?}", world.level);
            let said = world.outside(worktree, "git rebase --continue 2>&1; git log -1 --format=%s");
            assert!(said.ends_with("three\n"), "{}: {said}", world.level);
            assert!(!world.path("evil").exists(), "{}: {said}", world.level);
        }
        // The control.
        let script = "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2 && \
                      echo 'exec touch $TOP/evil' >> .git/rebase-merge/git-rebase-todo && git rebase --continue";
        world.outside("r", script);
        assert!(world.path("evil").exists());
    });
}

/// Git writes messages and logs through a link, in the clone itself and in the git directories of its worktrees and submodules.
#[test]
fn git_outside_writes_through_no_link_of_a_command() {
    at_each_level(|world| {
        world.write("precious", "precious\n");
        for (script, elsewhere) in [
            ("ln -sf $TOP/precious .git/worktrees/v/COMMIT_EDITMSG", "v"),
            ("mkdir -p .git/worktrees/v/logs; ln -sf $TOP/precious .git/worktrees/v/logs/HEAD", "v"),
            (
                "python3 -c \"import os; os.makedirs('.git/A' + '/x' * 70)\"; ln -sf $TOP/precious .git/COMMIT_EDITMSG",
                "r",
            ),
            ("mkdir .git/A; chmod 000 .git/A; ln -sf $TOP/precious .git/COMMIT_EDITMSG", "r"),
        ] {
            let done = inside(world, script);
            world.outside(elsewhere, "git commit -q --allow-empty -m outside");
            let precious = fs::read_to_string(world.path("precious")).unwrap();
            assert_eq!(precious, "precious\n", "{}: {script}: {done:?}", world.level);
        }
    });
}
