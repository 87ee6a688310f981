//! Texts that bash evaluates although they were data: in arithmetic, in subscripts, as what an integer is given, as the name of a variable,
//! as a prompt, as the words of `compgen -W`.
//!
//! Against whom: a file called `a[$(touch x)]`. An ordinary loop compares its name with a number, and bash runs what stands in it. A
//! file called `q` is enough where the command has given `q` such a value. So whoever evaluates a text asks here, and no other way. What is
//! known of it is walked. Names are looked for on the disk, all that the command has drawn from there. It is doubted where one of them has a
//! letter that begins code, where they cannot be told, or where the command itself may make one.

use std::rc::Rc;

use toolgate_model::{Doubt, Effect, Gap, PathArg, Reach};

use super::Interpreter;
use super::places::Located;
use super::text::{CLASS, Flow, Hides, INNER, ONE, STAR, Text};

/// More sources than this are not looked at one by one.
const MAX_DRAWN: usize = 64;

/// What reads the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Evaluator {
    /// Only subscripts run.
    Arithmetic,
    /// Prompts and the words of `compgen -W`: substitutions run wherever they stand.
    Words,
}

/// Where names of files have come from, and whether bash evaluates any.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Default)]
pub(super) struct Names {
    /// Paths that stand for names on the disk, and the directories in which they did.
    drawn: Vec<(Vec<Rc<str>>, Text)>,
    /// Names of which it cannot be told what they are.
    are_lost: bool,
    /// Names of the index.
    are_tracked: bool,
    /// The command gives the index other names.
    index_moves: bool,
    /// One was evaluated, by the first that did so.
    evaluated: Option<Evaluator>,
    /// A variable has got a value of which nothing is known, and it may be called as one of the names.
    beside_unknown: bool,
}

/// Letters that begin code in a text that is evaluated.
pub(super) fn begins_code(letter: char) -> bool {
    matches!(letter, '[' | '$' | '`')
}

impl Interpreter<'_, '_> {
    /// bash evaluates this text. What is not known of it may be code. INVARIANT: every evaluator asks here.
    pub(super) fn evaluates(&mut self, text: &Text, evaluator: Evaluator) {
        match text.hides() {
            Hides::Nothing => {}
            Hides::Anything => self.evaluates_unknown(evaluator),
            Hides::Names => {
                // A name is that of a variable, too, and arithmetic goes on with what that holds.
                let holds_code =
                    || self.holds_code() || (self.names.beside_unknown && self.doubts.quotes_subscripts());
                if evaluator == Evaluator::Arithmetic && holds_code() {
                    return self.evaluates_unknown(evaluator);
                }
                self.names.evaluated.get_or_insert(evaluator);
            }
        }
    }

    /// A value that is not known is evaluated: `a[$(x)]` in a file is code, too.
    fn evaluates_unknown(&mut self, evaluator: Evaluator) {
        let (gap, text) = match evaluator {
            Evaluator::Arithmetic => (Gap::Code, "a value that arithmetic evaluates"),
            Evaluator::Words => (Gap::ShellCode, "a value that is expanded again"),
        };
        let gap = if self.quotes_code(evaluator) { gap } else { Gap::Doubt(Doubt::Environment) };
        self.unknown(gap, text);
    }

    /// Whether the call's text quotes what this evaluator would run.
    fn quotes_code(&self, evaluator: Evaluator) -> bool {
        match evaluator {
            Evaluator::Arithmetic => self.doubts.quotes_subscripts(),
            Evaluator::Words => self.doubts.quotes_substitutions(),
        }
    }

    /// Whether a variable holds code: names are evaluated as those of variables.
    fn holds_code(&self) -> bool {
        let is_code = |text: &Text| text.raw().contains(['[', CLASS]) && text.raw().contains(['$', '`']);
        self.state.variables.names().iter().any(|name| self.held_texts(name).iter().any(is_code))
    }

