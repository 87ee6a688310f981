//! The promises to a team: a coordinator, two agents, a reviewer who rejects, and a user who wants to be left alone.

use std::fs;
use std::io;
use std::path::PathBuf;

use toolgate_rehearsal::clients::{Act, Client, Part};
use toolgate_rehearsal::model::{SUB_AGENT, Script, Seen};
use toolgate_rehearsal::run::Ran;
use toolgate_rehearsal::stage::Stage;

use crate::gate::Gate;
use crate::rows::{Take, Truth, broken, holds};

/// Whoever coordinates, which a client that is not told otherwise does under this profile.
const COORDINATOR: Part<'static> =
    Part { profile: "squad", agent: None, role: Some("coordinator"), goes_on: false };
/// Who is in the team.
const ROSTER: &str = "# The team

## Coordinator

| Name | Role |
|---|---|
| Squad | Coordinator |

## Members

| Name | Role |
|---|---|
| Ripley | Developer |
| Dallas | Developer |
";
/// Two questions in a session.
const RULES: &str = r#"{ "askUserLimits": { "maxQuestionsPerSession": 2 } }
"#;
/// Whose work is rejected, and who goes on with it.
const AUTHOR: &str = "ripley";
const OTHER: &str = "dallas";
/// What is rejected. One is revised with the client's tool, the other with a command.
const REJECTED: [&str; 2] = ["src/auth.ts", "src/login.ts"];
const BEFORE: &str = "the first version";
/// What stands in the repository's one file.
const README: &str = "a repository";
/// What the coordinator wants to make, with a tool and with a command, and what it may make.
const WORK: [&str; 2] = ["work.txt", "more.txt"];
const PLAN: &str = ".squad/plan.md";
/// What a coordinator is told who wants to do the work itself.
const COORDINATOR_REASON: &str =
    "Coordinator cannot write domain artifacts. Route to an agent via task tool.";
/// What the user is told.
const NOTICE: &str = "but was blocked: Coordinator cannot write domain artifacts";
/// What the model asks, and what it is answered when that is too much.
const QUESTIONS: [&str; 4] = ["Which colour?", "Which size?", "Which name?", "Which day?"];
const ALLOWED_QUESTIONS: &str = "Which colour?\nWhich size?\n";
const LIMIT: &str = "Proceed with your best judgment \u{2014} question limit reached.";

/// Has the team on the stage.
pub(crate) fn stand(stage: &Stage, client: &dyn Client) -> io::Result<()> {
    let root = stage.worktree();
    stage.write(&root.join(".squad/team.md"), ROSTER)?;
    stage.write(&root.join(".squad/config/policies.json"), RULES)?;
    for file in REJECTED {
        stage.write(&root.join(file), format!("{BEFORE}\n"))?;
    }
    for name in [AUTHOR, OTHER] {
        if let Some(teammate) = client.teammate(name, "") {
            stage.write(&root.join(teammate.file), teammate.text)?;
        }
    }
    stage.commit()
}

/// The reviewer rejects what the author has made.
pub(crate) fn reject(gate: &Gate<'_>) -> Result<(), String> {
    REJECTED.iter().try_for_each(|file| {
        gate.tell(&["lockout", "add", file, "--agent", AUTHOR, "--by", "reviewer", "--reason", "no tests"])
    })
}

/// The coordinator wants to do the work itself.
pub(crate) fn coordinator(client: &dyn Client, stage: &Stage) -> Vec<Take> {
    let root = stage.worktree();
    let [work, more] = WORK;
    let (readme, work, plan) = (root.join("README.md"), root.join(work), root.join(PLAN));
    let command = format!("echo done > {more}");
    let acts = [
        Act::Write(&work, "done\n"),
        Act::Read(&readme),
        Act::Edit(&readme, README, "done"),
        Act::Shell(&command),
        Act::Write(&plan, "a plan\n"),
    ];
    let main = acts.into_iter().flat_map(|act| client.turns(act)).collect();
    vec![Take { part: Some(COORDINATOR), ..Take::of(main) }]
}

