//! Whoever sets a variable, what comes of it is told: each way to set one, with each thing that can come of it.

use std::path::Path;

use toolgate_model::{Access, Effect, EmptyWorld, PathArg, clean};

use crate::shell::{Scene, analyse};

/// Whether a command is told to write outside, or not all of it is known.
fn is_told(command: &str) -> bool {
    let scene = Scene {
        world: &EmptyWorld,
        cwd: Some("/work/alpha"),
        root: Some("/work/alpha"),
        home: Some("/home/u"),
        tmp: None,
        unset: &|name| !matches!(name, "PATH" | "HOME" | "PWD"),
    };
    analyse(command, &scene).effects.iter().any(|effect| match effect {
        Effect::Unknown(_) => true,
        Effect::Use(Access::Write | Access::Append, target) => match &target.path {
            PathArg::Text(text) => {
                let place = clean(&Path::new("/work/alpha").join(&**text));
                !place.starts_with("/work/alpha")
            }
            PathArg::Pattern(_) | PathArg::Cwd | PathArg::Missing | PathArg::NotText(_) => true,
        },
        _ => false,
    })
}

/// Ways to give a variable a value. `@n` is its name, `@v` the value, and `;USE` where it is used, which is at the end otherwise.
const SETTERS: &[&str] = &[
    "@n='@v'",
    "@n+='@v'",
    "@n=('@v')",
    "@n+=('@v')",
    "@n[0]='@v'",
    "read @n <<< '@v'",
    "read -r x @n <<< 'a @v'",
    "read -ru3 @n 3<<< '@v'",
    "read -a @n <<< '@v'",
    "read -ra@n <<< '@v'",
    "mapfile -t @n <<< '@v'",
    "readarray -tn1 @n other <<< '@v'",
    "printf -v @n %s '@v'",
    "printf -v@n %s '@v'",
    "declare @n='@v'",
    "typeset @n='@v'",
    "export @n='@v'",
    "readonly @n='@v'",
    "declare -a @n=('@v')",
    "g() { declare -g @n='@v'; }; g",
    "if test -e x; then @n='@v'; fi",
    "for @n in '@v'; do :; done",
    "for @n in '@v'; do :;USE; done",
    "select @n in '@v'; do :;USE; done",
    "while read -r @n; do :;USE; done <<< '@v'",
    "f() { local @n='@v';USE; }; f",
    "declare -n q=@n; q='@v'",
    "w=@n; printf -v \"$w\" %s '@v'",
    "n=$(cut -c1 f); read \"$n\" <<< '@v'",
    "if test -e x; then declare -n q=@n; fi; q='@v'",
];

/// What can come of it: before, the name, the value, and after.
const HARMS: &[(&str, &str, &str, &str)] = &[
    ("declare -n r; ", "r", "a[$(touch ../late)]", "r=1"),
    ("f() { typeset -n r; }; declare -n r; ", "r", "a[$(touch ../late)]", ": $r"),
    ("k='a[$(touch ../late)]'; declare -i m; ", "m", "k", ":"),
    ("k='a[$(touch ../late)]'; declare -ai m; ", "m", "1+k", ":"),
    ("", "PS4", "$(touch ../late)", "set -x; :"),
    ("", "PWD", "..", "touch ~+/late"),
    ("", "OLDPWD", "..", "touch ~-/late"),
    ("", "HOME", "..", "touch ~/late"),
    ("", "PATH", "./bin", "ls"),
    ("", "IFS", "x", "v=touchx../late; $v"),
    ("", "CDPATH", "..", "cd beta; touch late"),
    ("export BASH_ENV; ", "BASH_ENV", "./y.sh", "bash -c :"),
    ("", "GLOBIGNORE", "x", "cat *"),
    ("", "POSIXLY_CORRECT", "1", ":"),
];

#[test]
fn whoever_sets_a_variable_what_comes_of_it_is_told() {
    let mut silent = Vec::new();
    for (before, name, value, after) in HARMS {
        for setter in SETTERS {
            let used = format!("; {after}");
            let set = setter.replace("@n", name).replace("@v", value);
            let set = if set.contains(";USE") { set.replace(";USE", &used) } else { set + &used };
            let command = format!("{before}{set}");
            if !is_told(&command) && !is_no_setter(name, setter) {
                silent.push(command);
            }
        }
    }
    assert!(silent.is_empty(), "{} silent:\n{}", silent.len(), silent.join("\n"));
}