    /// A variable gets a value of which nothing is known.
    pub(super) fn holds_unknown(&mut self) {
        self.names.beside_unknown = true;
    }

    // ── where names come from ───────────────────────────────────────────────────────────────────────────────────────

    /// A word that a pattern has been expanded in.
    pub(super) fn draws_matches(&mut self, word: &Text) {
        if word.raw().contains([STAR, ONE, CLASS]) || (self.state.globstar && word.raw().contains(INNER)) {
            self.draws(word);
        }
    }

    /// Names that something prints: paths of which not all is known, as seen from here.
    pub(super) fn draws_printed(&mut self, printed: &Flow) {
        let Flow::Lines(lines) = printed else { return };
        for line in lines {
            if line.hides() != Hides::Nothing {
                self.draws(line);
            }
        }
    }

    pub(super) fn draws(&mut self, path: &Text) {
        let names = &mut self.names;
        if names.are_lost || names.drawn.iter().any(|(cwd, known)| known == path && *cwd == self.state.cwd) {
            return;
        }
        if names.drawn.len() < MAX_DRAWN {
            names.drawn.push((self.state.cwd.clone(), path.clone()));
        } else {
            names.are_lost = true;
        }
    }

    /// Names of the index, some of which need not be on the disk.
    pub(super) fn draws_tracked(&mut self) {
        self.names.are_tracked = true;
    }

    pub(super) fn index_is_moved(&mut self) {
        self.names.index_moves = true;
    }

    /// Names that are not on the disk, or of which nobody knows where they come from.
    pub(super) fn draws_unknown(&mut self) {
        self.names.are_lost = true;
    }

    // ── what they are ───────────────────────────────────────────────────────────────────────────────────────────────

    /// Doubts the call where it evaluates names of which one may be code. A part of it may run in the background, so all that it draws and
    /// writes counts, in whatever order.
    pub(super) fn tell_evaluated(&mut self) {
        let Some(evaluator) = self.names.evaluated else { return };
        let names = std::mem::take(&mut self.names);
        if names.drawn.is_empty() && !names.are_lost && !names.are_tracked {
            return;
        }
        let may_be_code = names.are_lost
            || (names.beside_unknown && evaluator == Evaluator::Arithmetic)
            || self.makes_code_names()
            || (names.are_tracked && (names.index_moves || self.tracks_code_names()))
            || names.drawn.iter().any(|(cwd, path)| self.finds_code_names(cwd, path));
        if may_be_code {
            self.evaluates_unknown(evaluator);
        }
    }

    /// Whether a path may be found whose name is code.
    fn finds_code_names(&mut self, cwd: &[Rc<str>], path: &Text) -> bool {
        let standing = std::mem::replace(&mut self.state.cwd, cwd.to_vec());
        let located = self.located(path);
        self.state.cwd = standing;
        located.into_iter().any(|located| match located {
            Located::Exact(place) => {
                let own = cwd.iter().find_map(|cwd| place.strip_prefix(&**cwd));
                own.unwrap_or(&place).contains(begins_code)
            }
            Located::Child { among, .. } | Located::Below { among, .. } => {
                among.is_some_and(|among| self.has_code_names(&among))
            }
            Located::Unknown => true,
        })
    }

    fn tracks_code_names(&mut self) -> bool {
        self.git_index().is_none_or(|index| index.names_code || index.lacks_names || index.has_more)
    }

