//! A command that wants to harm the repository or the person who uses it next.

use std::fs;
use std::os::unix::fs::symlink;

use miniz_oxide::deflate::compress_to_vec_zlib;
use sha1::{Digest, Sha1};

use crate::world::{World, at_each_level, everywhere};

fn id(plain: &[u8]) -> String {
    Sha1::digest(plain).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Has a command store bytes as the object with this id.
fn plant(world: &World, id: &str, stored: &[u8]) -> String {
    world.write("w/forged", stored);
    let (prefix, rest) = id.split_at(2);
    let done = world.contained(&format!("mkdir -p $OBJECTS/{prefix} && cp forged $OBJECTS/{prefix}/{rest}"));
    done.ok().report
}

fn is_there(world: &World, id: &str) -> bool {
    let (prefix, rest) = id.split_at(2);
    fs::symlink_metadata(world.common().join("objects").join(prefix).join(rest)).is_ok()
}

#[test]
fn objects_are_what_their_names_say() {
    at_each_level(|world| {
        let plain = b"blob 5\0hello";
        let good = compress_to_vec_zlib(plain, 6);
        let report = plant(world, &id(plain), &good);
        assert!(is_there(world, &id(plain)), "{report}");

        let tree =
            |entry: &str| [format!("tree {}\0{entry}\0", entry.len() + 21).as_bytes(), &[1; 20]].concat();
        let whole = |plain: &[u8]| (id(plain), compress_to_vec_zlib(plain, 6));
        let mut bomb = b"blob 1099511627776\0".to_vec();
        bomb.resize(32 << 20, 0);
        let mut lies = b"blob 5\0".to_vec();
        lies.resize(32 << 20, 0);
        let cut = compress_to_vec_zlib(b"blob 7\0cut off", 6);
        for (name, (id, stored)) in [
            ("wrong id", ("ab".repeat(20), good.clone())),
            ("bomb", whole(&bomb)),
            ("longer than it says", whole(&lies)),
            ("shorter than it says", whole(b"blob 50\0hello!")),
            ("cut off", (id(b"blob 7\0cut off"), cut.get(..cut.len() - 6).unwrap().to_vec())),
            (
                "something behind",
                (id(b"blob 6\0behind"), [compress_to_vec_zlib(b"blob 6\0behind", 6), b"x".to_vec()].concat()),
            ),
            ("no header", whole(b"hello")),
            ("unknown kind", whole(b"evil 5\0hello")),
            ("malformed length", whole(b"blob 05\0hello")),
            ("tree with .git", whole(&tree("100644 .git"))),
            ("tree that leads up", whole(&tree("100644 .."))),
            ("malformed commit", whole(b"commit 5\0hello")),
            ("malformed tag", whole(b"tag 5\0hello")),
            ("not deflated", (id(b"blob 3\0abc"), b"blob 3\0abc".to_vec())),
            ("empty", ("cd".repeat(20), Vec::new())),
        ] {
            let report = plant(world, &id, &stored);
            assert!(!is_there(world, &id), "{name}");
            assert!(report.contains("was not taken over"), "{name}: {report}");
            world.is_sound();
            // What is left there does not keep the next command from its work.
            let (prefix, rest) = id.split_at(2);
            world.contained(&format!("rm -f $OBJECTS/{prefix}/{rest}")).ok();
        }
    });
}

#[test]
fn links_and_pipes_among_objects_lead_nowhere() {
    at_each_level(|world| {
        let plain = b"blob 6\0secret";
        fs::create_dir(world.path("ssh")).unwrap();
        world.write("ssh/key", compress_to_vec_zlib(plain, 6));
        let id = id(plain);
        let (prefix, rest) = id.split_at(2);
        for script in [
            format!("mkdir -p $OBJECTS/{prefix} && ln -s $TOP/ssh/key $OBJECTS/{prefix}/{rest}"),
            format!("mkdir -p $OBJECTS/{prefix} && mkfifo $OBJECTS/{prefix}/{rest}"),
            format!("mkdir -p $OBJECTS/{prefix}/{rest}"),
            format!("rm -rf $OBJECTS/{prefix}; ln -s $TOP/w/store $OBJECTS/{prefix}"),
            "rm -rf $OBJECTS/pack; ln -s $TOP/ssh $OBJECTS/pack".to_owned(),
            "rm -rf $OBJECTS/info; ln -s $TOP/ssh $OBJECTS/info".to_owned(),
        ] {
            fs::create_dir_all(world.path("w/store")).unwrap();
            fs::copy(world.path("ssh/key"), world.path("w/store").join(rest)).unwrap();
            let done = world.contained(&script);
            assert!(!is_there(world, &id), "{script}: {done:?}");
            assert!(fs::symlink_metadata(world.common().join("objects/pack")).unwrap().is_dir());
            world.is_sound();
            world.contained(&format!("rm -rf $OBJECTS/{prefix} $OBJECTS/pack $OBJECTS/info"));
        }
        assert_eq!(fs::read_dir(world.path("ssh")).unwrap().count(), 1);
        world.contained("git commit -q --allow-empty -m two").ok();
        assert_eq!(world.log(world.branch), ["two", "one"]);
    });
}

#[test]
fn a_forged_pack_is_refused() {
    at_each_level(|world| {
        let script = "echo two >> file && git commit -qam two && git repack -q -a -d && cd $OBJECTS/pack \
                      && for p in *.pack; do chmod u+w $p; printf x | dd of=$p bs=1 seek=40 conv=notrunc 2>&1; done";
        let before = world.refs();
        let done = world.contained(script);
        assert_eq!(world.refs(), before, "{done:?}");
        assert!(done.report.contains("was not taken over"), "{done:?}");
    });
}

#[test]
fn branches_are_ids_of_commits() {
    everywhere(|world| {
        let heads =
            format!("$COMMON/refs/heads/{}", world.branch.rsplit_once('/').map_or("", |(above, _)| above));
        let before = world.refs();
        for content in [
            "echo 'ref: refs/heads/main' > H/new",
            "ln -s /etc/passwd H/new",
            "ln -s $COMMON/HEAD H/new",
            "ln -s $TOP H/new",
            "echo nonsense > H/new",
            "echo 0123456789012345678901234567890123456789 > H/new",
            "git rev-parse HEAD^{tree} > H/new",
            "git rev-parse HEAD > H/a..b",
            "git rev-parse HEAD > H/.hidden",
            "git rev-parse HEAD > \"H/with space\"",
            "git rev-parse HEAD > H/HEAD",
            "git rev-parse HEAD > \"H/$(printf 'a\\033[2Jb')\"",
            "git rev-parse HEAD > H/-option",
            "mkfifo H/pipe",
            "mkdir -p H/a.lock/b && git rev-parse HEAD > H/a.lock/b/c",
            "printf '%s' \"$(git commit-tree -m x HEAD^{tree}) junk\" > H/new",
        ] {
            let script = content.replace("H/", &format!("{heads}/"));
            let done = world.contained(&script).ok();
            let mut after = world.refs();
            // Below a directory of its own this is a name like any other.
            after.remove("refs/heads/agent/one/HEAD");
            after.remove("refs/heads/agent/one/-option");
            assert_eq!(after, before, "{} {}: {content}: {done:?}", world.level, world.branch);
            assert!(
                done.report.contains("not taken over")
                    || content.contains("H/HEAD")
                    || content.contains("H/-option"),
                "{content}: {done:?}"
            );
            world.is_sound();
        }
    });
}

#[test]
fn a_branch_whose_history_is_not_whole_stays() {
    everywhere(|world| {
        let before = world.refs();
        let script = "echo two >> file && git commit -qam two && t=$(git rev-parse HEAD^{tree}) \
                      && rm -f $OBJECTS/$(echo $t | cut -c1-2)/$(echo $t | cut -c3-)";
        let done = world.contained(script).ok();
        assert_eq!(world.refs(), before, "{done:?}");
        assert!(done.report.contains("is not whole"), "{done:?}");
    });
}

#[test]
fn what_leads_git_to_the_repository_stays() {
    everywhere(|world| {
        let marker = world.path("w/marker");
        world.script("w/evil", &format!("#!/bin/sh\ntouch {}\n", marker.display()));
        let monitor =
            format!("[core]\nfsmonitor = {}\nrepositoryformatversion = 0\n", world.path("w/evil").display());
        fs::create_dir_all(world.path("w/fake/objects")).unwrap();
        fs::create_dir_all(world.path("w/fake/refs")).unwrap();
        world.write("w/fake/HEAD", "ref: refs/heads/main\n");
        world.write("w/fake/config", &monitor);
        world.outside("r", "git config extensions.worktreeConfig true");
        let gitfile = fs::read(world.path("w/.git")).unwrap();
        for script in [
            "echo $TOP/w/fake > $OWN/commondir",
            "rm $OWN/commondir; echo $TOP/w/fake > $OWN/commondir",
            "mv $OWN/commondir x; ln -s $TOP/w/pointer $OWN/commondir",
            "rm -f $OWN/commondir",
            "cp fake/config $OWN/config.worktree",
            "ln -s $TOP/w/fake/config $OWN/config.worktree",
            "echo gitdir: $TOP/w/fake > .git",
            "rm -f .git; cp -r fake .git",
            "mv .git git; ln -s fake .git",
            "echo /elsewhere > $OWN/gitdir",
            "echo no > $OWN/locked",
            "rm -rf $OWN/*",
            "mkdir $OWN/locked $OWN/config.worktree",
        ] {
            if script.starts_with("rm -rf") {
                // Its own index and head are the command's to lose; the way to the repository is not.
                world.outside("w", "cp -r $OWN $TOP/kept");
            }
            let done = world.contained(script);
            assert_eq!(fs::read(world.path("w/.git")).unwrap(), gitfile, "{script}: {done:?}");
            assert_eq!(fs::read(world.own().join("commondir")).unwrap(), b"../..\n", "{script}: {done:?}");
            assert!(!world.own().join("config.worktree").exists(), "{script}: {done:?}");
            assert!(!world.own().join("locked").exists(), "{script}: {done:?}");
            if script.starts_with("rm -rf") {
                world.outside("w", "rm -rf $OWN && mv $TOP/kept $OWN");
            }
            world.outside("w", "git status");
            assert!(!marker.exists(), "{script}: {done:?}");
        }
        world.contained("git commit -q --allow-empty -m two").ok();
        assert_eq!(world.log(world.branch), ["two", "one"]);
    });
}

#[test]
fn git_outside_writes_through_no_link() {
    everywhere(|world| {
        world.write("precious", "precious\n");
        let logs = format!("$COMMON/logs/refs/heads/{}", world.branch);
        for place in [
            "$OWN/COMMIT_EDITMSG",
            "$OWN/logs/HEAD",
            "$OWN/ORIG_HEAD",
            "$OWN/FETCH_HEAD",
            "$OWN/MERGE_MSG",
            &logs,
        ] {
            let done =
                world.contained(&format!("mkdir -p $OWN/logs; rm -f {place}; ln -s $TOP/precious {place}"));
            assert!(done.report.contains("moved away") || place == logs, "{place}: {done:?}");
            world.outside(
                "w",
                "git commit -q --allow-empty -m outside; git reset -q --hard HEAD~1; git fetch -q . main",
            );
            assert_eq!(
                fs::read_to_string(world.path("precious")).unwrap(),
                "precious\n",
                "{place}: {done:?}"
            );
        }
        world.is_sound();
    });
}

#[test]
fn our_own_git_is_a_program_that_the_command_cannot_have_written() {
    at_each_level(|world| {
        let marker = world.path("marker");
        world.script("w/git", &format!("#!/bin/sh\ntouch {}\nexec /usr/bin/git \"$@\"\n", marker.display()));
        symlink("git", world.path("w/git-2")).unwrap();
        world
            .contained("PATH=$TOP/w:$PATH; export PATH; /usr/bin/git commit -q --allow-empty -m two; true")
            .ok();
        assert!(!marker.exists());
    });
}

/// What git outside believes of a worktree's own files: which paths it writes, which programs it runs, which branches it moves.
#[test]
fn git_outside_acts_by_nothing_that_a_command_has_forged() {
    const INDEX: &str = r#"
import hashlib, os, struct
name = b"../evil"
blob = hashlib.sha1(b"blob 4\0one\n").digest()
entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 0) + blob + struct.pack(">H", len(name)) + name
text = b"DIRC" + struct.pack(">2I", 2, 1) + entry + bytes(8 - len(entry) % 8)
open(os.environ["OWN"] + "/index", "wb").write(text + hashlib.sha1(text).digest())
"#;
    const PROGRAM: &str = "mkdir git-merge-x; printf '#!/bin/sh\\ntouch ../evil\\nexit 2\\n' > git-merge-x/y; chmod +x git-merge-x/y; ";
    const REBASE: &str = "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --root --no-ff; ";
    everywhere(|world| {
        world.write("w/index.py", INDEX);
        let before = world.refs();
        for (script, outside, reported) in [
            ("python3 index.py".to_owned(), "git restore . || git reset -q", "index was not taken over"),
            (
                format!(
                    "{PROGRAM} mkdir $OWN/sequencer; git rev-parse HEAD > $OWN/sequencer/head; \
                     printf 'pick HEAD x\\npick HEAD x\\n' > $OWN/sequencer/todo; \
                     printf '[options]\\n\\tstrategy = x/y\\n' > $OWN/sequencer/opts"
                ),
                "git cherry-pick --continue; git cherry-pick --quit",
                "sequencer/opts was not taken over",
            ),
            (
                format!("{PROGRAM} {REBASE} echo x/y > $OWN/rebase-merge/strategy"),
                "git rebase --continue; git rebase --abort",
                "rebase-merge/strategy was not taken over",
            ),
            (
                format!(
                    "{REBASE} printf 'refs/heads/side\\n%s\\n%s\\n' $(git rev-parse side) \
                     $(git commit-tree -m evil 'HEAD^{{tree}}') > $OWN/rebase-merge/update-refs"
                ),
                "git rebase --continue",
                "rebase-merge/update-refs was not taken over",
            ),
            (
                format!("{REBASE} echo refs/heads/side > $OWN/rebase-merge/head-name"),
                "git rebase --continue; git checkout -q $BRANCH",
                "rebase-merge/head-name was not taken over",
            ),
        ] {
            let done = world.contained(&script);
            assert!(done.report.contains(reported), "{}: {script}: {done:?}", world.level);
            let outside = outside.replace("$BRANCH", world.branch);
            world.try_outside("w", &format!("set +e; {outside}"));
            assert!(!world.path("evil").exists(), "{}: {script}: {done:?}", world.level);
            assert_eq!(world.refs().get("refs/heads/side"), before.get("refs/heads/side"), "{script}");
            world.outside(
                "w",
                &format!(
                    "git rebase --quit || true; git checkout -qf {} && git reset -q --hard && git clean -qfd",
                    world.branch
                ),
            );
            world.write("w/index.py", INDEX);
        }
        world.contained("echo two > file && git commit -qam two").ok();
    });
}

