//! Every example of a spec is read as it says, and the ways to write options.

use super::*;

/// An example of a spec.
struct Example {
    file: &'static str,
    handler: bool,
    run: &'static str,
    does: &'static [&'static str],
}

static EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Splits at blanks outside of quotes.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (' ', None) => words.extend(word.take()),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_with(String::new);
            }
            (_, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_with(String::new).extend(letters.next()),
            _ => word.get_or_insert_with(String::new).push(letter),
        }
    }
    words.extend(word);
    words
}

fn kind_name(kind: WordKind) -> String {
    let (name, language) = match kind {
        WordKind::Code(language) => ("Code".to_owned(), format!(":{language:?}").to_lowercase()),
        WordKind::Script(language) => ("Script".to_owned(), format!(":{language:?}").to_lowercase()),
        other => (format!("{other:?}"), String::new()),
    };
    let dashed = name.chars().enumerate().fold(String::new(), |all, (at, letter)| {
        let dash = if at > 0 && letter.is_uppercase() { "-" } else { "" };
        all + dash + &letter.to_lowercase().to_string()
    });
    dashed + &language
}

fn shown(words: &[String]) -> Vec<Shown<'_>> {
    words.iter().map(|word| Shown { head: word, known: true }).collect()
}

/// What a command of plain words does, sorted. `follow`: also what the commands do that it runs.
fn does(words: &[String], follow: bool) -> Vec<String> {
    let Some((name, words)) = words.split_first() else { return Vec::new() };
    let Some(spec) = find(name) else { return vec![format!("run {name}")] };
    let reading = read(spec, &shown(words));
    let mut all = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    for (kind, slot) in &reading.uses {
        let text = slot.of(&words[slot.word]);
        match kind {
            WordKind::Sed | WordKind::Awk => {}
            WordKind::Assign if follow => {}
            WordKind::Host => all.push("connect".to_owned()),
            WordKind::Settings if text.is_empty() => all.push("settings".to_owned()),
            WordKind::Shell if follow && reading.operands.contains(&slot.word) && !texts.is_empty() => {
                texts.last_mut().unwrap().extend([" ", text]);
            }
            WordKind::Shell if follow => texts.push(text.to_owned()),
            kind => all.push(format!("{} {text}", kind_name(*kind)).trim_end().to_owned()),
        }
    }
    all.extend(texts.iter().flat_map(|text| does(&split(text), true)));
    all.extend(reading.effects.iter().filter_map(|effect| match effect {
        Fixed::Use(kind, path) => Some(format!("{} {path}", kind_name(*kind))),
        Fixed::Setting(..) => None,
        Fixed::RepoRead => Some("repo-read".to_owned()),
        Fixed::RepoWrite => Some("repo-write".to_owned()),
        Fixed::RepoData => Some("repo-data".to_owned()),
        other => Some(format!("{other:?}").to_lowercase()),
    }));
    if !reading.unlisted.is_empty() {
        all.push("unknown".to_owned());
    }
    match reading.rest {
        Some(rest) if follow => all.extend(does(&words[rest..], true)),
        Some(rest) => all.push(format!("command {}", words[rest..].join(" "))),
        None => {}
    }
    all.sort();
    all.dedup();
    all
}

