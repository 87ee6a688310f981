//! A program with a time limit, and an end for all that it started.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(25);

/// What became of a program.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Its exit code; none where it was ended by a signal, ours among them.
    pub code: Option<i32>,
    /// It was ended by us: its time was up, or enough was seen.
    pub ended: bool,
    /// What it printed, stdout before stderr.
    pub output: String,
    /// How long it ran.
    pub took: Duration,
}

/// Runs the command and waits for it, for so long at most, and no longer once `enough` says so. Its output goes into files of `dir`: a child of the
/// program that outlives it holds no pipe of ours open. Then its process group is ended.
pub fn run(command: &mut Command, dir: &Path, limit: Duration, enough: impl Fn() -> bool) -> io::Result<Ran> {
    let (out, err) = (dir.join("stdout"), dir.join("stderr"));
    command.stdout(File::create(&out)?).stderr(File::create(&err)?).process_group(0);
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let (status, ended) = loop {
        if let Some(status) = child.try_wait()? {
            break (status, false);
        }
        if begun.elapsed() >= limit || enough() {
            end_group(child.id());
            child.kill()?;
            break (child.wait()?, true);
        }
        thread::sleep(LOOK);
    };
    let took = begun.elapsed();
    end_group(child.id());
    let text = |file| fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ran { code: status.code(), ended, output: text(out)? + &text(err)?, took })
}

fn end_group(leader: u32) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // That nobody is left is as well.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let dir = std::env::temp_dir().join(format!("rehearsal-run-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo begun; (sleep 2; touch late) & sleep 60"]).current_dir(&dir);
        let ran = run(&mut command, &dir, Duration::from_millis(300), || false).unwrap();
        assert!(ran.ended && ran.code.is_none() && ran.output == "begun\n", "{ran:?}");
        thread::sleep(Duration::from_secs(2));
        assert!(!dir.join("late").exists());
        fs::remove_dir_all(&dir).unwrap();
    }
}
