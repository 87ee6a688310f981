use super::recipe;
use crate::recipes::tests::{scrambled, shown};

/// (what it shows, justfile, recipe and arguments, steps)
const CASES: &[(&str, &str, &[&str], &[&str])] = &[
    ("first recipe", "a:\n  echo a\nb:\n  echo b\n", &[], &["2: echo a"]),
    ("named", "a:\n  echo a\n\nb:\n  echo b\n", &["b"], &["5: echo b"]),
    ("none", "a:\n  echo a\n", &["c"], &["absent"]),
    ("empty", "# nothing\n", &[], &["absent"]),
    (
        "prefixes",
        "a:\n    @echo a\n    -rm x\n    @-rm y\n    # c\n\n    echo b\n",
        &[],
        &["2: echo a", "3: rm x", "4: rm y", "7: echo b"],
    ),
    ("quiet recipe", "@a:\n  echo\n", &["a"], &["2: echo"]),
    ("continuation", "a:\n  echo a \\\n    b\n  echo c\n", &[], &["2: echo a b", "4: echo c"]),
    (
        "parameters",
        "a x y='d' z=\"e f\":\n  echo {{x}} {{ y }} {{z}}\n",
        &["a", "1", "2"],
        &["2: echo 1 2 e f"],
    ),
    ("missing argument", "a x:\n  echo {{x}}\n", &["a"], &["2: echo ?"]),
    ("many", "a x +y:\n  echo {{y}}\nb *z:\n  echo {{z}}.\n", &["a", "1", "2", "3"], &["2: echo 2 3"]),
    ("none of many", "b *z:\n  echo {{z}}.\n", &["b"], &["2: echo ."]),
    ("many with default", "b +z='q':\n  echo {{z}}\n", &["b"], &["2: echo q"]),
    ("more recipes", "a x:\n  echo {{x}}\nb:\n  rm b\n", &["a", "1", "b"], &["2: echo 1", "4: rm b"]),
    (
        "variables",
        "x := 'a' + \"b\\n\" # c\ny := x / \"c\"\na:\n  echo {{y}} {{ 'l' }} {{nope}}\n",
        &[],
        &["4: echo ab\n/c l ?"],
    ),
    (
        "backtick",
        "v := `git describe`\na:\n  echo {{v}} {{`id`}}\n",
        &["a"],
        &["1: git describe", "3: id", "3: echo ? ?"],
    ),
    ("long backtick", "v := ```\n  ./gen\n  ls\n```\na:\n  echo\n", &["a"], &["1: ./gen\nls\n", "6: echo"]),
    ("long text", "v := '''\n  one\n   two\n'''\na:\n  echo {{v}}\n", &["a"], &["6: echo one\n two\n"]),
    ("default by backtick", "a x=`id`:\n  echo {{x}}\n", &["a"], &["1: id", "2: echo ?"]),
    ("default in brackets", "p := 'q'\na x=(p + '1') y=p:\n  echo {{x}} {{y}}\n", &["a"], &["3: echo q1 q"]),
    (
        "function",
        "a:\n  echo {{env('HOME')}} {{shell('rm $1', 'x')}}/b\n",
        &["a"],
        &["2: rm $1", "2: echo ? ?/b"],
    ),
    (
        "condition",
        "x := if os() == 'l' { 'a' } else if 'a' == 'b' { `id` } else { 'c' }\na:\n  echo {{x}}\n",
        &["a"],
        &["1: id", "3: echo ?"],
    ),
    (
        "dependencies",
        "a: b (c 'x' y) && d\n  echo a\ny := 'z'\nb:\n  echo b\nc p q:\n  echo {{p}}{{q}}\nd: b\n  echo d\n",
        &[],
        &["5: echo b", "7: echo xz", "2: echo a", "9: echo d"],
    ),
    ("a circle ends", "a: b\n  echo a\nb: a\n  echo b\n", &[], &["4: echo b", "2: echo a"]),
    ("unknown dependency", "a: q\n  echo a\n", &[], &["1: ?", "2: echo a"]),
    ("alias", "alias b := build\nbuild:\n  make\n", &["b"], &["3: make"]),
    ("attributes", "[private]\n[confirm('sure?')]\na:\n  rm x\n", &["a"], &["4: rm x"]),
    ("systems", "[linux]\na:\n  rm x\n[windows]\na:\n  del x\n", &["a"], &["3: rm x", "6: del x"]),
    (
        "shebang",
        "a x:\n    #!/usr/bin/env python3\n    import os\n\n    if {{x}}:\n        os.x()\n",
        &["a", "1"],
        &["2: [/usr/bin/env python3] import os\n\nif 1:\n    os.x()\n"],
    ),
    ("script", "[script('bash', '-x')]\na:\n  cd x\n  rm y\n", &["a"], &["3: [bash -x] cd x\nrm y\n"]),
    ("script by default", "[script]\na:\n  cd x\n", &["a"], &["3: [sh -eu] cd x\n"]),
    (
        "shell",
        "set shell := [\"bash\", \"-uc\"]\nset dotenv-load\na:\n  echo\n",
        &["a"],
        &["4: [bash -uc] echo"],
    ),
    (
        "directory",
        "set working-directory := 'sub'\na:\n  rm x\n[no-cd]\nb:\n  rm y\n",
        &["a", "b"],
        &["3: cd 'sub'\nrm x", "6: rm y"],
    ),
    ("directory of one", "[working-directory: 'd']\na:\n  rm x\n", &["a"], &["3: cd 'd'\nrm x"]),
    (
        "export",
        "export D := '/'\na $x='1':\n  rm $D $x\n  echo\n",
        &["a"],
        &["3: export D='/'\nexport x='1'\nrm $D $x", "4: echo"],
    ),
    ("import", "import 'x.just'\na:\n  echo\n", &["a"], &["1: ?", "3: echo"]),
    (
        "in an import",
        "import? 'x.just'\na:\n  echo\n",
        &["b"],
        &["opaque: the recipe may lie in another file"],
    ),
    ("module", "mod m\na:\n  echo\n", &["m", "x"], &["opaque: the recipe may lie in another file"]),
    (
        "fallback",
        "set fallback := true\na:\n  echo\n",
        &["b"],
        &["opaque: the recipe may lie in a directory above"],
    ),
    ("braces", "a:\n  echo {{{{x}} ${y}\n", &["a"], &["2: echo {{x}} ${y}"]),
    ("unclosed", "a:\n  echo {{x\n", &["a"], &["2: echo ??"]),
    ("not understood", "!what\na:\n  echo\n", &["a"], &["1: ?", "3: echo"]),
    ("carriage returns", "a:\r\n  echo a\r\n", &["a"], &["2: echo a"]),
    ("path from the root", "a:\n  rm {{ / 'etc' / 'x' }}\n", &["a"], &["2: rm /etc/x"]),
];