/// References and notes by which git outside would write other branches, a link, or a file of its own choice; beside them, what would stop whoever
/// looks at them.
#[test]
fn no_note_of_a_command_leads_git_to_other_branches_or_files() {
    const STATE: &str = "mkdir $OWN/rebase-merge; cd $OWN/rebase-merge; git rev-parse HEAD | tee onto > orig-head; \
                         git symbolic-ref HEAD > head-name; : > interactive; : > quiet; echo noop > git-rebase-todo; \
                         echo 1 | tee msgnum > end; ";
    const REBASE: &str = "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --root --no-ff; ";
    at_each_level(|world| {
        world.write("precious", "precious\n");
        let before = world.refs();
        let link = "rm -f $OWN/COMMIT_EDITMSG; ln -s $TOP/precious $OWN/COMMIT_EDITMSG";
        for (script, outside) in [
            (format!("python3 -c \"import os; os.makedirs('$OWN/A' + '/x' * 70)\"; {link}"), "true"),
            (format!("mkdir $OWN/A; chmod 000 $OWN/A; {link}"), "true"),
            (format!("mkdir $OWN/A; cd $OWN/A; seq 100001 | xargs touch; {link}"), "true"),
            (
                format!(
                    "{REBASE} cd $OWN/rebase-merge; echo 'exec touch $TOP/evil' >> git-rebase-todo; \
                     chmod 555 .; {link}"
                ),
                "git rebase --continue",
            ),
            ("echo 'ref: refs/heads/side' > $OWN/ORIG_HEAD".to_owned(), "git reset -q"),
            ("echo 'ref: refs/heads/main' > $OWN/HEAD".to_owned(), "true"),
            ("echo 'ref: refs/tags/old' > $OWN/HEAD".to_owned(), "true"),
            ("printf 'ref: refs/heads/main' > $OWN/HEAD; rm $OWN/ORIG_HEAD".to_owned(), "git reset -q"),
            (
                "git commit -q --allow-empty -m y; git bisect start HEAD HEAD~1; mkdir -p $OWN/refs/bisect; \
                 echo 'ref: refs/heads/side' > $OWN/refs/bisect/bad"
                    .to_owned(),
                "git bisect bad HEAD; git bisect reset",
            ),
            (
                "git commit -q --allow-empty -m y; git bisect start HEAD HEAD~1; echo -Bside > $OWN/BISECT_START"
                    .to_owned(),
                "git bisect reset",
            ),
            (
                format!("{STATE} printf 'refs/heads/side\\nrefs/tags/old\\n' > refs-to-delete"),
                "git rebase --abort",
            ),
            (
                format!(
                    "{STATE} python3 -c 'print(\"refs/heads/side\\0\" + \"x\" * (65 << 20))' > head-name"
                ),
                "git rebase --abort",
            ),
            (
                "mkdir $OWN/rebase-apply; cd $OWN/rebase-apply; echo 1 | tee next > last; : > applying; \
                 echo \" '--build-fake-ancestor=$TOP/precious'\" > apply-opt"
                    .to_owned(),
                "test ! -e $OWN/rebase-apply/apply-opt || echo > ../evil",
            ),
        ] {
            let done = world.contained(&script);
            assert!(done.report.contains("refused:"), "{}: {script}: {done:?}", world.level);
            let outside = outside.replace("$OWN", &world.own().display().to_string());
            world.try_outside(
                "w",
                &format!("set +e; {outside}; git commit -q --allow-empty -m outside; git reset -q --soft HEAD~1"),
            );
            assert!(!world.path("evil").exists(), "{}: {script}: {done:?}", world.level);
            let precious = fs::read_to_string(world.path("precious")).unwrap();
            assert_eq!(precious, "precious\n", "{}: {script}: {done:?}", world.level);
            let own = format!("refs/heads/{}", world.branch);
            let others = |mut refs: std::collections::BTreeMap<String, String>| {
                refs.remove(&own);
                refs.retain(|name, _| !name.starts_with("refs/bisect"));
                refs
            };
            assert_eq!(others(world.refs()), others(before.clone()), "{}: {script}: {done:?}", world.level);
            world.outside(
                "w",
                &format!(
                    "chmod 755 {own}/rebase-merge || true; rm -rf {own}/rebase-merge {own}/rebase-apply; \
                     git bisect reset || true; git checkout -qf {branch} && git reset -q --hard && git clean -qfd",
                    own = world.own().display(),
                    branch = world.branch,
                ),
            );
        }
        world.contained("echo two > file && git commit -qam two").ok();
    });
}

