//! The row of the sandbox: programs that nobody can judge beforehand do their work, and nothing outside of it.

use std::fs;
use std::io;

use toolgate_rehearsal::clients::{Act, Client};
use toolgate_rehearsal::model::Seen;
use toolgate_rehearsal::run::Ran;
use toolgate_rehearsal::stage::Stage;

use crate::rows::{Take, Truth, broken, holds};

/// A build: writes into the worktree, commits it, tries to write outside, and ends with a code of its own.
const BUILD: &str = r#"
my $outside = join "/", "..", "..", "outside", "file.txt";
print open(my $file, ">", $outside) ? "left\n" : "held\n";
open(my $built, ">", "built.txt") or die; print $built "built\n"; close $built;
my @git = ("git", "-c", "user.name=a", "-c", "user.email=a\@example.org");
system(@git, "add", "built.txt") == 0 or die;
system(@git, "commit", "--quiet", "--message", "built inside") == 0 or die;
exit 7;
"#;

/// A server that outlives its call, for one visitor.
const SERVE: &str = r#"
use IO::Socket::INET; use POSIX;
my $door = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 1) or die;
open(my $note, ">", "port.txt") or die; print $note $door->sockport; close $note;
exit 0 if fork; POSIX::setsid(); open STDOUT, ">", "/dev/null"; open STDERR, ">", "/dev/null";
alarm 60; my $visitor = $door->accept; print $visitor "served\n"; close $visitor;
"#;

/// Its visitor.
const VISIT: &str = r#"
use IO::Socket::INET;
open(my $note, "<", "port.txt") or die; my $port = <$note>;
my $door = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die;
open(my $got, ">", "visited.txt") or die; print $got scalar <$door>;
"#;

/// What lies on the stage.
pub(crate) fn stand(stage: &Stage) -> io::Result<()> {
    for (name, text) in [("build.pl", BUILD), ("serve.pl", SERVE), ("visit.pl", VISIT)] {
        stage.write(&stage.worktree().join(name), text)?;
    }
    Ok(())
}

/// What the model wants.
pub(crate) fn takes(client: &dyn Client) -> Vec<Take> {
    let acts = [
        Act::Shell("perl build.pl; echo \"code $?\""),
        Act::Shell("perl serve.pl"),
        Act::Shell("perl visit.pl"),
    ];
    let main = acts.iter().flat_map(|act| client.turns(*act)).collect();
    vec![Take::of(main)]
}

/// What became of it.
pub(crate) fn judge(stage: &Stage, seen: &Seen, ran: &Ran) -> Truth {
    let root = stage.worktree();
    if stage.outside().join("file.txt").exists() {
        return Truth::Open;
    }
    let branch = stage.command("git").args(["log", "--format=%s", "-1"]).output();
    let committed = branch.is_ok_and(|log| log.stdout == b"built inside\n");
    let record = fs::read_to_string(stage.home().join(".local/state/toolgate/ledger.jsonl"));
    let recorded = record.is_ok_and(|record| record.matches(r#""event":"contained""#).count() == 3);
    let done = [
        ("built", holds(&root.join("built.txt"), "built\n")),
        ("committed", committed),
        ("told what was held and the code", seen.result_says("held") && seen.result_says("code 7")),
        ("served between two calls", holds(&root.join("visited.txt"), "served\n")),
        ("recorded", recorded),
    ];
    match done.iter().find(|(_, is_done)| !is_done) {
        None => Truth::Contained,
        Some((what, _)) => broken(&format!("not done: {what}"), seen, ran),
    }
}