#[test]
fn recipes_of_a_justfile_are_read() {
    let differs = |(name, text, words, expected): &(&str, &str, &[&str], &[&str])| {
        let found = shown(&recipe(text, words.first().copied(), words.get(1..).unwrap_or_default()));
        (found != *expected).then(|| format!("{name}\n  found {found:?}\n  not   {expected:?}"))
    };
    let wrong: Vec<String> = CASES.iter().filter_map(differs).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_justfile_that_grows_without_end_is_opaque() {
    let mut bomb = String::from("x0 := 'aaaaaaaaaaaaaaaa'\n");
    for i in 1..30 {
        bomb.push_str(&format!("x{i} := x{0} + x{0}\n", i - 1));
    }
    bomb.push_str("a:\n  echo {{x29}}\n");
    assert_eq!(shown(&recipe(&bomb, None, &[])), ["opaque: more than can be looked at"]);
    for text in [
        "(".repeat(100_000),
        format!("x := {}", "(".repeat(100_000)),
        "a: a\n".repeat(3000),
        "x := x\na:\n  echo {{x}}\n".into(),
    ] {
        recipe(&text, Some("a"), &[]);
    }
}

#[test]
fn any_text_is_read_without_a_panic() {
    let pieces = [
        "a", "b", ":", ":=", "\n", "\n  ", "'", "\"", "`", "'''", "{{", "}}", "(", ")", "[", "]", "+", "/",
        "if ", " == ", "{", "}", " else ", "set ", "alias ", "import ", "mod ", "\\", "&&", "#", "#!", "$",
        "*", ",", "é", "x'", "script", "=", " ",
    ];
    scrambled(&pieces, 6000, |text| {
        recipe(text, None, &[]);
        recipe(text, Some("a"), &["b", "c"]);
    });
}
