//! Makes up shell commands that touch files, by a grammar and a seed.
//!
//! INVARIANT: every name begins with `zq`, so that a variable which happens to be empty (`$d/zqa` becoming `/zqa`) names
//! nothing on any machine; what is deleted with all below it is written out; no pattern deletes without `zq` in front;
//! no path ends in `..`. `@S` stands for the scratch tree.

use crate::support::watch::Scratch;

/// The tree that the commands speak of.
pub(crate) fn plant(scratch: &Scratch) {
    for (path, text) in [
        ("inside/zqa.txt", "alpha\nbeta\n"),
        ("inside/zqb.txt", "beta\ngamma\n"),
        ("inside/zq sp.txt", "blank\n"),
        ("inside/zqdir/zqc.txt", "c\n"),
        ("inside/zqdir/zqd.txt", "d\n"),
        ("inside/zqsub/zqdeep/zqe.txt", "e\n"),
        ("inside/zqlist.txt", "zqa.txt\nzqb.txt\n"),
        ("inside/zqs.sh", "#!/bin/bash\necho made > zqscript.out\ncat zqa.txt\n"),
        ("outside/zqo.txt", "o\n"),
        ("outside/zqp.txt", "p\n"),
        ("outside/zqod/zqq.txt", "q\n"),
        ("outside/zqrun.sh", "#!/bin/sh\necho run > zqrun.out\n"),
        ("home/zqh.txt", "h\n"),
        ("home/zqhd/zqi.txt", "i\n"),
    ] {
        scratch.file(path, text);
    }
    scratch.dir("inside/zqempty");
    scratch.link("inside/zqlink", "../outside");
    scratch.link("inside/zqflink", "../outside/zqo.txt");
}

