//! A team from outside: who may revise what, who may say so, what its own rules can do, and who is told of what.
//!
//! The built binary, real events on stdin, real worktrees, real `git` and `bash`. Every hook is a process of its own, so each
//! call after the first is one after a restart.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use crate::support::squad::{ROSTER, Squad, audited, call, notice, prompt, question};
use crate::support::{Said, Session, fifo, git, have, write};
use serde_json::{Value, json};

/// A token in the shape of a real one, in parts.
fn token() -> String {
    format!("{}{}", "ghp_", "0123456789abcdefghijABCDEFGHIJ012345")
}

fn on_terminals() -> bool {
    have("setsid", &["--wait", "true"])
}

// --- Lockouts -----------------------------------------------------------------------------------------------

/// Every way to revise `src/auth.ts` that a host and a shell offer.
fn ways_to_revise(place: &Path) -> Vec<(&'static str, Value)> {
    let file = place.join("src/auth.ts");
    let shell = |command: &str| ("Bash", json!({"command": command}));
    vec![
        ("Write", json!({"file_path": file, "content": "new\n"})),
        ("Edit", json!({"file_path": file, "old_string": "one", "new_string": "1"})),
        ("Write", json!({"file_path": place.join("src/../src/./auth.ts"), "content": "new\n"})),
        shell("sed -i s/one/1/ src/auth.ts"),
        shell("cat > src/auth.ts <<'E'\nnew\nE"),
        shell("cd src && cat >> auth.ts < /dev/null"),
        shell("mv src/menu.ts src/auth.ts"),
        shell("mv src/auth.ts src/old.ts"),
        shell("rm -r src"),
        shell("git checkout -- src/auth.ts"),
        shell("ln -sf src/auth.ts link && echo x > link"),
        shell("bash -c 'echo x | tee src/auth.ts'"),
    ]
}

#[test]
fn a_rejected_author_cannot_revise_the_artifact_and_others_can() {
    let squad = Squad::new();
    let (ripley, kane, dallas) = (squad.place("ripley"), squad.place("kane"), squad.place("dallas"));
    let author = squad.session("r1", "ripley");
    let edit = json!({"file_path": ripley.join("src/auth.ts"), "old_string": "one", "new_string": "1"});
    assert_eq!(author.call("Edit", &edit), Said::Nothing);

    // The reviewer rejects, through a call of its own.
    let reject = "toolgate lockout add src/auth.ts --agent Ripley --by dallas --reason 'no tests'";
    assert_eq!(author.shell(reject), "deny");
    assert_eq!(squad.session("d1", "dallas").shell(reject), "nothing");
    let answer = squad.bash(&dallas, reject);
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert!(dallas.join(".squad/lockout.json").is_file());
    let listed = squad.toolgate(&ripley, &["lockout", "list"]).stdout;
    assert!(listed.contains("src/auth.ts  ripley, by dallas: no tests"), "{listed}");

    // In this session and after a restart of its host alike.
    for id in ["r1", "r2"] {
        let author = squad.session(id, "ripley");
        for (tool, input) in ways_to_revise(&ripley) {
            let said = author.call(tool, &input);
            let Said::Deny(reason) = said else { panic!("{tool} {input}: {said:?}") };
            let last = squad.machine.last_record();
            let policies: Vec<_> =
                last["findings"].as_array().unwrap().iter().map(|f| &f["policy"]).collect();
            // What git would write is not followed; there another policy denies.
            let by_git = input.to_string().contains("git checkout");
            let policy = if by_git { "destructive" } else { "reviewer-lockout" };
            assert!(policies.contains(&&json!(policy)), "{tool} {input}: {reason} {last}");
            assert_eq!(last["agent"], "ripley");
        }
        assert_eq!(author.write(ripley.join("src/menu.ts")), "nothing", "everything else is open");
        assert_eq!(author.read(ripley.join("src/auth.ts")), "nothing");
        assert_eq!(author.shell("cat src/auth.ts && git diff -- src/auth.ts"), "nothing");
    }
    let said = author.call("Edit", &edit);
    let told = format!(
        "ripley is locked out from revising {} due to a reviewer rejection. A different agent must produce the revision.",
        ripley.join("src/auth.ts").display()
    );
    assert!(matches!(&said, Said::Deny(reason) if reason.starts_with(&told)), "{said:?}");

    // Its helper is no reviewer either.
    let more = json!({"tool_name": "Bash", "tool_input": {"command": "toolgate lockout add src --agent kane"},
        "agent_id": "a1", "agent_type": "dallas"});
    assert_eq!(author.event("PreToolUse", &more).said().word(), "deny");

    // Nor through a helper of its own, whatever that is called.
    for (id, kind) in [("a1", "general-purpose"), ("a2", "kane"), ("a3", "coordinator"), ("kane", "dallas")] {
        let more = json!({"tool_name": "Edit", "tool_input": edit, "agent_id": id, "agent_type": kind});
        assert_eq!(author.event("PreToolUse", &more).said().word(), "deny", "{id} {kind}");
    }

    // Nor as somebody's sub-agent whose kind the host tells only at the head of its id.
    let coordinator = squad.coordinator("c1");
    let edit = json!({"file_path": squad.main.join("src/auth.ts"), "old_string": "one", "new_string": "1"});
    for (id, expected) in [
        ("ripley-call_7", "deny"),
        ("Ripley-chatcmpl-tool-7", "deny"),
        ("kane-call_7", "nothing"),
        ("ripleys-call_7", "nothing"),
    ] {
        let more = json!({"tool_name": "Edit", "tool_input": edit, "agent_id": id});
        assert_eq!(coordinator.event("PreToolUse", &more).said().word(), expected, "{id}");
    }

    // Another agent may, in its own worktree.
    let edit = json!({"file_path": kane.join("src/auth.ts"), "old_string": "one", "new_string": "1"});
    let other = squad.session("k1", "kane");
    assert_eq!(other.call("Edit", &edit), Said::Nothing);
    assert_eq!(other.shell("sed -i s/one/1/ src/auth.ts"), "nothing");
}

