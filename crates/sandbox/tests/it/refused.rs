//! What is not the worktree's business has no effect outside, and what was not taken over is said.

use crate::world::{World, everywhere, levels};

/// Runs a script, and finds all but the worktree's own branch as it was.
fn without_effect(world: &World, script: &str) -> String {
    let own = format!("refs/heads/{}", world.branch);
    let (mut before, shared) = (world.refs(), world.shared());
    let reflog = || world.outside("r", "for b in main side; do git reflog show --format='%H %gs' $b; done");
    let log = reflog();
    let done = world.contained(script);
    // At level landlock the moves that were put back have left lines. No line is ever gone.
    let new = reflog();
    let mut lines = new.lines();
    assert!(
        log.lines().all(|line| lines.any(|new| new == line)),
        "{} {}: {script}: {done:?}",
        world.level,
        world.branch
    );
    let mut after = world.refs();
    before.remove(&own);
    after.remove(&own);
    assert_eq!(after, before, "{} {}: {script}: {done:?}", world.level, world.branch);
    assert_eq!(world.shared(), shared, "{} {}: {script}: {done:?}", world.level, world.branch);
    world.is_sound();
    done.report
}

#[test]
fn shared_things_stay_as_they_are() {
    everywhere(|world| {
        world.outside("r", "git commit -q --allow-empty -m main");
        for script in [
            "echo x >> file && git stash",
            "git tag new",
            "git tag -d old",
            "git tag -f old HEAD",
            "git notes add -m x",
            "git branch -D side",
            "git branch -f side HEAD~0 && git update-ref refs/heads/side $(git commit-tree -m x HEAD^{tree})",
            "git update-ref refs/heads/main $(git commit-tree -m x HEAD^{tree})",
            "git update-ref -d refs/heads/main",
            "git push -q . HEAD:main --force",
            "git fetch -q . +HEAD:main",
            "git config user.name evil",
            "git config core.fsmonitor /bin/false",
            "git remote add x y",
            "git gc -q --prune=now",
            "git pack-refs --all",
            "git prune --expire=now",
            "git worktree add -q --detach ../x",
            "git worktree remove --force ../v",
            "git worktree prune",
            "git reflog expire --expire=now --all",
            "rm -rf $COMMON/logs/refs/heads/main $COMMON/logs/refs/heads/side",
            "for log in $COMMON/logs/refs/heads/*; do echo x > $log; done",
            "rm -rf $COMMON/objects/??",
            "rm -rf $COMMON/objects",
            "rm -rf $COMMON/refs",
            "rm -rf $COMMON/hooks $COMMON/worktrees/v $COMMON/info $COMMON/logs",
            "rm -f $COMMON/config $COMMON/HEAD $COMMON/packed-refs $COMMON/index",
            "echo x > $COMMON/hooks/pre-commit; chmod +x $COMMON/hooks/pre-commit",
            "echo x > $COMMON/commondir; echo x > $COMMON/config.worktree",
            "mv $COMMON/worktrees/v $COMMON/worktrees/x; mv $COMMON $COMMON-2",
            "mkdir -p $COMMON/objects/info && echo /tmp > $COMMON/objects/info/alternates",
            "for f in $COMMON/objects/??/*; do chmod u+w $f; echo x > $f; done",
        ] {
            without_effect(world, script);
        }
        assert_eq!(world.log(world.branch), ["one"]);
        assert!(!world.common().join("objects/info/alternates").exists());
        // After all that it still commits.
        world.contained("git commit -q --allow-empty -m two").ok();
        assert_eq!(world.log(world.branch), ["two", "one"]);
    });
}

#[test]
fn a_forged_head_moves_no_branch_of_another_worktree() {
    everywhere(|world| {
        for branch in ["main", "other/v"] {
            let script = format!(
                "echo 'ref: refs/heads/{branch}' > $OWN/HEAD; git commit -q --allow-empty -m evil; \
                 echo 'ref: refs/heads/{}' > $OWN/HEAD",
                world.branch
            );
            without_effect(world, &script);
            let script =
                format!("git symbolic-ref HEAD refs/heads/{branch}; git commit -q --allow-empty -m evil");
            without_effect(world, &script);
            // Nor when the forged head is there from the start.
            without_effect(world, "git commit -q --allow-empty -m evil; git reset -q --soft HEAD~1");
            world.outside("w", &format!("git symbolic-ref HEAD refs/heads/{}", world.branch));
        }
    });
}

#[test]
fn what_was_not_taken_over_is_said() {
    everywhere(|world| {
        let report =
            without_effect(world, "git update-ref refs/heads/side $(git commit-tree -m x HEAD^{tree})");
        let is_beside = world.level == "full" || world.branch == "topic";
        assert_eq!(report.contains("refs/heads/side was not taken over"), is_beside, "{report}");
    });
}

#[test]
fn symbolic_branches_of_the_person_stay() {
    everywhere(|world| {
        world.outside("r", "git symbolic-ref refs/heads/alias refs/heads/main");
        let alias = || std::fs::read_to_string(world.common().join("refs/heads/alias")).unwrap();
        for script in [
            "git commit -q --allow-empty -m two",
            "git symbolic-ref refs/heads/alias refs/heads/side",
            "git symbolic-ref -d refs/heads/alias; rm -f $COMMON/refs/heads/alias",
            "git rev-parse HEAD > $COMMON/refs/heads/alias",
        ] {
            without_effect(world, script);
            assert_eq!(alias(), "ref: refs/heads/main\n", "{script}");
        }
    });
}

#[test]
fn a_flood_of_branches_hides_nothing() {
    for level in levels() {
        let world = World::new(level, "topic", "");
        let before = world.refs();
        // Deeper than any branch, so that they cannot be listed.
        let script = "d=$COMMON/refs/heads/x; for n in 1 2 3 4 5 6 7 8 9 10; do d=$d/x/x/x/x; done; mkdir -p $d && \
                      git commit-tree -m evil HEAD^{tree} > $COMMON/refs/heads/main; rm -f $COMMON/refs/heads/side; \
                      git rev-parse HEAD > $d/x";
        let done = world.contained(script);
        for name in ["refs/heads/main", "refs/heads/side", "refs/heads/topic"] {
            assert_eq!(world.refs().get(name), before.get(name), "{level}: {done:?}");
        }
        assert!(done.report.contains("too many branches"), "{level}: {done:?}");
    }
}
