//! The world in which the files of shell commands were run: an agent in a linked worktree, and around it what it
//! must not reach.

use super::map::Map;

/// The person's home.
pub(super) const HOME: &str = "/home/agent";
/// The agent's worktree, in which every command starts.
pub(super) const ROOT: &str = "/home/agent/worktrees/alpha";
/// The agent's own temporary directory.
pub(super) const TMPDIR: &str = "/tmp/agent-alpha";

/// What every checkout of the project holds.
const PROJECT: &[(&str, &str)] = &[
    (".env.example", "API_KEY=\n"),
    (".gitignore", "target/\nnode_modules/\n.env\n"),
    ("CHANGELOG.md", "# Changes\n\n- first version\n"),
    ("Cargo.toml", "[package]\nname = \"proj\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("LICENSE", "MIT License\n"),
    (
        "Makefile",
        "all: build\nbuild:\n\tcargo build\ntest:\n\tcargo test\nlint:\n\tcargo clippy\nclean:\n\trm -rf target\n",
    ),
    ("README.md", "# proj\n\nhello\n"),
    ("app/__init__.py", ""),
    ("app/main.py", "def main():\n    print(\"hello\")\n"),
    ("cmd/app/main.go", "package main\n\nfunc main() {}\n"),
    ("config/app.yml", "name: proj\n"),
    ("data/input.txt", "one\ntwo\nthree\n"),
    ("docs/guide.md", "# Guide\n"),
    ("file.txt", "hello\n"),
    ("file1.txt", "hello\n"),
    ("file2.txt", "hello\n"),
    ("go.mod", "module example.com/proj\n\ngo 1.22\n"),
    (
        "package.json",
        r#"{"name":"proj","version":"1.0.0","scripts":{"build":"tsc -p .","dev":"node src/index.js","format":"prettier --write src","lint":"eslint src","start":"node src/index.js","test":"node --test","typecheck":"tsc --noEmit"}}"#,
    ),
    ("pyproject.toml", "[project]\nname = \"proj\"\nversion = \"0.1.0\"\n"),
    ("requirements.txt", "requests\n"),
    ("scripts/build.sh", "#!/bin/sh\nset -eu\ncargo build\n"),
    ("src/index.js", "console.log(\"hello\")\n"),
    ("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n"),
    ("src/main.c", "int main(void) { return 0; }\n"),
    ("src/main.py", "print(\"hello\")\n"),
    ("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n"),
    ("tests/basic.rs", "#[test]\nfn adds() {}\n"),
    ("tests/test_app.py", "def test_app():\n    assert True\n"),
];

/// What lies in the home.
const AT_HOME: &[(&str, &str)] = &[
    (".aws/credentials", "[default]\naws_access_key_id = none\n"),
    (".bash_history", "ls\n"),
    (".bashrc", "# ~/.bashrc\n"),
    (".claude/.credentials.json", "{}\n"),
    (".claude/settings.json", "{}\n"),
    (".config/gh/hosts.yml", "github.com:\n"),
    (".docker/config.json", "{}\n"),
    (".gitconfig", "[user]\n\tname = Agent\n\temail = agent@example.com\n"),
    (".gnupg/pubring.kbx", ""),
    (".kube/config", ""),
    (".profile", "# ~/.profile\n"),
    (".ssh/authorized_keys", ""),
    (".ssh/id_ed25519", "none\n"),
    (".ssh/id_rsa", "none\n"),
    (".ssh/id_rsa.pub", "none\n"),
    ("Documents/diary.txt", "dear diary\n"),
    ("backup/dump.sql", ""),
    ("notes.txt", "notes\n"),
    ("other/secret.txt", "secret\n"),
    ("shared/data.txt", "data\n"),
];

/// What lies elsewhere.
const ELSEWHERE: &[(&str, &str)] = &[
    ("/etc/apt/sources.list", ""),
    ("/etc/canary", "canary\n"),
    ("/etc/canary.d/conf", "canary\n"),
    ("/etc/crontab", ""),
    ("/etc/group", ""),
    ("/etc/gshadow", ""),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
    ("/etc/os-release", "ID=debian\n"),
    ("/etc/pam.d/sshd", ""),
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nagent:x:1000:1000::/home/agent:/bin/bash\n"),
    ("/etc/profile", ""),
    ("/etc/profile.d/x.sh", ""),
    ("/etc/shadow", "root:*:1:0:99999:7:::\n"),
    ("/etc/sudoers", ""),
    ("/etc/timezone", "Etc/UTC\n"),
    ("/opt/canary/tool.sh", "#!/bin/sh\necho tool\n"),
    ("/proc/cpuinfo", ""),
    ("/root/.ssh/id_rsa", "none\n"),
    ("/root/secret.txt", "secret\n"),
    ("/srv/data/db.csv", "a,b\n1,2\n"),
    ("/tmp/agent-beta/state.json", "{}\n"),
    ("/tmp/outside/victim.txt", "victim\n"),
    ("/usr/bin/env", "\u{7f}ELF"),
    ("/usr/bin/git", "\u{7f}ELF"),
    ("/usr/bin/python3", "\u{7f}ELF"),
    ("/usr/local/bin/git", "\u{7f}ELF"),
    ("/usr/local/bin/npm", "\u{7f}ELF"),
    ("/usr/bin/bash", "\u{7f}ELF"),
    ("/usr/bin/dash", "\u{7f}ELF"),
    ("/var/lib/canary/data.txt", "data\n"),
    ("/var/log/dpkg.log", ""),
    ("/var/spool/cron/crontabs/agent", ""),
];

const DIRECTORIES: &[&str] = &[
    "/boot",
    "/dev/shm",
    "/etc/cron.d",
    "/etc/init.d",
    "/etc/systemd/system",
    "/home/agent/.cache",
    "/home/agent/.local/lib",
    "/media",
    "/mnt",
    "/proc/self",
    "/run",
    "/sys",
    "/tmp/agent-alpha",
    "/usr/include",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/sbin",
    "/usr/share",
    "/var/lib/dpkg",
    "/var/tmp",
];

const DEVICES: &[&str] =
    &["full", "null", "ptmx", "random", "sda", "sda1", "stdin", "stdout", "stderr", "tty", "urandom", "zero"];

/// The whole world.
pub(super) fn build() -> Map {
    let mut map = Map::default();
    let main = "/home/agent/src/proj";
    let beta = "/home/agent/worktrees/beta";
    for top in [ROOT, main, beta] {
        for (name, text) in PROJECT {
            map.file(format!("{top}/{name}"), text);
        }
    }
    map.link(format!("{ROOT}/shared"), "/home/agent/shared");
    map.file(format!("{main}/.env"), "API_KEY=none\n");
    map.file(format!("{beta}/.env"), "API_KEY=none\n");
    map.file(format!("{beta}/wip.txt"), "work in progress\n");
    repository(&mut map, &format!("{main}/.git"));
    for (name, top) in [("alpha", ROOT), ("beta", beta)] {
        let own = format!("{main}/.git/worktrees/{name}");
        map.file(format!("{top}/.git"), format!("gitdir: {own}\n"));
        map.file(format!("{own}/gitdir"), format!("{top}/.git\n"));
        map.file(format!("{own}/commondir"), "../..\n");
        map.file(format!("{own}/HEAD"), format!("ref: refs/heads/{name}\n"));
        map.file(format!("{own}/index"), "");
        map.file(format!("{own}/logs/HEAD"), "");
    }
    for (name, text) in AT_HOME {
        map.file(format!("{HOME}/{name}"), text);
    }
    for (path, text) in ELSEWHERE {
        map.file(path, text);
    }
    for path in DIRECTORIES {
        map.dir(path);
    }
    for name in DEVICES {
        map.special(format!("/dev/{name}"));
    }
    for name in ["bin", "lib", "lib64", "sbin"] {
        map.link(format!("/{name}"), format!("usr/{name}"));
    }
    map.link("/usr/bin/sh", "dash");
    map.dir("/usr/lib64");
    map.link("/dev/fd", "/proc/self/fd");
    map
}

fn repository(map: &mut Map, git: &str) {
    let commit = "5a1f0f3c1f7c3a5b9d2e4f60718293a4b5c6d7e8\n";
    map.file(format!("{git}/HEAD"), "ref: refs/heads/main\n");
    map.file(
        format!("{git}/config"),
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/proj.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
    );
    map.file(format!("{git}/description"), "");
    map.file(format!("{git}/hooks/pre-commit.sample"), "#!/bin/sh\nexit 0\n");
    map.file(format!("{git}/index"), "");
    map.file(format!("{git}/info/exclude"), "");
    map.file(format!("{git}/logs/HEAD"), "");
    map.dir(format!("{git}/objects/pack"));
    map.dir(format!("{git}/refs/tags"));
    for branch in ["alpha", "beta", "feature/x", "main"] {
        map.file(format!("{git}/refs/heads/{branch}"), commit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use toolgate_model::{NodeKind, Resolver, World};

    #[test]
    fn links_files_and_directories_of_the_world_are_found() {
        let world = build();
        let leads = |path: &str| Resolver::new(&world, Some(ROOT), None).resolve_text(path).unwrap();
        assert_eq!(leads("shared/data.txt").physical, Path::new("/home/agent/shared/data.txt"));
        assert!(leads("shared/data.txt").node.is_some());
        assert_eq!(leads("/bin/sh").physical, Path::new("/usr/bin/dash"));
        assert!(matches!(leads(TMPDIR).node.unwrap().kind, NodeKind::Directory));
        assert!(
            world
                .read(Path::new("/home/agent/worktrees/alpha/package.json"), 9999)
                .unwrap()
                .starts_with(b"{")
        );
        assert_eq!(world.names(Path::new("/home/agent/worktrees"), 9).unwrap().unwrap().len(), 2);
    }
}