#[test]
fn changes_of_the_repository_do_not_undo_a_lockout() {
    let squad = Squad::new();
    squad.lock_out("ripley", "src/auth.ts");
    let file = squad.main.join(".squad/lockout.json");
    assert!(fs::read_to_string(&file).unwrap().contains("ripley"));
    let place = squad.place("ripley");
    let locked = |when: &str| {
        assert_eq!(squad.session("r", "ripley").write(place.join("src/auth.ts")), "deny", "{when}");
    };
    locked("as it stands");
    git(&squad.main, ["add", "-A"]);
    git(&squad.main, ["stash", "-q"]);
    assert!(!file.exists());
    locked("after git stash");
    write(&file, "");
    git(&squad.main, ["add", "-A"]);
    git(&squad.main, ["commit", "-q", "-m", "an empty list"]);
    locked("with an empty list");
    write(&file, "{\"artifact\":\"src/menu.ts\",\"agent\":\"ripley\"}\n");
    git(&squad.main, ["checkout", "-q", "--", ".squad/lockout.json"]);
    locked("after git checkout");
    fs::remove_dir_all(squad.main.join(".squad")).unwrap();
    locked("without the team's directory");

    // What somebody else wrote into the team's file counts as well; a broken one closes everything.
    write(&place.join(".squad/lockout.json"), "{\"artifact\":\"src/menu.ts\",\"agent\":\"Ripley\"}\n");
    assert_eq!(squad.session("r", "ripley").write(place.join("src/menu.ts")), "deny");
    assert_eq!(squad.session("r", "ripley").write(place.join("src/new.ts")), "nothing");
    write(&place.join(".squad/lockout.json"), "{\"artifact\":\n");
    let (answer, told) =
        call(&squad.session("r", "ripley"), "Write", &json!({"file_path": place.join("src/new.ts")}));
    assert_eq!(answer.said().word(), "deny");
    assert!(told.is_some_and(|told| told.contains("Ripley attempted Write on ")), "{answer:?}");
    assert_eq!(squad.session("r", "ripley").read(place.join("src/new.ts")), "nothing");
}

#[test]
fn agents_cannot_change_lockouts_roles_or_phases() {
    let squad = Squad::new();
    squad.lock_out("ripley", "src/auth.ts");
    let author = squad.session("r1", "ripley");
    let place = squad.place("ripley");
    for command in [
        "toolgate lockout clear src/auth.ts",
        "toolgate lockout add src/menu.ts --agent kane",
        "toolgate agent add ripley --role coordinator",
        "toolgate agent remove ripley",
        "toolgate phase set team-mode",
        "toolgate phase clear",
        "toolgate pause --no-hooks",
        "toolgate pause --end",
        "toolgate trust",
        "script -qec 'toolgate pause --no-hooks' /dev/null",
        "sh -c 'yes yes | toolgate lockout clear src/auth.ts'",
        "echo '{}' > .squad/lockout.json",
        "rm .squad/lockout.json",
        "echo x >> .squad/security-audit.log",
        "echo '{\"agents\":[]}' > ~/.local/state/toolgate/agents.json",
    ] {
        assert_eq!(author.shell(command), "deny", "{command}");
    }
    // A reviewer rejects, and no more than that.
    let reviewer = squad.session("d1", "dallas");
    for command in [
        "toolgate lockout clear src/auth.ts",
        "toolgate agent add ripley --role coordinator",
        "toolgate lockout add src/auth.ts --agent kane --state /tmp/other",
        "toolgate pause --no-hooks",
    ] {
        assert_eq!(reviewer.shell(command), "deny", "{command}");
    }
    for command in ["toolgate lockout list", "toolgate agent list --json", "toolgate phase show"] {
        assert_eq!(author.shell(command), "nothing", "{command}");
    }
    // Should one get through all the same: the command wants a person.
    for args in [
        &["lockout", "clear", "src/auth.ts"][..],
        &["phase", "set", "team-mode"],
        &["phase", "clear"],
        &["pause", "--no-hooks"],
    ] {
        let answer = squad.toolgate(&place, args);
        assert_eq!(answer.code(), Some(1), "{args:?} {answer:?}");
        assert!(answer.stderr.contains("only a person can do this: run it in a terminal"), "{answer:?}");
    }
    assert_eq!(author.write(place.join("src/auth.ts")), "deny");
}