/// `R` reads, `W` writes, `D` is a directory, `P` is a plain word for a file to be made; `A` is any command.
const SIMPLE: &[&str] = &[
    "cat R",
    "cat R > W",
    "cat R R >> W",
    "cat < R > W",
    "cat 0<R",
    "cp R W",
    "cp -p R W",
    "cp R D",
    "cp -r D W",
    "cp -a zqdir W",
    "cp -t D R R",
    "cp --target-directory=D R",
    "cp -P zqlink P && touch P/zqthrough",
    "mv R W",
    "mv R D",
    "mv -t D R",
    "mv zqdir P",
    "mv zqlink P; echo x > P/zqmoved",
    "ln -s R W",
    "ln R W",
    "ln -sf R W",
    "ln -s ../outside P; echo x > P/zqvia",
    "ln -sfn D P && echo x > P/zqvia",
    "ln -s ../outside/zqo.txt P; echo x > P",
    "ln zqa.txt P; echo x >> P",
    "mkdir P; ln -s ../../outside P/zql; cp zqa.txt P/zql/zqin",
    "rm zqlink; mkdir zqlink; echo x > zqlink/zqown",
    "rm -f R",
    "rm -f -- R R",
    "rm -rf zqdir",
    "rm -r zqsub/zqdeep",
    "rm -rf ../outside/zqod",
    "rm -rf zqlink/zqod",
    "rm zqlink",
    "rmdir zqempty",
    "unlink R",
    "link R W",
    "touch W",
    "touch -r R W",
    "touch -c W",
    "mkdir P",
    "mkdir -p P/zqm/zqn",
    "mkdir -p D/zqm",
    "mkfifo P",
    "echo x | tee W > /dev/null",
    "echo x | tee -a W W",
    "tee W < R",
    "dd if=R of=W status=none",
    "dd of=W status=none < R",
    "sed -i s/a/b/ R",
    "sed -i.zqbak s/a/b/ R",
    "sed -n 'w P' R",
    "sed s/a/b/ R > W",
    "sed -e 1d -e s/x/y/w\\ P R",
    "truncate -s 0 R",
    "truncate -s 3 W",
    "install -m 644 R W",
    "install -D R P/zqx/zqi",
    "install -d P/zqx",
    "head -n 1 R",
    "head -c 3 R > W",
    "tail -n 1 R",
    "grep -r a D",
    "grep a R",
    "grep -l a zq*.txt",
    "grep -f R R",
    "wc -l R",
    "sort -o W R",
    "sort R > W",
    "sort -u R R",
    "uniq R W",
    "split -l 1 R zqpart",
    "split -b 2 R D/zqpart",
    "csplit -f zqcs R 1",
    "tar cf P.tar D",
    "tar czf P.tgz R",
    "tar cf zqt.tar zqdir && tar xf zqt.tar -C D",
    "tar -C zqdir -cf P.tar zqc.txt",
    "find D -name 'zq*' -type f",
    "find D -name 'zq*.txt' -exec cat {} \\;",
    "find D -name 'zq*' -type f -exec touch {} +",
    "find zqdir -name 'zqc*' -delete",
    "find D -name 'zqq*' -delete",
    "find . -name zqd.txt -exec cp {} W \\;",
    "find zqdir -type f -fprint P",
    "find zqdir -type f | xargs cat",
    "find zqdir -type f -print0 | xargs -0 rm -f",
    "chmod 600 R",
    "chmod -R u+r zqdir",
    "diff R R",
    "cmp R R",
    "cut -c1 R > W",
    "tr a b < R > W",
    "paste R R",
    "comm R R",
    "join R R",
    "nl R",
    "tac R",
    "od -c R",
    "md5sum R > W",
    "sha256sum R",
    "base64 R > W",
    "gzip -k R",
    "gzip -c R > W",
    "xargs cat < zqlist.txt",
    "xargs -n1 touch < zqlist.txt",
    "cat zqlist.txt | xargs -I{} cp {} D",
    "xargs -a zqlist.txt rm -f",
    "echo P | xargs touch",
    "awk '{print}' R",
    "awk '{print > \"P\"}' R",
    "awk 'BEGIN{system(\"touch P\")}'",
    "mktemp -p D zqXXXXXX",
    "t=$(mktemp) && echo x > \"$t\" && mv \"$t\" P",
    "git init -q P",
    "git init -q P && cp zqa.txt P/ && git -C P add zqa.txt",
    "git init -q P && cp zqa.txt P/ && (cd P && git add . && git mv zqa.txt zqmoved && git rm -qf zqmoved)",
    "git init -q . && git add zqa.txt && git status -s",
    "source ./zqs.sh",
    ". ./zqs.sh",
    "bash zqs.sh",
    "./zqs.sh",
    "sh ../outside/zqrun.sh",
    "bash < zqs.sh",
    "cat zqs.sh | bash",
    "ls D",
    "stat R",
    "readlink zqlink",
    "realpath R",
    "test -f R && rm R",
    "[ -e R ] || touch W",
    "[[ -f R ]] && cp R W",
    "printf 'x\\n' > W",
    "printf '%s\\n' R > W",
    "echo x >| W",
    "echo x &> W",
    "echo x >& W",
    "echo x 2> W",
    "echo x &>> W",
    "echo x 1<> W",
    ": > W",
    "> W",
    ">> W",
    "exec 3> W; echo y >&3",
    "exec {zqfd}> W; echo y >&$zqfd",
    "exec 4< R; read -r l <&4",
    "{ echo a; echo b; } > W",
    "cat <<E > W\nline $HOME\nE",
    "cat <<'E' > W\nline $(touch zqnever)\nE",
    "cat <<E\n$(cat R)\nE",
    "cat <<-E >> W\n\ttext\n\tE",
    "cat <<< x > W",
    "mapfile -t zqarr < R",
    "read -r zqv < R",
    "cat R | while read -r l; do echo \"$l\" >> W; done",
    "cat zqlist.txt | while read -r f; do cp \"$f\" D; done",
    "while read -r f; do rm -f \"$f\"; done < zqlist.txt",
    "for f in zq*.txt; do cp \"$f\" D; done",
    "for f in zqdir/*; do mv \"$f\" \"$f.zqold\"; done",
    "for f in zqa zqb; do mv $f.txt $f.bak; done",
    "for p in R R; do cat \"$p\" >> W; done",
    "for ((i=0;i<2;i++)); do touch zqn$i; done",
    "for d in zqdir zqsub; do (cd $d && touch zqhere); done",
    "i=0; while [ $i -lt 2 ]; do touch zqw$i; i=$((i+1)); done",
    "touch zq{x,y,z}",
    "cp zqa.txt{,.bak}",
    "cat zq[ab].txt > W",
    "cat zq?.txt",
    "echo > zqdir/zq*.txt",
    "v=R; cat $v > W",
    "v=W; echo x > $v",
    "v=W; echo x > \"$v\"",
    "d=D; touch \"$d/zqv\"",
    "d=D; cp R $d/",
    "p=zqa; cat ${p}.txt > W",
    "p=zqa.txt; cp $p ${p%.txt}.bak",
    "p=zqdir/zqc.txt; touch ${p%/*}/zqnext ${p##*/}",
    "p=zqa.txt; cat ${p/a/b}",
    "p=ZQUP; touch ${p,,}",
    "unset zqu; echo x > \"${zqu:-W}\"",
    ": ${zqu:=W}; echo x > \"$zqu\"",
    "a=(R R); cat \"${a[@]}\" > W",
    "a=(W); echo x > \"${a[0]}\"",
    "a=(zqa.txt); a+=(zqb.txt); rm -f \"${a[@]}\"",
    "declare -A m=([k]=W); echo x > \"${m[k]}\"",
    "n=v; v=W; echo x > \"${!n}\"",
    "printf -v t '%s' W; touch \"$t\"",
    "(IFS=:; l=zqa.txt:zqb.txt; cat $l)",
    "l='zqa.txt zqb.txt'; cp $l zqdir",
    "read -r p <<< W; touch \"$p\"",
    "set -- R W; cp \"$1\" \"$2\"",
    "f() { cp \"$1\" \"$2\"; }; f R W",
    "f() { local d=$1; shift; touch \"$d/$1\"; }; f D zqarg",
    "g() { cd D && touch zqg; }; g; touch zqafter",
    "touch() { command touch \"$1.zqwrapped\"; }; touch zqfn",
    "x=$(cat R); echo \"$x\" > W",
    "x=`head -n1 zqlist.txt`; rm \"$x\"",
    "rm \"$(cat zqlist.txt | head -n 1)\"",
    "cp $(cat zqlist.txt) zqdir",
    "touch \"$(pwd)/zqpwd\"",
    "touch \"$PWD/../outside/zqpwd2\"",
    "cat <(cat R) > W",
    "echo x > >(cat > W); sleep 0.05",
    "diff <(sort R) <(sort R)",
    "echo 'touch P' > zqgen.sh; bash zqgen.sh",
    "printf 'echo x > ../outside/zqgen\\n' > zqg.sh; . ./zqg.sh",
    "echo 'touch P' | bash",
    "bash <<'E'\necho x > P\nE",
    "bash -s zqarg <<< 'touch \"$1\"'",
    "CDPATH=../outside; cd zqod > /dev/null && touch zqcdp",
    "cd zqdir; cd - > /dev/null; touch zqback",
    "cd zqlink; touch zqlog; cd -P .; touch zqphys",
    "cd zqlink && touch ../zqup",
    "cd -P zqlink && touch ../inside/zqup2",
    "cd zqsub/zqdeep && touch ../../zqtop",
    "cd; touch zqathome",
    "cd ~/zqhd && echo x > ../zqx",
    "pushd zqdir > /dev/null; touch zqp1; popd > /dev/null; touch zqp2",
    "pushd ../outside > /dev/null; pushd zqod > /dev/null; touch zqp3; popd > /dev/null; touch zqp4",
    "trap 'touch P' EXIT; cat R",
    "trap 'rm -f zqa.txt' EXIT",
    "env zqv=1 touch W",
    "timeout 3 cp R W",
    "nice touch W",
    "nohup touch W",
    "command cp R W",
    "builtin printf x > W",
    "\\touch W",
    "/usr/bin/touch W",
    "'touch' W",
    "c=touch; $c W",
    "c='cp R'; $c P",
    "case zqa.txt in zq*) cp R W ;; *) rm -f R ;; esac",
    "case $PWD in */inside) touch zqcase ;; esac",
    "select x in a; do touch W; break; done <<< 1",
    "let n=1+1; touch zqlet$n",
    "touch zq$((2*3))",
    "shopt -s nullglob; for f in zqnone*; do rm -f \"$f\"; done; touch W",
    "shopt -s globstar; cat **/zqe.txt",
    "shopt -s extglob\ncat zq@(a|b).txt",
    "set -f; cat zq*.txt; set +f; touch W",
    "set -e; cat zqnone 2>/dev/null; touch W",
    "set -o noclobber; echo x > zqa.txt; echo x > W",
    "export zqE=W; bash -c 'echo x > \"$zqE\"'",
    "coproc { cat R > W; }; wait",
    "(umask 077; touch W)",
    "mv zqa.txt zqtmp && mv zqb.txt zqa.txt && mv zqtmp zqb.txt",
];