    /// Whether the command may make a file whose name is code.
    fn makes_code_names(&self) -> bool {
        self.report.effects().iter().any(|effect| match effect {
            Effect::Use(access, target) if access.fills() => match &target.path {
                PathArg::Text(text) => target.reach == Reach::Below || text.contains(begins_code),
                PathArg::Pattern(_) | PathArg::Cwd | PathArg::Missing | PathArg::NotText(_) => true,
            },
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use toolgate_model::{Entry, EntryKind, LookError, Node, NodeId, NodeKind, World, clean};

    use super::super::{Scene, analyse};
    use super::*;

    /// `/w` with these files, and nothing else.
    struct Files<'f>(&'f [&'f str]);

    impl World for Files<'_> {
        fn look(&self, path: &Path) -> Result<Node, LookError> {
            let kind = match clean(path).to_str().unwrap_or_default() {
                "/" | "/w" => NodeKind::Directory,
                path if self.0.iter().any(|name| path == format!("/w/{name}")) => NodeKind::File,
                _ => return Err(LookError::Absent),
            };
            Ok(Node { kind, id: NodeId { device: 0, inode: 0 }, names: 1, changed: (0, 0) })
        }
        fn read(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn entries(&self, path: &Path, most: usize) -> io::Result<Option<Vec<Entry>>> {
            if clean(path) != Path::new("/w") {
                return Err(io::ErrorKind::NotFound.into());
            }
            let entry = |name: &&str| Entry { path: path.join(name), kind: EntryKind::File };
            Ok((self.0.len() <= most).then(|| self.0.iter().map(entry).collect()))
        }
    }

    /// What is not known of a command, or is done outside, in a directory with these files.
    fn doubts(files: &[&str], command: &str) -> Vec<String> {
        let world = Files(files);
        let scene = Scene {
            world: &world,
            cwd: Some("/w"),
            root: Some("/w"),
            home: Some("/home/u"),
            tmp: None,
            unset: &|name| !matches!(name, "PATH" | "HOME" | "PWD"),
        };
        let of = |effect: &Effect<'_>| match effect {
            Effect::Unknown(unknown) => Some(format!("{unknown:?}")),
            // What runs in a text that is known is told as what it does.
            Effect::Use(access, target) if access.changes() => {
                let text = target.path.text().to_string();
                (!clean(&Path::new("/w").join(&text)).starts_with("/w")).then_some(text)
            }
            _ => None,
        };
        analyse(command, &scene).effects.iter().filter_map(of).collect()
    }

    const PLAIN: &[&str] = &["a.txt", "b-2.md", "late"];
    const CODE: &[&str] = &["a.txt", "a[$(cd;touch late)]"];

    /// Ways by which names of files come into `x`.
    const SOURCES: &[&str] = &[
        "for x in *; do DO; done",
        "for x in ./a*; do DO; done",
        "for x in $(ls); do DO; done",
        "x=$(ls a*); DO",
        "x=$(basename a*); DO",
        "x=$(basename ./a* .txt); DO",
        "x=$(dirname a*/b); DO",
        "x=$(echo a*); DO",
        "x=$(printf '%s\\n' a* | head -1); DO",
        "x=$(grep -l y *); DO",
        "x=$(grep -rl y .); DO",
        "x=$(rg -l y); DO",
        "x=$(rg --files); DO",
        "x=$(find . -name 'a*'); DO",
        "find . | while read -r x; do DO; done",
        "ls | while read -r x; do DO; done",
        "a=(*); x=${a[0]}; DO",
        "a=(1 *); for x in \"${a[@]}\"; do DO; done",
        "set -- *; x=$1; DO",
        "for y in *; do x=${y%.txt}; DO; done",
        "for y in *; do x=${y#b}; DO; done",
        "for y in *; do x=${y##*.}; DO; done",
        "for y in *; do x=${y:1}; DO; done",
        "for y in *; do x=${y/b/c}; DO; done",
        "f() { DO; }; for x in *; do f; done",
    ];

    /// Ways to evaluate it.
    const EVALUATORS: &[&str] = &[
        "((x))",
        "(($x > 1))",
        "echo $((x + 1))",
        "echo $((${x#b}))",
        "echo $[x]",
        "let x",
        "let \"z = $x\"",
        "z[x]=1",
        "z[$x]=1",
        "echo ${z[$x]}",
        "echo ${PATH:x:1}",
        "[[ $x -gt 1 ]]",
        "[[ 1 -eq x ]]",
        "[[ -v $x ]]",
        "[ -v \"$x\" ]",
        "test -v \"$x\"",
        "RANDOM=$x",
        "SRANDOM=$x",
        "OPTIND=$x",
        "typeset -i z; z=$x",
        "declare -i z=$x",
        "declare -i k; for k in \"$x\"; do :; done",
        "declare -i k; printf -v k %s \"$x\"",
        "declare -i k; read k <<< \"$x\"",
        "echo \"${x@P}\"",
        "PS4=$x; set -x; :",
        "compgen -W \"$x\"",
        "complete -W \"$x\" q; compgen q",
        "for ((i = x; i < 3; i++)); do :; done",
    ];

    /// Each way to get a name with each way to evaluate it.
    fn evaluated() -> impl Iterator<Item = String> {
        SOURCES.iter().flat_map(|source| EVALUATORS.iter().map(|evaluator| source.replace("DO", evaluator)))
    }

    #[test]
    fn names_that_are_evaluated_are_looked_at() {
        let is_missed = |command: &String| doubts(CODE, command).is_empty();
        let missed: Vec<String> = evaluated().filter(is_missed).collect();
        assert!(missed.is_empty(), "{missed:#?}");
    }

    #[test]
    fn plain_names_are_evaluated_without_a_doubt() {
        // Of these nobody could tell before that they are names.
        let is_doubted = |command: &String| {
            !command.starts_with("set --")
                && !command.contains("${x#b}")
                && !command.contains("read k")
                && !doubts(PLAIN, command).is_empty()
        };
        let doubted: Vec<(String, Vec<String>)> = evaluated()
            .filter(is_doubted)
            .map(|command| (command.clone(), doubts(PLAIN, &command)))
            .collect();
        assert!(doubted.is_empty(), "{doubted:#?}");
    }

    #[test]
    fn a_name_of_a_variable_that_a_pattern_finds_is_any() {
        for command in
            ["printf -v \"$x\" 1", "read \"$x\" <<< 1", "echo ${!x}", "export \"$x\"", "declare \"$x=1\""]
        {
            assert!(!doubts(CODE, &format!("for x in a*; do {command}; done")).is_empty(), "{command}");
        }
    }

    #[test]
    fn names_that_cannot_be_told_are_doubted() {
        let missed: Vec<&str> = [
            // Made in the same call.
            "touch 'a[$(cd;touch late)]'; for x in *; do ((x)); done",
            "(sleep 1; for x in *; do ((x)); done) & touch 'a[$(cd;touch late)]'",
            "tar xf a.tar; for x in *; do ((x)); done",
            "cp -r /v .; for x in *; do ((x)); done",
            // What a name is as a variable.
            "late='b[$(cd;touch y)]'; for x in *; do ((x)); done",
            "late=$(cut -f1 a.txt); for x in *; do ((x)); done",
            // Out of sight.
            "cd \"$Q\"; for x in *; do ((x)); done",
            "while read -r y; do x=$(basename \"$y\"); ((x)); done < a.txt",
            "x=$(git branch --show-current); echo \"${x@P}\"",
            "x=$(git log -1 --format= --name-only); ((x))",
            "x=$(git log -1 --format=%ct --name-only); ((x))",
            "x=$(git log -1 --format=%ct -p); ((x))",
            "x=$(git log -1 --format=%s%ct); ((x))",
            "x=$(git rev-list --count --objects HEAD); ((x))",
            "x=$(git log -1 --format=%ct \"$Q\"); ((x))",
            // What does not match stays as it is written.
            "for x in a[\\$\\(touch\\ ../late\\)]; do ((x)); done",
            // Letters that are put into them.
            "x=$(hostname | tr abc '[$('); ((x))",
            "for y in *; do x=${y/a/[}; ((x)); done",
            "a='['; x=$(date \"+q$a%s\"); ((x))",
            "x=$(wc -l 'a[$(cd;touch late)]'); ((x))",
            "echo 1 > 'a[$(touch ../late)]'; echo 1 > y; x=$(grep 1 'a[$(touch ../late)]' y); ((x))",
            "echo 1 > 'a[$(touch ../late)]'; echo 1 > y; x=$(head -1 'a[$(touch ../late)]' y | head -1); ((x))",
            "echo 1 | { x=$(shuf -n1 -e 'a[$(touch ../late)]'); ((x)); }",
            "for x in *; do declare -a \"y=($x $Q)\"; done",
            // Words of the command itself.
            ": 'a[$(touch ../late)]'; ((_))",
            "a='b[$(touch ../x)]'; SRANDOM=a",
            "compgen -W \"$(cat README.md)\"",
            "f() { compgen -W \"$1\"; }; f \"$Q\"",
            "complete -W \"$(git branch)\" q; compgen q",
        ]
        .into_iter()
        .filter(|command| doubts(PLAIN, command).is_empty())
        .collect();
        assert!(missed.is_empty(), "{missed:#?}");
    }

    #[test]
    fn numbers_and_facts_are_evaluated_without_a_look() {
        let mut doubted = Vec::new();
        for command in [
            "t=0; for f in *; do s=$(wc -c < \"$f\"); t=$((t+s)); done; echo $t",
            "t=0; for f in *; do s=$(stat -c %s \"$f\"); ((t+=s)); done; echo $t",
            "for f in *; do n=$(grep -c x \"$f\"); [[ $n -gt 3 ]] && echo \"$f\"; done",
            "n=$(ls | wc -l); (( n > 3 )) && echo many",
            "n=$(wc -l < a.txt | tr -d ' '); echo $((n+1))",
            "s=$(date +%s); sleep 1; e=$(date +%s); echo $((e-s))",
            "s=$(date +%s%N); echo $(( ($(date +%s%N) - s) / 1000000 ))",
            "j=$(nproc); echo $((j*2))",
            "[[ $(id -u) -eq 0 ]] && echo root",
            "n=$(git rev-list --count HEAD); ((n>1)) && echo yes",
            "n=$(git rev-list --count --no-merges HEAD -- src); n=$((n*2)); echo $n",
            "echo $(( ($(date +%s) - $(git log -1 --format=%ct)) / 60 ))",
            "for i in $(seq 1 5); do echo $((i*2)); done",
            "i=0; while [ $i -lt 3 ]; do i=$(expr $i + 1); ((i)); done",
            "i=0; for f in *; do ((i++)); [[ $i -gt 2 ]] && break; done",
            "for f in *; do (( ${#f} > 3 )) && echo $f; done",
            "false | true; if (( ${PIPESTATUS[0]} != 0 )); then echo failed; fi",
            "make_it() { :; }; make_it; (( $? == 0 )) && echo ok",
            "h=$(hostname); d=$(date +%F); declare -A c; c[$h]=1; c[$d]=2",
            "h=$(git rev-parse --short HEAD); declare -A c; c[$h]=1",
            "for f in *; do cp \"$f\" \"$f.bak\"; [[ -v seen[$f] ]] || echo $f; done",
            "for f in *; do n=$(wc -l < \"$f\"); seen[${f##*.}]=$n; done",
            "for f in *; do [[ -v seen[$f] ]] || echo $f; done",
        ] {
            let heeds_names =
                ["${f##", "seen", "echo $f", "grep -c"].iter().any(|part| command.contains(part));
            for files in if heeds_names { vec![PLAIN] } else { vec![PLAIN, CODE] } {
                let found = doubts(files, command);
                if !found.is_empty() {
                    doubted.push((command, found));
                }
            }
        }
        assert!(doubted.is_empty(), "{doubted:#?}");
    }
}