#[test]
fn a_person_can_clear_a_lockout_on_a_terminal() {
    if !on_terminals() {
        return;
    }
    let squad = Squad::new();
    squad.lock_out("ripley", "src/auth.ts");
    let place = squad.place("ripley");
    let author = squad.session("r1", "ripley");
    assert_eq!(author.write(place.join("src/auth.ts")), "deny");
    let answer = squad.on_terminal(&place, "lockout clear src/auth.ts", "no\n");
    assert_eq!(answer.code(), Some(1), "{answer:?}");
    assert_eq!(author.write(place.join("src/auth.ts")), "deny");
    let answer = squad.on_terminal(&place, "lockout clear src/auth.ts", "yes\n");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert_eq!(squad.machine.last_record()["event"], "lockout-clear");
    for (tool, input) in ways_to_revise(&place).iter().take(4) {
        assert_eq!(author.call(tool, input), Said::Nothing, "{tool} {input}");
    }
    // The file as it was before does not bring it back.
    git(&squad.main, ["checkout", "-q", "--", "."]);
    assert_eq!(author.write(place.join("src/auth.ts")), "nothing");
}

#[test]
fn the_user_is_notified_when_everybody_is_locked_out_of_an_artifact() {
    let squad = Squad::new();
    let place = squad.place("ripley");
    let author = squad.session("r1", "ripley");
    let input = json!({"file_path": place.join("src/auth.ts"), "content": "x"});
    squad.lock_out("ripley", "src/auth.ts");
    let (answer, told) = call(&author, "Write", &input);
    assert_eq!(
        (answer.said().word(), told),
        ("deny", None),
        "the first denial is between toolgate and the agent"
    );
    // By a directory above and by a glob: it is the same artifact.
    squad.lock_out("kane", "src");
    squad.lock_out("dallas", "src/*.ts");
    for id in ["r1", "r2"] {
        let (answer, told) = call(&squad.session(id, "ripley"), "Write", &input);
        assert_eq!(answer.said().word(), "deny");
        let told = told.expect("every one of them is told");
        assert!(told.starts_with("\u{26a0}\u{fe0f} Ripley attempted Write on "), "{told}");
        assert!(told.ends_with(". Routing to an alternative."), "{told}");
    }
    let finding = &squad.machine.last_record()["findings"][0];
    assert_eq!(finding["policy"], "reviewer-lockout");
}

// --- Sessions -----------------------------------------------------------------------------------------------

#[test]
fn questions_are_counted_per_session_across_processes() {
    let squad = Squad::new();
    let coordinator = squad.coordinator("c1");
    for number in 0..5 {
        assert_eq!(coordinator.call("AskUserQuestion", &question()), Said::Nothing, "{number}");
    }
    for _ in 0..2 {
        let said = coordinator.call("AskUserQuestion", &question());
        let limit = "Proceed with your best judgment \u{2014} question limit reached.";
        assert!(matches!(&said, Said::Deny(reason) if reason.contains(limit)), "{said:?}");
    }
    // Resumed: the same session, begun again.
    let answer = coordinator.event("SessionStart", &json!({"source": "resume"}));
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert_eq!(coordinator.call("AskUserQuestion", &question()).word(), "deny");
    assert_eq!(squad.coordinator("c2").call("AskUserQuestion", &question()), Said::Nothing, "a new one");
    let ended = coordinator.event("SessionEnd", &json!({"reason": "exit"}));
    assert_eq!(ended.code(), Some(0), "{ended:?}");
}

#[test]
fn team_files_cannot_be_written_before_the_user_agrees_to_the_team() {
    for (reply, agreed) in [
        ("yes", true),
        ("Build the login page", true),
        ("add someone for DevOps", false),
        ("no", false),
        ("Change Kane's role", false),
    ] {
        let squad = Squad::with_files(&[]);
        let session = squad.coordinator("c1");
        let roster = squad.main.join(".squad/team.md");
        let writes = |session: &Session| {
            let by_tool = session.write(&roster);
            let by_shell = session.shell("mkdir -p .squad && echo x > .squad/team.md");
            assert_eq!(by_tool, by_shell);
            by_tool
        };
        assert_eq!(writes(&session), "deny", "before a word was said");
        prompt(&session, "yes, set up a team for this project");
        assert_eq!(writes(&session), "deny", "the first prompt is the task, not the answer");
        assert_eq!(session.read(squad.main.join("src/auth.ts")), "nothing");
        prompt(&session, reply);
        assert_eq!(writes(&session), if agreed { "nothing" } else { "deny" }, "{reply}");
        if agreed {
            let resumed = session.event("SessionStart", &json!({"source": "resume"}));
            assert_eq!(resumed.code(), Some(0));
            assert_eq!(writes(&session), "nothing", "it survives");
        } else {
            prompt(&session, "fine, go");
            assert_eq!(writes(&session), "nothing", "{reply}, then yes");
        }
        assert_eq!(writes(&squad.coordinator("c2")), "deny", "another session has agreed to nothing");
        write(&roster, ROSTER);
        assert_eq!(writes(&squad.coordinator("c3")), "nothing", "a team that is there needs no more of that");
    }
}