#[test]
fn examples_of_specs_have_the_effects_they_state() {
    let mut wrong = Vec::new();
    for example in EXAMPLES.iter().filter(|example| !example.handler) {
        let mut expected: Vec<_> = example.does.iter().map(|does| (*does).to_owned()).collect();
        expected.sort();
        let found = does(&split(example.run), true);
        if found != expected && does(&split(example.run), false) != expected {
            wrong.push(format!(
                "{}: {}\n  expected {expected:?}\n  found    {found:?}",
                example.file, example.run
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn options_are_read_in_every_spelling() {
    let cases: &[(&str, &[&str])] = &[
        ("cp -rv a b", &["read-tree a", "write-tree b"]),
        ("cp a b -r", &["read-tree a", "write-tree b"]),
        ("cp -- -r b", &["read -r", "write b"]),
        ("cp -td a", &["read a", "write-tree d"]),
        ("cp -vtd a", &["read a", "write-tree d"]),
        ("cp -t d a", &["read a", "write-tree d"]),
        ("cp --target-directory d a", &["read a", "write-tree d"]),
        ("cp --target-directory=d a", &["read a", "write-tree d"]),
        ("cp --tar=d a", &["read a", "write-tree d"]),
        ("cp --r a b", &["read a", "unknown", "write b"]),
        ("cp --verbose=x a b", &["read a", "unknown", "write b"]),
        ("cp --backup a b", &["read a", "write b"]),
        ("cp --mystery a b", &["read a", "unknown", "write b"]),
        ("cp -rQ a b", &["read-tree a", "unknown", "write-tree b"]),
        ("cp - b", &["write b"]),
        ("head -5 a", &["read a"]),
        ("head -c5 a", &["read a"]),
        ("tail +5", &[]),
        ("tar xzf a.tgz", &["read a.tgz", "write-tree ."]),
        ("tar czf a.tgz d", &["read-tree d", "write a.tgz"]),
        ("tar -c -f a.tgz d", &["read-tree d", "write a.tgz"]),
        ("dd if=a of=b bs=1", &["read a", "write b"]),
        ("dd mystery=b", &["unknown"]),
        ("env -i A=b rm x", &["delete x"]),
        ("sudo -u root rm -rf x", &["delete-tree x"]),
        ("ssh -oproxycommand='rm x' h", &["connect", "delete x"]),
        ("ssh -o Mystery=1 h", &["connect", "unknown"]),
        ("curl -F 'a=@b;type=c' http://h", &["connect", "read b"]),
        ("curl file:///etc/passwd", &["read /etc/passwd"]),
        ("scp a h:b", &["connect", "read-tree a"]),
        ("ln -s a/b", &["link a/b", "write-tree ."]),
        ("systemctl list-units --user", &[]),
        ("rclone --dry-run sync a b", &["connect", "list b", "read-tree a"]),
        ("openssl x509 --in a", &["read a"]),
        ("jq --slurpfile a b . c", &["read b", "read c"]),
        ("chmod -x a", &["write a"]),
        ("grep -rl x", &["read-tree ."]),
        ("unzip a", &["read a", "write-tree ."]),
        ("mktemp a", &["write a"]),
        ("7z x -od a", &["read a", "write-tree d"]),
        ("vim +:q a", &["code:other :q", "read a", "unknown", "write a"]),
        ("op --version", &[]),
        ("op --version -x", &["connect", "foreign"]),
        ("sdk -V", &[]),
        ("du -h", &["list ."]),
        ("sqlite3 a .schema", &["code:other .schema", "read a", "write a"]),
        ("sqlite3 'file:/etc/x?mode=rw'", &["read /etc/x", "write /etc/x"]),
        ("docker run -v /a:/b:ro x cat /c", &["connect", "foreign", "read-tree /a"]),
        (
            "docker run --mount type=bind,source=/a,target=/b x",
            &["connect", "foreign", "read-tree /a", "write-tree /a"],
        ),
        ("timeout -k 1 5 nice -5 env A=b rm -r x", &["delete-tree x"]),
        ("flock l -c x", &["run -c", "write l"]),
        (
            "sqlite3 a \"select readfile('b')\"",
            &["code:other select readfile('b')", "read a", "unknown", "write a"],
        ),
    ];
    for (run, expected) in cases {
        assert_eq!(does(&split(run), true), *expected, "{run}");
    }
}

fn read_shown(name: &str, words: &[(&'static str, bool)]) -> Reading {
    let words: Vec<_> = words.iter().map(|(head, known)| Shown { head, known: *known }).collect();
    read(find(name).unwrap(), &words)
}

#[test]
fn partly_known_words_are_read() {
    let slot = |word, skip| Slot { word, skip, end: None };
    let reading = read_shown("cp", &[("--target-directory=", false), ("a", true)]);
    assert_eq!(reading.uses, [(WordKind::WriteTree, slot(0, 19)), (WordKind::Read, slot(1, 0))]);
    let reading = read_shown("cp", &[("-t", false), ("a", true)]);
    assert_eq!(reading.uses, [(WordKind::WriteTree, slot(0, 2)), (WordKind::Read, slot(1, 0))]);
    let reading = read_shown("cp", &[("", false), ("b", true)]);
    assert_eq!(reading.uses, [(WordKind::Read, slot(0, 0)), (WordKind::Write, slot(1, 0))]);
    assert!(reading.unlisted.is_empty());
    for word in ["-", "-r", "--", "--tar"] {
        assert_eq!(read_shown("cp", &[(word, false), ("b", true)]).unlisted, [0], "{word}");
    }
    let uses = |name, words| read_shown(name, words).uses.first().copied();
    assert_eq!(uses("curl", &[("-Fa=", false)]), Some((WordKind::Read, slot(0, 4))));
    assert_eq!(uses("curl", &[("-d", true), ("", false)]), Some((WordKind::Read, slot(1, 0))));
    assert_eq!(uses("curl", &[("-da=", false)]), None);
    assert_eq!(uses("dd", &[("of=", false)]), Some((WordKind::Write, slot(0, 3))));
    assert_eq!(uses("ssh", &[("-oProxyCommand=", false)]), Some((WordKind::Shell, slot(0, 15))));
    assert_eq!(read_shown("ssh", &[("-oProxy", false)]).unlisted, [0]);
    assert_eq!(
        uses("psql", &[("-c", true), ("select 1", false)]),
        Some((WordKind::Code(Language::Other), slot(1, 0)))
    );
    assert_eq!(read_shown("tar", &[("", false)]).unlisted, [0]);
    assert_eq!(read_shown("systemctl", &[("", false)]).unlisted, [0]);
}

#[test]
fn prose_outputs_and_code_on_stdin_are_recognized() {
    let prose = |run: &str| {
        let words = split(run);
        read(find(&words[0]).unwrap(), &shown(&words[1..])).prose
    };
    assert_eq!(prose("docker exec x cat /etc/hosts"), [1, 2, 3]);
    assert_eq!(prose("jest -t 'reads /etc/passwd' /etc"), [1]);
    let output = |run: &str| {
        let words = split(run);
        read(find(&words[0]).unwrap(), &shown(&words[1..])).output
    };
    for run in ["date +%F", "date", "wc -l", "wc -l a", "stat -c %s a/b", "uuidgen", "openssl rand -hex 4"] {
        assert_eq!(output(run), Output::Name, "{run}");
    }
    for run in ["date +%Y/%m", "date +%D", "wc -l a/b", "stat a", "stat -c %n a/b", "openssl rand -base64 4"]
    {
        assert_eq!(output(run), Output::Text, "{run}");
    }
    assert_eq!(find("irb").and_then(Spec::stdin_code), Some(Language::Other));
    assert_eq!(find("cat").and_then(Spec::stdin_code), None);
}

#[test]
fn options_and_sub_commands_are_named() {
    let reading = read_shown("cp", &[("-Rt", true), ("d", true), ("a", true)]);
    let names: Vec<_> = reading.options.iter().map(|given| given.name).collect();
    assert_eq!((names, reading.operands), (vec!["-r", "-t"], vec![2]));
    let reading = read_shown("systemctl", &[("--user", true), ("restart", true), ("x", true)]);
    assert_eq!((reading.sub, reading.operands), (vec!["restart"], vec![2]));
    assert_eq!(read_shown("tmux", &[("splitw", true)]).sub, ["split-window"]);
    assert_eq!(read_shown("tmux", &[("run", true)]).sub, ["run-shell"]);
    assert_eq!(read_shown("sudo", &[("-n", true), ("ls", true), ("-l", true)]).rest, Some(1));
    assert!(find("no such program").is_none());
}