/// Ways that bash refuses, or by which nothing comes of it: what is added to the old value is another value.
fn is_no_setter(name: &str, setter: &str) -> bool {
    let adds = setter.starts_with("@n+=");
    let is_array = setter.contains("=(")
        || setter.contains("[0]")
        || setter.contains(" -a")
        || setter.contains("-ra")
        || setter.contains("mapfile")
        || setter.contains("readarray");
    match name {
        // A function's own is another variable.
        "r" => is_array || setter.contains("local"),
        "PWD" | "OLDPWD" | "HOME" | "CDPATH" | "BASH_ENV" => adds,
        _ => false,
    }
}

#[test]
fn names_of_elements_are_evaluated_by_whoever_sets_them() {
    for command in [
        "read 'z[k]' <<< 1",
        "printf -v 'z[k]' 1",
        "unset 'z[k]'",
        "declare 'z[k]=1'",
        "true & wait -p 'z[k]' $!",
        "getopts k 'z[k]' -k",
        ": ${z[k]:=1}",
        "w='z[k]'; : ${!w:=1}",
        ": {z[k]}< f",
        "exec {z[k]}> f",
        "((z[k]=1))",
        "((z[k]++))",
        "let z[k]=1",
        "declare -n COPROC='z[k]'; coproc :",
        "declare -i REPLY; read <<< k",
        "declare -i OPTARG; getopts k: o -k k",
        "declare -ai MAPFILE; mapfile -t <<< k",
        "declare -i REPLY; select z in a; do break; done <<< k",
        "declare -i m; getopts k m -k",
        "declare -i m; : ${m:=k}",
        "declare -i m; : ${m[0]:=k}",
        "if test -e x; then declare -i m; fi; m=k",
        "declare -i _; : k",
        "declare -n _=PATH; : ./bin",
    ] {
        assert!(is_told(&format!("k='a[$(touch ../late)]'; {command}")), "{command}");
    }
}

#[test]
fn elements_of_the_shells_own_lists_are_heeded() {
    for name in ["BASH_CMDS[tac]", "BASH_ALIASES[ls]", "DIRSTACK[1]"] {
        for setter in [
            "@n=./y",
            "read '@n' <<< ./y",
            "read -r x '@n' <<< 'a ./y'",
            "printf -v '@n' ./y",
            "declare '@n=./y'",
            "w='@n'; : ${!w:=./y}",
        ] {
            let command = setter.replace("@n", name);
            assert!(is_told(&command), "{command}");
        }
    }
    assert!(is_told("declare -n q=BASH_CMDS; q[tac]=./y"));
}

#[test]
fn what_a_function_or_a_prefix_has_set_is_as_it_was() {
    for command in [
        "x=a/b; f() { local x; touch ./$x/../../late; }; f",
        "declare -n r=x; x=..; f() { local r=.; }; f; touch $x/late",
        "declare -n r=x; x=..; r=. true; touch $x/late",
        "PATH=./bin:$PATH; f() { local PATH=/usr/bin; }; f; ls",
        "unset PATH; ls",
        "f() { local PATH; ls; }; f",
        "sh -c 'x=.; x=.. :; touch $x/late'",
    ] {
        assert!(is_told(command), "{command}");
    }
}

#[test]
fn what_is_ordinary_stays_known() {
    for command in [
        "x=a; echo \"$x\"",
        "for i in 1 2 3; do echo $i; done",
        "declare -i n=5; n+=1; echo $n",
        "f() { local -n out=$1; out=5; }; f result; echo $result",
        "while IFS=: read -r a b; do echo \"$a\"; done <<< 'x:y'",
        "IFS=, read -ra parts <<< 'a,b'; echo \"${parts[0]}\"",
        "mapfile -t lines <<< 'a'; echo \"${lines[@]}\"",
        "while getopts ab: o; do case $o in a) echo a ;; esac; done",
        "printf -v padded %03d 7; echo $padded",
        "declare -A m; m[a]=1; m[b]=2; echo ${m[a]}",
        "OLDIFS=$IFS; IFS=,; v=a,b; echo $v; IFS=$OLDIFS",
        "exec {fd}> out; echo x >&$fd",
        "coproc cat; wait",
    ] {
        assert!(!is_told(command), "{command}");
    }
}
