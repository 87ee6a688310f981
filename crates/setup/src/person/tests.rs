//! The look at processes, on a made-up machine.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// Pseudo-terminal 5.
const TERMINAL: u32 = (136 << 8) | 5;
/// The process that asks.
const OWN: u32 = 900;

struct World {
    proc: TempDir,
}

/// A process to be made up.
struct Made<'m> {
    id: u32,
    parent: u32,
    session: u32,
    program: &'m str,
    words: &'m str,
    environ: &'m str,
    user: u32,
    terminal: u32,
    holds: Option<u32>,
}

const PLAIN: Made<'static> = Made {
    id: 1,
    parent: 0,
    session: 1,
    program: "/usr/lib/systemd/systemd",
    words: "init",
    environ: "HOME=/home/u\0",
    user: 1000,
    terminal: 0,
    holds: None,
};

impl World {
    /// A desktop: a terminal program, a shell in it, and this process.
    fn new(maker: &Made<'_>) -> World {
        let world = World { proc: tempfile::tempdir().unwrap() };
        world.add(&Made { user: 0, ..PLAIN });
        world.add(&Made { id: 10, parent: 1, session: 10, ..PLAIN });
        world.add(maker);
        let shell = Made { program: "/usr/bin/zsh", words: "-zsh", terminal: TERMINAL, ..PLAIN };
        world.add(&Made { id: 500, parent: maker.id, session: 500, ..shell });
        let own = Made { program: "/usr/bin/toolgate", words: "toolgate", terminal: TERMINAL, ..PLAIN };
        world.add(&Made { id: OWN, parent: 500, session: 500, ..own });
        world
    }

    fn add(&self, made: &Made<'_>) {
        let dir = self.proc.path().join(made.id.to_string());
        for sub in ["fd", "fdinfo", "ns"] {
            fs::create_dir_all(dir.join(sub)).unwrap();
        }
        let name = made.program.rsplit('/').next().unwrap();
        let Made { parent, session, terminal, .. } = made;
        let put = |name: &str, text: String| fs::write(dir.join(name), text).unwrap();
        put("stat", format!("{} (a) b) S {parent} 7 {session} {terminal} 7 0\n", made.id));
        put("comm", format!("{name}\n"));
        put("cmdline", made.words.replace(' ', "\0"));
        put("environ", made.environ.to_owned());
        put("uid_map", "         0          0 4294967295\n".to_owned());
        let user = made.user;
        put(
            "status",
            format!(
                "Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n"
            ),
        );
        let _ = fs::remove_file(dir.join("exe"));
        symlink(made.program, dir.join("exe")).unwrap();
        if let Some(index) = made.holds {
            symlink("/dev/ptmx", dir.join("fd/7")).unwrap();
            fs::write(dir.join("fdinfo/7"), format!("pos:\t0\nflags:\t02\ntty-index:\t{index}\n")).unwrap();
        }
    }

    fn put(&self, id: u32, name: &str, text: &str) {
        fs::write(self.proc.path().join(id.to_string()).join(name), text).unwrap();
    }

    fn seen(&self) -> Result<(), String> {
        let scene = Scene {
            processes: Processes { proc: self.proc.path().to_path_buf() },
            user: 1000,
            roots: vec![PathBuf::from("/home/u/work")],
        };
        let terminal = scene.own_terminal(OWN, Some(TERMINAL), Some(TERMINAL))?;
        scene.not_contained(OWN)?;
        scene.not_below_agent(OWN)?;
        scene.made_for_people(OWN, terminal)
    }
}