const AROUND: &[&str] = &[
    "A && B",
    "A || B",
    "A; B",
    "A\nB",
    "A & wait; B",
    "A | cat > W",
    "A |& cat",
    "( A; B )",
    "{ A; B; }",
    "{ A; } > W",
    "(cd D && { A; })",
    "cd D && { A; }",
    "cd D; A\ncd - > /dev/null; B",
    "pushd D > /dev/null; A\npopd > /dev/null; B",
    "f() { A; }; f",
    "f() { A\n}\nf; B",
    "f() ( cd D; A; ); f; B",
    "if A; then B; fi",
    "if false; then A; else B; fi",
    "if [ -e R ]; then A; fi; B",
    "for i in 1 2; do A; done",
    "while :; do A; break; done",
    "until A; do B; break; done",
    "case x in y) A ;; *) B ;; esac",
    "eval QA",
    "bash -c QA",
    "sh -c QB; A",
    "cd D && bash -c QA",
    "env -u zqnone bash -c QA",
    "timeout 3 bash -c QA",
    "x=$(A); echo \"$x\" > W",
    "cat <(A) > W",
    "trap QA EXIT; B",
    "! A",
    "time A",
    "A # comment\nB",
    "true && A",
    "false || A",
    "A 2>/dev/null",
];

const READS: &[&str] = &[
    "zqa.txt",
    "./zqb.txt",
    "zqdir/zqc.txt",
    "zqsub/zqdeep/zqe.txt",
    "../outside/zqo.txt",
    "zqlink/zqp.txt",
    "zqflink",
    "$HOME/zqh.txt",
    "~/zqh.txt",
    "\"$HOME\"/zqhd/zqi.txt",
    "@S/outside/zqo.txt",
    "\"zq sp.txt\"",
    "zq\\ sp.txt",
    "zqdir/../zqb.txt",
    "zqlink/../inside/zqa.txt",
    "zqsub/../../outside/zqp.txt",
    "${HOME}/../outside/zqo.txt",
    "'zqa.txt'",
    "zq\"a\".txt",
    "$'zqa\\x2etxt'",
    "\"$PWD\"/zqb.txt",
];