#[test]
fn a_person_can_set_and_clear_the_phase_on_a_terminal() {
    if !on_terminals() {
        return;
    }
    let squad = Squad::with_files(&[]);
    let write = |id: &str| squad.coordinator(id).write(squad.main.join(".squad/team.md"));
    assert_eq!(write("c1"), "deny");
    let answer = squad.on_terminal(&squad.main, "phase set init-phase-2", "yes\n");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert_eq!(write("c1"), "nothing");
    assert_eq!(write("c2"), "nothing");
    let answer = squad.on_terminal(&squad.main, "phase clear", "yes\n");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert_eq!(write("c1"), "deny");
}

// --- The team's own rules -----------------------------------------------------------------------------------

const RULES: &str = ".squad/config/policies.json";

/// A squad whose rules are these, in the main checkout and in every worktree.
fn ruled(rules: &Value) -> Squad {
    let squad = Squad::new();
    for place in [squad.main.clone(), squad.place("ripley"), squad.place("kane")] {
        write(&place.join(RULES), rules.to_string());
    }
    squad
}

#[test]
fn broken_team_rules_deny_a_call_and_name_their_line() {
    let squad = Squad::new();
    for (text, told) in [
        ("{\n  \"shellBlocklist\": {\n", "this is not JSON"),
        ("{\n  \"shelBlocklist\": {}\n}\n", "unknown field `shelBlocklist`"),
        ("{\n  \"askUserLimits\": {\"maxQuestionsPerSession\": \"5\"}\n}\n", "maxQuestionsPerSession"),
        (
            "{\n\"shellBlocklist\": {\"customPatterns\": [{\"pattern\": \"(\", \"reason\": \"x\"}]}}",
            "cannot be read",
        ),
    ] {
        let file = squad.main.join(RULES);
        write(&file, text);
        let session = squad.coordinator("c1");
        let said = session.call("Read", &json!({"file_path": squad.main.join("README.md")}));
        let Said::Deny(reason) = said else { panic!("{text}: {said:?}") };
        assert!(reason.contains(told), "{text}: {reason}");
        assert!(reason.contains("policies.json:"), "it names the line: {reason}");
        assert!(reason.contains("have a person fix the settings"), "{reason}");
    }
}

#[test]
fn untrusted_team_rules_can_only_tighten() {
    let squad = ruled(&json!({
        "shellBlocklist": {"enabled": false, "allowForceWithLease": false,
            "customPatterns": [{"pattern": "make\\s+deploy", "reason": "ask the platform team"}]},
        "piiScrubbing": {"enabled": false,
            "customPatterns": [{"pattern": "CUST-[0-9]{6}", "replacement": "[customer]"}]},
        "askUserLimits": {"maxQuestionsPerSession": 2},
        "fileWriteGuards": {"enabled": false},
        "reviewerLockout": {"enabled": false},
    }));
    squad.lock_out("ripley", "src/auth.ts");
    let (coordinator, author) = (squad.coordinator("c1"), squad.session("r1", "ripley"));
    // What would loosen has no effect.
    assert_eq!(coordinator.write(squad.main.join("src/auth.ts")), "deny");
    assert_eq!(author.write(squad.place("ripley").join("src/auth.ts")), "deny");
    assert_eq!(author.shell("rm -rf /"), "deny");
    assert_eq!(author.shell("git push --force"), "deny");
    // What tightens has.
    assert_eq!(author.shell("git push --force-with-lease"), "deny");
    for expected in ["nothing", "nothing", "deny"] {
        assert_eq!(coordinator.call("AskUserQuestion", &question()).word(), expected);
    }
    // A repository's expressions are not run before somebody has trusted them.
    let said = author.call("Bash", &json!({"command": "cd src; make   deploy"}));
    assert_eq!(said.word(), "rewrite", "contained, and not denied");
    assert_eq!(scrubbed(&author, "order of CUST-123456"), "order of CUST-123456");
    assert!(!scrubbed(&author, &format!("the token {}", token())).contains(&token()), "the core stays on");
}