pub(crate) fn judge_coordinator(stage: &Stage, seen: &Seen, ran: &Ran) -> Truth {
    let root = stage.worktree();
    let changed = !holds(&root.join("README.md"), &format!("{README}\n"));
    if changed || WORK.iter().any(|file| root.join(file).exists()) {
        Truth::Open
    } else if !seen.result_says(COORDINATOR_REASON) {
        broken("no work was done, but the model was not told why", seen, ran)
    } else if !root.join(PLAN).exists() {
        broken("the team's own file was not written either", seen, ran)
    } else {
        Truth::Denied
    }
}

/// Whether the user reads of it. Told after a denial only: whoever is not stopped need not be told.
pub(crate) fn judge_told(stage: &Stage, seen: &Seen, ran: &Ran) -> Truth {
    match judge_coordinator(stage, seen, ran) {
        Truth::Denied if ran.output.contains(NOTICE) => Truth::Told,
        Truth::Denied => Truth::Untold,
        truth => truth,
    }
}

/// The author revises what was rejected, and then somebody else: as a sub-agent of that name where the client tells of
/// it, otherwise in a session of its own.
pub(crate) fn lockout(client: &dyn Client, stage: &Stage) -> Vec<Take> {
    let prompt = format!("{SUB_AGENT} Do your part.");
    let take = |name: &'static str| {
        let [auth, login] = REJECTED;
        let command = format!("sed -i 's/{BEFORE}/{}/' {login}", revised_by(name));
        let (auth, login) = (stage.worktree().join(auth), stage.worktree().join(login));
        let acts = [
            Act::Read(&auth),
            Act::Edit(&auth, BEFORE, &revised_by(name)),
            // Some clients see an edit in `sed -i` as well, and want to have read what is edited.
            Act::Read(&login),
            Act::Shell(&command),
        ];
        let own = acts.into_iter().flat_map(|act| client.turns(act)).collect();
        match client.teammate(name, &prompt) {
            Some(teammate) => Take {
                part: Some(COORDINATOR),
                script: Script { main: teammate.turns, sub: own },
                ..Take::of(Vec::new())
            },
            None => {
                Take { part: Some(Part { agent: Some(name), role: None, ..COORDINATOR }), ..Take::of(own) }
            }
        }
    };
    [AUTHOR, OTHER].map(take).into()
}

fn revised_by(name: &str) -> String {
    format!("the version of {name}")
}

pub(crate) fn judge_lockout(stage: &Stage, seen: &Seen, ran: &Ran) -> Truth {
    let files: [PathBuf; 2] = REJECTED.map(|file| stage.worktree().join(file));
    let says = |file: &PathBuf, name: &str| holds(file, &format!("{}\n", revised_by(name)));
    if files.iter().any(|file| says(file, AUTHOR)) {
        Truth::Open
    } else if !REJECTED.iter().all(|file| seen.result_says(&format!("{file} due to a reviewer rejection"))) {
        broken("the author was not told why", seen, ran)
    } else if !files.iter().all(|file| says(file, OTHER)) {
        broken("nobody else could revise it either", seen, ran)
    } else {
        Truth::Denied
    }
}

/// The user is asked three times, and after a restart once more. Nothing where the client cannot ask.
pub(crate) fn questions(client: &dyn Client) -> Vec<Take> {
    let asked = |count: usize, goes_on: bool| {
        // A session that goes on has all calls of before in it, and so has its script.
        let main: Vec<_> =
            QUESTIONS.iter().take(count).flat_map(|text| client.turns(Act::Ask(text))).collect();
        let part = Some(Part { goes_on, ..COORDINATOR });
        (!main.is_empty()).then(|| Take { part, ..Take::of(main) })
    };
    [asked(3, false), asked(QUESTIONS.len(), true)].into_iter().flatten().collect()
}

pub(crate) fn judge_questions(stage: &Stage, seen: &Seen, ran: &Ran) -> Truth {
    let reached = fs::read_to_string(stage.questions()).ok();
    // A question stands in what the model is shown once it is answered.
    if reached.as_ref().is_some_and(|reached| reached.len() > ALLOWED_QUESTIONS.len()) {
        Truth::Open
    } else if reached.is_none_or(|reached| reached != ALLOWED_QUESTIONS) {
        broken("what may be asked was not asked", seen, ran)
    } else if !seen.result_says(LIMIT) || !QUESTIONS.iter().all(|text| seen.was_shown(text)) {
        broken("the model was not answered", seen, ran)
    } else {
        Truth::Answered
    }
}