fn terminal(program: &'static str) -> Made<'static> {
    Made { id: 400, parent: 10, session: 400, program, words: program, holds: Some(5), ..PLAIN }
}

#[test]
fn a_person_in_a_terminal_program_is_seen() {
    for program in
        ["/usr/libexec/gnome-terminal-server", "/usr/bin/kitty", "/home/u/.local/kitty.app/bin/kitty"]
    {
        assert_eq!(World::new(&terminal(program)).seen(), Ok(()), "{program}");
    }
}

#[test]
fn a_terminal_that_a_program_made_is_no_persons() {
    for (maker, why) in [
        (terminal("/usr/bin/python3.12"), "an interpreter"),
        (terminal("/usr/bin/script"), "a recorder"),
        (terminal("/usr/share/code/code"), "an editor that agents drive"),
        (terminal("/home/u/work/target/debug/pty"), "a program that an agent built"),
        (terminal("/tmp/kitty"), "a program in a place that is open to all"),
        (terminal("/home/u/.local/bin/claude"), "a host"),
        (Made { environ: "CLAUDECODE=1\0", ..terminal("/usr/bin/kitty") }, "a terminal that an agent opened"),
        (Made { holds: None, ..terminal("/usr/bin/kitty") }, "nobody is known to hold the other side"),
    ] {
        assert!(World::new(&maker).seen().is_err(), "{why}");
    }
}

#[test]
fn what_comes_from_an_agents_host_is_no_person() {
    let world = World::new(&terminal("/usr/bin/kitty"));
    // The shell was started by a host, though its terminal is a person's.
    let words = "node /usr/lib/node_modules/@openai/codex/bin/codex.js";
    world.add(&Made { id: 450, parent: 400, session: 450, program: "/usr/bin/node", words, ..PLAIN });
    let shell = Made { program: "/usr/bin/bash", words: "bash", terminal: TERMINAL, ..PLAIN };
    world.add(&Made { id: 500, parent: 450, session: 500, ..shell });
    let told = world.seen().unwrap_err();
    assert!(told.contains("an agent's host"), "{told}");
    // The process has left it; the leader of its session has not.
    world.add(&Made {
        id: OWN,
        parent: 10,
        session: 500,
        program: "/usr/bin/toolgate",
        words: "toolgate",
        terminal: TERMINAL,
        ..PLAIN
    });
    assert!(world.seen().is_err());
    let world = World::new(&terminal("/usr/bin/kitty"));
    world.put(500, "environ", "A=b\0GEMINI_CLI=1\0");
    assert!(world.seen().unwrap_err().contains("GEMINI_CLI"));
}

#[test]
fn a_contained_process_is_no_person() {
    for (name, text) in [
        ("environ", "TOOLGATE_CONTAINED=full\0"),
        ("status", "Uid:\t1000\nNoNewPrivs:\t1\nSeccomp:\t0\n"),
        ("status", "Uid:\t1000\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n"),
        ("status", "Uid:\t1000\n"),
        ("uid_map", "0 1000 1\n"),
    ] {
        let world = World::new(&terminal("/usr/bin/kitty"));
        world.put(OWN, name, text);
        assert!(world.seen().is_err(), "{name} {text:?}");
    }
    // A container holds back everybody in it.
    let world = World::new(&terminal("/usr/bin/kitty"));
    for id in [1, OWN] {
        world.put(id, "status", "Uid:\t1000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
    }
    assert_eq!(world.seen(), Ok(()));
    let world = World::new(&terminal("/usr/bin/kitty"));
    for (id, number) in [(1, "mnt:[1]"), (OWN, "mnt:[2]")] {
        symlink(number, world.proc.path().join(id.to_string()).join("ns/mnt")).unwrap();
    }
    assert!(world.seen().is_err(), "another namespace than the first process");
}

#[test]
fn a_login_over_the_network_and_a_console_are_a_persons() {
    let sshd = Made { user: 0, holds: None, ..terminal("/usr/sbin/sshd") };
    assert_eq!(World::new(&sshd).seen(), Ok(()), "a process of somebody else has made it");
    let world = World::new(&Made { holds: None, ..terminal("/usr/bin/kitty") });
    let scene =
        Scene { processes: Processes { proc: world.proc.path().to_path_buf() }, user: 1000, roots: vec![] };
    assert_eq!(scene.made_for_people(OWN, (4 << 8) | 1), Ok(()));
    assert!(scene.made_for_people(OWN, (4 << 8) | 64).is_err(), "a serial line");
}

#[test]
fn a_multiplexer_needs_somebody_who_looks_at_it() {
    let server = terminal("/usr/bin/tmux");
    let world = World::new(&server);
    assert!(world.seen().is_err(), "an agent may have started it for itself");
    let client =
        Made { id: 700, parent: 10, session: 700, program: "/usr/bin/tmux", words: "tmux a", ..PLAIN };
    world.add(&Made { terminal: (136 << 8) | 6, ..client });
    assert!(world.seen().is_err(), "nobody knows who made the client's terminal");
    world.add(&Made { id: 600, holds: Some(6), ..terminal("/usr/bin/kitty") });
    assert_eq!(world.seen(), Ok(()));
}

#[test]
fn input_and_output_are_the_sessions_own_terminal() {
    let world = World::new(&terminal("/usr/bin/kitty"));
    let scene =
        Scene { processes: Processes { proc: world.proc.path().to_path_buf() }, user: 1000, roots: vec![] };
    for (input, output) in [(Some(TERMINAL + 1), Some(TERMINAL)), (Some(TERMINAL), None)] {
        assert!(scene.own_terminal(OWN, input, output).is_err());
    }
    assert_eq!(pseudo_terminal(TERMINAL), Some(5));
    assert_eq!(pseudo_terminal((136 << 8) | 0x2c | (1 << 20)), Some(0x12c), "more than 256 of them");
}