/// A branch whose objects are missing may be that of a command in another worktree, which is still at work. A command cannot pretend that there is one.
#[test]
fn a_lock_on_another_worktree_keeps_no_broken_branch() {
    at_each_level(|world| {
        let before = world.refs();
        let script = "heads=$COMMON/refs/heads/$(dirname $(git branch --show-current)); mkdir -p $heads; \
                      (flock -s 9; sleep 3) 9< $COMMON/worktrees/v > /dev/null 2>&1 & \
                      sleep 0.3; echo 0123456789012345678901234567890123456789 > $heads/evil";
        let done = world.contained(script);
        assert_eq!(world.refs(), before, "{}: {done:?}", world.level);
    });
}

/// Other users of the machine cannot write what git believes of a worktree, whatever a command would let them.
#[test]
fn the_own_directory_of_a_worktree_is_opened_to_nobody_else() {
    use std::os::unix::fs::PermissionsExt;
    at_each_level(|world| {
        let mode = || std::fs::metadata(world.own()).unwrap().permissions().mode();
        let before = mode();
        for script in ["git init -q --shared=all || true", "chmod 777 $(git rev-parse --git-dir) || true"] {
            let done = world.contained(script);
            assert_eq!(mode(), before, "{}: {script}: {done:?}", world.level);
        }
        world.contained("echo two > file && git commit -qam two").ok();
    });
}