const WRITES: &[&str] = &[
    "zqnew1",
    "zqdir/zqnew2",
    "../outside/zqnew3",
    "zqlink/zqnew4",
    "~/zqnew5",
    "@S/outside/zqnew6",
    "$TMPDIR/zqnew7",
    "\"zq new8\"",
    "zqflink",
    "zqa.txt",
    "zqlink/zqo.txt",
    "zqsub/../zqnew9",
    "\"${HOME}/zqhd/zqnew\"",
    "zqlink/../zqnew10",
];

const DIRS: &[&str] = &[
    "zqdir",
    "zqsub",
    "./zqsub/zqdeep",
    "../outside",
    "zqlink",
    "zqlink/zqod",
    "~",
    "$HOME/zqhd",
    "@S/outside/zqod",
    "zqempty",
];

const PLAIN: &[&str] = &["zqn1", "zqn2", "zqn3", "zqn4"];

/// The same numbers for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % sides as u64).unwrap()
    }

    fn of<'l>(&mut self, list: &[&'l str]) -> &'l str {
        list[self.roll(list.len())]
    }
}

/// How many forms there are; the first that many commands are each form once.
pub(crate) fn forms() -> usize {
    SIMPLE.len() + AROUND.len()
}

/// The command of this number.
pub(crate) fn command(number: usize, dice: &mut Dice) -> String {
    let text = if number < SIMPLE.len() {
        filled(SIMPLE[number], dice, 0)
    } else if number < forms() {
        filled(AROUND[number - SIMPLE.len()], dice, 1)
    } else {
        let depth = 1 + dice.roll(3);
        let form = dice.of(AROUND);
        filled(form, dice, depth)
    };
    assert!(!text.contains("/.. ") && !text.ends_with("/.."), "{text}");
    text
}

/// A form with its places filled. A letter is a place only where it stands alone, or begins a path.
fn filled(form: &str, dice: &mut Dice, depth: usize) -> String {
    let plain = dice.of(PLAIN);
    let mut text = String::new();
    let chars: Vec<char> = form.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map_or(' ', |at| chars[at]);
        let after = chars.get(at + 1).copied().unwrap_or(' ');
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-');
        let quoted = before == 'Q' && matches!(c, 'A' | 'B');
        if (word(before) && !quoted) || word(after) && !(*c == 'Q' && matches!(after, 'A' | 'B')) {
            text.push(*c);
            continue;
        }
        match c {
            'R' => text.push_str(dice.of(READS)),
            'W' => text.push_str(dice.of(WRITES)),
            'D' => text.push_str(dice.of(DIRS)),
            'P' => text.push_str(plain),
            'Q' => {}
            'A' | 'B' => {
                let inner = if depth <= 1 || dice.roll(3) == 0 {
                    let form = dice.of(SIMPLE);
                    filled(form, dice, 0)
                } else {
                    let form = dice.of(AROUND);
                    filled(form, dice, depth - 1)
                };
                text.push_str(&if quoted { quote(&inner) } else { closed(&inner, form, *c) });
            }
            other => text.push(*other),
        }
    }
    text
}

/// A here-document ends at the end of its line: what stands behind it in the form goes to the next one.
fn closed(inner: &str, form: &str, place: char) -> String {
    let last = form.trim_end().ends_with(place);
    if inner.contains("<<E") || inner.contains("<<'E") || inner.contains("<<-E") {
        // In braces on lines of their own, so that anything may follow.
        return format!("{{ {inner}\n}}");
    }
    if last { inner.to_owned() } else { inner.trim_end().to_owned() }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