/// What is left of a tool's output.
fn scrubbed(session: &Session, output: &str) -> String {
    let more = json!({"tool_name": "Bash", "tool_input": {"command": "ls"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": false, "isImage": false}});
    let answer = session.event("PostToolUse", &more).json();
    let updated = answer.map(|answer| answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"].clone());
    updated.map_or_else(|| output.to_owned(), |text| text.as_str().unwrap().to_owned())
}

#[test]
fn trusted_team_rules_loosen_everything_but_the_floor() {
    if !on_terminals() {
        return;
    }
    let squad = ruled(&json!({
        "shellBlocklist": {"enabled": false,
            "customPatterns": [{"pattern": "make\\s+deploy", "reason": "ask the platform team"}]},
        "piiScrubbing": {"enabled": false,
            "customPatterns": [{"pattern": "CUST-[0-9]{6}", "replacement": "[customer]"}]},
        "askUserLimits": {"maxQuestionsPerSession": 7},
        "fileWriteGuards": {"enabled": false},
        "reviewerLockout": {"enabled": false},
    }));
    squad.lock_out("ripley", "src/auth.ts");
    let author = squad.session("r1", "ripley");
    assert_eq!(squad.coordinator("c1").write(squad.main.join("src/auth.ts")), "deny");
    let answer = squad.on_terminal(&squad.main, "trust", "yes\n");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert_eq!(squad.coordinator("c1").write(squad.main.join("src/auth.ts")), "nothing");
    assert_eq!(author.write(squad.place("ripley").join("src/auth.ts")), "nothing", "in all of its worktrees");
    for number in 0..8 {
        let expected = if number < 7 { "nothing" } else { "deny" };
        assert_eq!(squad.coordinator("c1").call("AskUserQuestion", &question()).word(), expected, "{number}");
    }
    for command in ["rm -rf /", "rm -rf ~", "git push --force", "mkfs.ext4 /dev/sda1", "toolgate trust"] {
        assert_eq!(author.shell(command), "deny", "the floor: {command}");
    }
    assert!(!scrubbed(&author, &format!("the token {}", token())).contains(&token()));
    let said = author.call("Bash", &json!({"command": "cd src; make   deploy"}));
    assert!(matches!(&said, Said::Deny(reason) if reason.contains("ask the platform team")), "{said:?}");
    assert_eq!(scrubbed(&author, "order of CUST-123456"), "order of [customer]");
    assert_eq!(author.write(squad.place("ripley").join(RULES)), "deny");
    assert_eq!(author.read("/etc/shadow"), "deny");
    // One letter more, and it is another file.
    let file = squad.main.join(RULES);
    let text = fs::read_to_string(&file).unwrap();
    write(&file, format!("{text} "));
    assert_eq!(squad.coordinator("c1").write(squad.main.join("src/auth.ts")), "deny");
}

#[test]
fn only_the_coordinator_may_write_the_rules_and_the_roster() {
    let squad = ruled(&json!({}));
    let (author, coordinator) = (squad.session("r1", "ripley"), squad.coordinator("c1"));
    let place = squad.place("ripley");
    for file in [place.join(RULES), squad.main.join(RULES), place.join(".squad/team.md")] {
        let name = file.display();
        for command in [
            format!("echo '{{}}' > {name}"),
            format!("sed -i s/a/b/ {name}"),
            format!("cp src/auth.ts {name}"),
            format!("rm {name}"),
            format!("mv {name} /tmp/elsewhere"),
            format!("ln -sf {name} link; echo x > link"),
            format!("python3 - <<'E'\nopen('{name}', 'w').write('x')\nE"),
        ] {
            assert_eq!(author.shell(&command), "deny", "{command}");
        }
        assert_eq!(author.write(&file), "deny", "{name}");
        assert_eq!(
            author.call("Edit", &json!({"file_path": file, "old_string": "", "new_string": "x"})).word(),
            "deny"
        );
    }
    assert_eq!(author.shell("rm -rf .squad"), "deny");
    assert_eq!(author.shell("mv .squad .other"), "deny");
    assert_eq!(coordinator.write(squad.main.join(RULES)), "nothing");
    assert_eq!(coordinator.write(squad.main.join(".squad/team.md")), "nothing");
    assert_eq!(coordinator.shell("echo '{}' > .squad/config/policies.json"), "nothing");
    // A link in place of the file would have another file's words read as rules.
    let outside = squad.machine.file("outside.json", "{}");
    fs::remove_file(squad.main.join(RULES)).unwrap();
    symlink(outside, squad.main.join(RULES)).unwrap();
    assert_eq!(coordinator.read(squad.main.join("README.md")), "deny");
}

#[test]
fn user_rules_and_team_file_rules_apply_beside_the_teams_own_rules() {
    let squad = ruled(&json!({}));
    let (author, place) = (squad.session("r1", "ripley"), squad.place("ripley"));
    let team = place.join(".squad");
    write(&team.join("agents/ripley/history.md"), "first\n");
    write(
        &squad.machine.user_settings(),
        "[[command]]\npattern = \"make deploy\"\nmessage = \"not from here\"\n",
    );
    assert_eq!(author.write(team.join("decisions/inbox/ripley-a.md")), "nothing");
    assert_eq!(author.write(team.join("agents/kane/notes.md")), "deny");
    assert_eq!(author.write(team.join("agents/ripley/history.md")), "deny", "it only grows");
    assert_eq!(author.shell("echo second >> .squad/agents/ripley/history.md"), "nothing");
    assert_eq!(author.shell("echo second > .squad/agents/ripley/history.md"), "deny");
    assert_eq!(author.shell("make deploy"), "deny");
    if on_terminals() {
        assert_eq!(squad.on_terminal(&place, "trust", "yes\n").code(), Some(0));
        assert_eq!(author.shell("make deploy"), "deny", "rules that say nothing of commands take none away");
    }
}

#[test]
fn team_files_in_the_main_checkout_apply_to_its_worktrees() {
    for name in [".squad", ".ai-team"] {
        let squad = Squad::with_files(&[]);
        let place = squad.machine.worktree(&squad.main, "ripley");
        write(&squad.main.join(name).join("team.md"), ROSTER);
        let rules = json!({"askUserLimits": {"maxQuestionsPerSession": 1}});
        write(&squad.main.join(name).join("config/policies.json"), rules.to_string());
        let hook = |session: Session| session.with(|hook| hook.args(["--agent", "ripley"]));
        let author = hook(squad.at("r1", &place));
        assert_eq!(author.call("AskUserQuestion", &question()), Said::Nothing, "{name}");
        assert_eq!(author.call("AskUserQuestion", &question()).word(), "deny", "{name}");
        let team = squad.main.join(name);
        assert_eq!(author.write(team.join("decisions/inbox/ripley-a.md")), "nothing", "{name}");
        assert_eq!(author.write(team.join("decisions.md")), "deny", "{name}");
        assert_eq!(author.write(team.join("config/policies.json")), "deny", "{name}");
        squad.lock_out("ripley", "src/auth.ts");
        assert_eq!(author.write(place.join("src/auth.ts")), "deny", "{name}");
        assert!(team.join("lockout.json").is_file(), "{name}");
    }
}

// --- The log of grave denials -------------------------------------------------------------------------------

#[test]
fn grave_denials_are_written_to_the_teams_log_without_secrets() {
    let squad = Squad::new();
    let (main, place) = (&squad.main, squad.place("ripley"));
    squad.lock_out("ripley", "src/auth.ts");
    let (coordinator, author) = (squad.coordinator("c1"), squad.session("r1", "ripley"));
    assert_eq!(coordinator.write(main.join("src/auth.ts")), "deny");
    assert_eq!(audited(main).len(), 1);
    let entry = &audited(main)[0];
    assert_eq!(
        (&entry["session"], &entry["agent"], &entry["tool"], &entry["policy"]),
        (&json!("c1"), &json!("coordinator"), &json!("Write"), &json!("coordinator-write"))
    );
    assert!(entry["time"].as_str().is_some_and(|time| time.len() > 19), "{entry}");
    assert!(
        entry["reason"].as_str().is_some_and(|reason| reason.contains("Coordinator cannot write")),
        "{entry}"
    );

    let secret = token();
    let writing = |path: &str, content: &str| json!({"file_path": place.join(path), "content": content});
    for (tool, input) in [
        ("Write", writing("src/auth.ts", "x")),
        ("Write", writing(".squad/agents/kane/history.md", "x")),
        ("Write", writing(".squad/decisions/inbox/a.md", "mail jane.doe@corp-mail.com")),
        ("Write", writing(&format!(".squad/agents/kane/{secret}.md"), "x")),
        ("Bash", json!({"command": format!("git push --force https://x:{secret}@github.com/a/b main")})),
        ("Bash", json!({"command": format!("TOKEN={secret} rm -rf / # {secret}")})),
        ("Bash", json!({"command": "git config user.email"})),
        ("Write", writing(".squad/security-audit.log", "")),
    ] {
        let before = audited(&place).len();
        assert_eq!(author.call(tool, &input).word(), "deny", "{tool} {input}");
        assert_eq!(audited(&place).len(), before + 1, "{tool} {input}: {}", squad.machine.last_record());
    }
    for file in [place.join(".squad/security-audit.log"), squad.machine.ledger()] {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&secret) && !text.contains("jane.doe@"), "{text}");
    }
    // What is no grave matter is not in it, nor what was allowed.
    let before = audited(&place).len();
    assert_eq!(author.read(place.join(".squad/agents/kane/history.md")), "deny");
    assert_eq!(author.write(place.join("src/menu.ts")), "nothing");
    assert_eq!(audited(&place).len(), before);
    for command in [
        "rm .squad/security-audit.log",
        "> .squad/security-audit.log",
        "truncate -s 0 .squad/security-audit.log",
    ] {
        assert_eq!(author.shell(command), "deny", "{command}");
        assert_eq!(squad.coordinator("c1").shell(command), "deny", "{command}");
    }
}

#[test]
fn the_teams_log_is_not_written_through_a_link() {
    let squad = Squad::new();
    let log = squad.main.join(".squad/security-audit.log");
    let target = squad.machine.file("target", "before\n");
    symlink(&target, &log).unwrap();
    let deny = |squad: &Squad| {
        let (answer, _) =
            call(&squad.coordinator("c1"), "Write", &json!({"file_path": squad.main.join("src/auth.ts")}));
        assert_eq!(answer.said().word(), "deny");
        assert!(answer.took < Duration::from_secs(4), "{answer:?}");
    };
    deny(&squad);
    assert_eq!(fs::read_to_string(&target).unwrap(), "before\n");
    fs::remove_file(&log).unwrap();
    fifo(&log);
    deny(&squad);
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    deny(&squad);
    // Nor where the team's whole directory leads out of the project.
    fs::remove_dir_all(squad.main.join(".squad")).unwrap();
    let outside = squad.machine.dir("outside");
    write(&outside.join("team.md"), ROSTER);
    symlink(&outside, squad.main.join(".squad")).unwrap();
    assert_eq!(squad.coordinator("c9").write(squad.main.join("src/auth.ts")), "deny");
    assert!(!outside.join("security-audit.log").exists());
}

// --- Telling ------------------------------------------------------------------------------------------------

#[test]
fn the_user_is_notified_of_repeated_denials_in_a_turn() {
    let squad = Squad::new();
    let coordinator = squad.coordinator("c1");
    let path = squad.main.join("src/auth.ts");
    let input = json!({"file_path": path, "content": "x"});
    let wording = format!(
        "\u{26a0}\u{fe0f} Coordinator attempted Write on {} but was blocked: Coordinator cannot write domain artifacts. Route to an agent via task tool. Routing to an alternative.",
        path.display()
    );
    prompt(&coordinator, "fix the login");
    for turn in 0..2 {
        let answers: Vec<_> = (0..5).map(|_| call(&coordinator, "Write", &input)).collect();
        let told: Vec<_> = answers.iter().map(|(_, told)| told.as_deref()).collect();
        assert_eq!(told[..3], [None, Some(wording.as_str()), None], "turn {turn}");
        let stop = "stop trying, and tell the user what you need";
        for (number, (answer, _)) in answers.iter().enumerate() {
            assert_eq!(answer.reason().contains(stop), number >= 3, "turn {turn}, {number}: {answer:?}");
        }
        assert_eq!(told[3], Some(wording.as_str()), "turn {turn}: the user hears that it has given up");
        prompt(&coordinator, "go on");
    }
    // Another policy is another matter, and so is another agent.
    assert_eq!(call(&coordinator, "Bash", &json!({"command": "git push --force"})).1, None);
    let more = json!({"tool_name": "Write", "tool_input": {"file_path": squad.main.join(".squad/decisions.md"), "content": "x"},
        "agent_id": "a1", "agent_type": "kane"});
    for expected in [false, true] {
        assert_eq!(notice(&coordinator.event("PreToolUse", &more)).is_some(), expected);
    }
}

#[test]
fn the_user_is_notified_of_ten_denials_within_a_minute() {
    let squad = Squad::new();
    let session = squad.session("r1", "ripley");
    let burst = |told: &Option<String>| {
        told.as_deref().is_some_and(|told| told.contains("were denied within a minute"))
    };
    // Each by another policy than the one before, as far as there are any: no retry tells of them.
    let inputs = [
        ("Read", json!({"file_path": "/etc/shadow"})),
        ("Write", json!({"file_path": "/etc/passwd", "content": "x"})),
        ("Bash", json!({"command": "git push --force"})),
        ("Bash", json!({"command": "toolgate trust"})),
        (
            "Write",
            json!({"file_path": squad.place("ripley").join(".squad/config/policies.json"), "content": "x"}),
        ),
    ];
    for number in 1..=12 {
        if number % 5 == 1 {
            prompt(&session, "another turn");
        }
        let (tool, input) = &inputs[number % inputs.len()];
        let (answer, told) = call(&session, tool, input);
        assert_eq!(answer.said().word(), "deny");
        assert_eq!(burst(&told), number == 10, "{number}: {told:?}");
    }
}

// --- A gate that is switched off ----------------------------------------------------------------------------

#[test]
fn a_person_can_pause_the_gate_but_not_the_floor() {
    if !on_terminals() {
        return;
    }
    let squad = Squad::new();
    let main = &squad.main;
    let session = squad.coordinator("c1");
    assert_eq!(session.write(main.join("src/auth.ts")), "deny");
    let answer = squad.on_terminal(main, "pause --no-hooks --minutes 5", "no\n");
    assert_eq!(answer.code(), Some(1), "{answer:?}");
    assert_eq!(session.write(main.join("src/auth.ts")), "deny");
    let answer = squad.on_terminal(main, "pause --no-hooks --minutes 5", "yes\n");
    assert_eq!(answer.code(), Some(0), "{answer:?}");
    assert!(answer.stdout.contains("Security warning: for 5 minutes every agent in "), "{answer:?}");
    let record = squad.machine.last_record();
    assert_eq!(record["event"], "security-warning: pause --no-hooks", "{record}");
    assert_eq!(
        (&record["args"]["minutes"], &record["args"]["directory"]),
        (&json!("5"), &json!(main)),
        "{record}"
    );

    assert_eq!(session.write(main.join("src/auth.ts")), "nothing");
    let record = squad.machine.last_record();
    assert_eq!(record["decision"], "allow");
    assert!(record["findings"].to_string().contains("switched the gate off"), "recorded as such: {record}");
    assert_eq!(session.shell("git push --force"), "nothing");
    for command in [
        "rm -rf ~",
        "mkfs.ext4 /dev/sda1",
        "toolgate trust",
        "echo x > ~/.local/state/toolgate/ledger.jsonl",
        "rm .squad/lockout.json",
    ] {
        assert_eq!(session.shell(command), "deny", "the floor: {command}");
    }
    assert_eq!(session.read("/etc/shadow"), "deny");
    let author = squad.session("r1", "ripley");
    assert_eq!(
        author.write(squad.place("ripley").join(".squad/decisions.md")),
        "deny",
        "another worktree stands"
    );

    let answer = squad.toolgate(main, &["pause", "--end"]);
    assert_eq!((answer.code(), answer.stdout.trim()), (Some(0), "the gate is on again"), "{answer:?}");
    assert_eq!(squad.machine.last_record()["event"], "pause-end");
    assert_eq!(session.write(main.join("src/auth.ts")), "deny");
}

#[test]
fn a_pause_expires_and_is_never_longer_than_eight_hours() {
    if !on_terminals() {
        return;
    }
    let squad = Squad::new();
    let session = squad.coordinator("c1");
    let answer = squad.on_terminal(&squad.main, "pause --no-hooks --minutes 481", "yes\n");
    assert_eq!(answer.code(), Some(64), "{answer:?}");
    assert_eq!(squad.on_terminal(&squad.main, "pause --no-hooks", "yes\n").code(), Some(0));
    let note = fs::read_dir(squad.machine.state().join("paused")).unwrap().next().unwrap().unwrap().path();
    let until: u64 = fs::read_to_string(&note).unwrap().trim().parse().unwrap();
    let path = squad.main.join("src/auth.ts");
    assert_eq!(session.write(&path), "nothing");
    for (text, word) in [
        ((until - 16 * 60).to_string(), "deny"),
        ((until + 9 * 3600).to_string(), "deny"),
        ("never".to_owned(), "deny"),
        (until.to_string(), "nothing"),
    ] {
        fs::write(&note, text).unwrap();
        assert_eq!(session.write(&path), word);
    }
}

// --- Roles --------------------------------------------------------------------------------------------------

#[test]
fn a_role_limits_files_tools_and_commands() {
    let squad = Squad::with_files(&[("docs/a.md", "a\n")]);
    let (machine, main) = (&squad.machine, &squad.main);
    write(
        &machine.user_settings(),
        r#"
[role.docs]
write = ["docs"]
read = ["docs", "README.md"]
tools = ["Read", "Write", "Edit", "Bash", "mcp__wiki__*"]
commands = ["ls", "git diff", "git status"]

[role.careful]
not-write = ["src/**"]
not-read = ["src/auth.ts"]
not-tools = ["WebFetch"]
not-commands = ["git push", "npm"]

[agent.kane]
role = "docs"

[agent.lambert]
role = "careful"
"#,
    );
    let cases = |session: &Session, sub: Option<&str>, cases: &[(&str, Value, &str)]| {
        for (tool, input, expected) in cases {
            let mut more = json!({"tool_name": tool, "tool_input": input});
            if let Some(kind) = sub {
                more["agent_id"] = json!("a1");
                more["agent_type"] = json!(kind);
            }
            assert_eq!(session.event("PreToolUse", &more).said().word(), *expected, "{sub:?} {tool} {input}");
        }
    };
    let file = |path: &str| json!({"file_path": main.join(path), "content": "x"});
    let shell = |command: &str| json!({"command": command});
    let docs = [
        ("Write", file("docs/a.md"), "nothing"),
        ("Write", file("src/auth.ts"), "deny"),
        ("Read", file("README.md"), "nothing"),
        ("Read", file("src/auth.ts"), "deny"),
        ("WebSearch", json!({"query": "x"}), "deny"),
        ("mcp__wiki__get", json!({"page": "x"}), "nothing"),
        ("mcp__mail__send", json!({"to": "x"}), "deny"),
        ("Bash", shell("ls docs"), "nothing"),
        ("Bash", shell("git diff"), "nothing"),
        ("Bash", shell("git push"), "deny"),
        ("Bash", shell("ls docs && git commit -m x"), "deny"),
        ("Bash", shell("bash -c 'git commit -m x'"), "deny"),
        ("Bash", shell("ls > src/auth.ts"), "deny"),
    ];
    let careful = [
        ("Write", file("docs/a.md"), "nothing"),
        ("Write", file("src/new/a.ts"), "deny"),
        ("Bash", shell("echo x > src/menu.ts"), "deny"),
        ("Read", file("src/menu.ts"), "nothing"),
        ("Read", file("src/auth.ts"), "deny"),
        ("Bash", shell("cat src/auth.ts"), "deny"),
        ("WebFetch", json!({"url": "https://example.com", "prompt": "x"}), "deny"),
        ("Bash", shell("env git push origin main"), "deny"),
        ("Bash", shell("npm install"), "deny"),
        ("Bash", shell("git status"), "nothing"),
    ];
    let by_role = |id: &str, role: &str| machine.session(id, main).with(|hook| hook.args(["--role", role]));
    cases(&by_role("s1", "docs"), None, &docs);
    cases(&by_role("s2", "careful"), None, &careful);
    // A sub-agent's kind is its role, or its name where the settings know it.
    let plain = machine.session("s3", main);
    cases(&plain, Some("docs"), &docs);
    cases(&plain, Some("kane"), &docs);
    cases(&plain, Some("Careful"), &careful);
    cases(
        &plain,
        None,
        &[("Write", file("src/auth.ts"), "nothing"), ("Bash", shell("npm install"), "rewrite")],
    );
    // One that is bound stays bound through helpers of another kind.
    let bound = by_role("s4", "docs");
    for kind in ["general-purpose", "careful", "kane", "lambert"] {
        cases(&bound, Some(kind), &docs[..4]);
    }
    // And by its own role besides.
    let careful = by_role("s5", "careful");
    for kind in ["docs", "kane"] {
        cases(
            &careful,
            Some(kind),
            &[("Bash", shell("npm install"), "deny"), ("Write", file("README.md"), "deny")],
        );
    }
}
