//! Commands that are made to take long: each is short, or within what a host sends, and each grows somewhere else.

/// Makes a variable twice as long, so many times.
fn doubled(start: &str, times: usize) -> String {
    format!("x='{start}'{}", "; x=$x$x".repeat(times))
}

/// A command, and how often it stands there.
fn again(command: &str, times: usize) -> String {
    vec![command; times].join("; ")
}

/// Each with a number in place of `@`.
pub(crate) fn numbered(command: &str, times: usize) -> String {
    (0..times).map(|n| command.replace('@', &n.to_string()).replace('%', &(n + 1).to_string())).collect()
}

/// By what grows.
pub(crate) fn commands() -> Vec<(&'static str, String)> {
    let mut all = texts();
    all.extend(words());
    all.extend(walks());
    all.extend(programs());
    all.extend(disk());
    all
}

/// Texts that double.
fn texts() -> Vec<(&'static str, String)> {
    let long = doubled("a", 17);
    vec![
        ("a text put together", format!("{long}; {}", again("y=$x$x z=$x w=$x", 1000))),
        ("a text put in its own place", format!("{long}; y=${{x//a/$x}}; y=${{y//a/$y}}; echo $y")),
        ("a text exchanged", format!("{long}; {}", again("y=${x//a/bbbb} z=${x#a} w=${x%a}", 600))),
        ("a text compared", format!("{long}; {}", again("[[ $x == *a*a*b ]] && [ $x = $x ]", 600))),
        ("a text matched", format!("{long}; {}", again("case $x in *b*a*) :;; ?*) :;; esac", 600))),
        ("a text piped", format!("{long}; {}", again("echo $x | cat | rev | base64 | tr a b", 600))),
        ("a text written", format!("{long}; {}", again("echo $x > f; cat f f f > g; cat g >> f", 200))),
        ("a text kept in branches", format!("{long}; {}", again("if a; then y=$x; else y=b$x; fi", 600))),
        ("a text in PATH", format!("{long}; {}", again("export PATH=$x:$PATH; foo", 600))),
        ("a text printed", format!("x=a; {}; rm $x", again("printf -v x '%s%s%s%s' $x $x $x $x", 12))),
        ("a wide text", "x=$(printf '%99999999s' a); printf '%*d' 1000000000 1; echo $x".into()),
        ("a text evaluated", format!("{}; {}", doubled("$y ", 14), again("eval \"echo $x\"", 200))),
        ("a text run", format!("{}; {}", doubled("echo a;", 13), again("echo \"$x\" > f.sh; sh f.sh", 20))),
        ("a text fed to a shell", format!("{}; {}", doubled("rm a;", 13), again("echo \"$x\" | sh", 200))),
        ("a text in here-documents", format!("{long}{}", "\ncat <<E > f\n$x\nE\n".repeat(600))),
        ("a text in arithmetic", format!("{}; {}", doubled("a+", 16), again("echo $((${x}1))", 300))),
        (
            "a text that patterns cut",
            format!("x={}; {}", "a".repeat(500), again("echo ${x##*a*a*a*a*b}", 900)),
        ),
    ]
}

/// Words that become more.
fn words() -> Vec<(&'static str, String)> {
    let many = doubled("a ", 15);
    vec![
        ("words of a text", format!("{many}; set -- $x; set -- $@ $@; rm $x $x $x")),
        ("words given again and again", format!("{many}; {}", again("rm $x", 200))),
        ("words through a pipe", format!("{many}; {}", again("echo $x | xargs rm", 200))),
        ("words of an array", format!("a=(x); {}; rm ${{a[@]}}", again("a=(${a[@]} ${a[@]})", 40))),
        ("words added to an array", format!("a=(x); {}; rm ${{a[@]}}", again("a+=(${a[@]})", 40))),
        (
            "words of an array by name",
            format!("{many}; eval \"z=($x)\"; eval \"y=($x)\"; echo ${{z[@]}} ${{y[@]}}"),
        ),
        ("elements one by one", format!("{}echo ${{a[@]}}", numbered("a[@]=x; ", 6000))),
        ("parameters", format!("set -- a; {}; rm \"$@\"", again("set -- \"$@\" \"$@\"", 40))),
        ("words between other separators", format!("IFS=a; {}; rm $x $x", doubled("a", 17))),
        ("braces beside braces", format!("echo {}", "{1..9}".repeat(20))),
        ("braces in braces", format!("echo {}b{}", "{a,".repeat(20), "}".repeat(20))),
        ("braces again and again", "{1..60} ".repeat(3000)),
        ("tests of a search", format!("{}; {}", doubled("-name a -o ", 12), again("find . $x -delete", 200))),
        ("commands of a search", format!("find . {}", "-exec rm {} + ".repeat(4000))),
        ("programs before a program", "env nice timeout 1 xargs ".repeat(1500) + "rm"),
        ("options", format!("tar cf x {}", "-C /x a ".repeat(6000))),
    ]
}

/// Walks that branch.
fn walks() -> Vec<(&'static str, String)> {
    let calls = numbered("f@() { f%; f%; f%; f%; }; ", 20);
    vec![
        ("loops in loops", format!("{}echo; {}", "for a in {1..48}; do ".repeat(6), "done; ".repeat(6))),
        (
            "loops that never settle",
            format!("{}y=$x; {}", "while a; do x=$x$y; ".repeat(20), "done; ".repeat(20)),
        ),
        (
            "counted loops",
            "for ((i=0;i<1000000000;i++)); do ((j+=i)); done; while ((k<9**9)); do ((k++)); done".into(),
        ),
        ("functions that call", format!("{calls}f0")),
        (
            "functions of many bodies",
            format!("{}; f; g", again("if a; then f() { f; g; }; else g() { f; g; }; fi", 300)),
        ),
        (
            "functions with parameters",
            "g() { h $1$1; h $1$1; }; h() { g $1$1; g $1$1; }; g aaaaaaaaaaaa".into(),
        ),
        ("aliases", format!("shopt -s expand_aliases; {}\na0", numbered("alias a@='a% a%; a%'; ", 30))),
        ("traps", format!("{}; f() {{ ( trap f EXIT ); }}; f", again("trap 'trap f EXIT; f' EXIT", 300))),
        ("directories", "cd a || cd b; pushd c; ".repeat(2500)),
        ("choices", format!("{}echo $x0$x1$x2$x3$x4$x5", numbered("if a; then x@=a; else x@=b; fi; ", 60))),
        ("variables in children", format!("{}{}", numbered("v@=@; ", 3000), again("(a)", 2000))),
        ("commands", "a;".repeat(30_000)),
        ("a pipe", "cat|".repeat(4000) + "cat"),
        ("values that name values", format!("{}echo $((a0))", numbered("a@='a%+a%+a%+a%+a%+a%+a%+a%'; ", 9))),
        ("subscripts", format!("{}echo $((b0+b0))", numbered("b@='c[b%]+c[b%]+c[b%]+c[b%]'; ", 9))),
        ("nested substitutions", format!("echo {}x{}", "$(echo ".repeat(70), ")".repeat(70))),
        ("nested arithmetic", format!("echo {}1{}", "$((".repeat(70), "))".repeat(70))),
        ("nested defaults", format!("echo {}a{}", "${x:-".repeat(100), "}".repeat(100))),
        ("here-documents", numbered("cat <<E@\n$(cat <<F@\n$x\nF@\n)\nE@\n", 1500)),
        ("extended patterns", format!("case {} in {}b) :;; esac", "a".repeat(200), "+(+(+(a)))".repeat(30))),
    ]
}

/// Programs in other languages.
fn programs() -> Vec<(&'static str, String)> {
    let many = |start: &str, program: &str| format!("{}; {}", doubled(start, 13), again(program, 200));
    vec![
        ("python", many("x=x+x;", "python3 -c \"x='a';$x\"")),
        (
            "python that nests",
            format!("python3 -c 'import os; os.system({}{})'", "f(".repeat(5000), ")".repeat(5000)),
        ),
        ("python lists", format!("python3 -c 'x=[1]\n{}open(x)'", "x=[x,x,x,x,x,x,x,x]\n".repeat(1000))),
        ("node", many("x=[x,x];", "node -e \"$x\"")),
        ("node templates", format!("node -e 'eval({}1{})'", "`${".repeat(5000), "}`".repeat(5000))),
        ("perl", format!("perl -e '{}system($x)'", "$x .= $x; ".repeat(5000))),
        ("ruby", format!("ruby -e '{}system(x)'", "x = \"#{x}#{x}\"; ".repeat(3000))),
        ("awk", many("x=x x;", "awk \"{$x}\"")),
        ("awk that nests", format!("awk 'BEGIN {{ print {}1{} }}'", "(".repeat(5000), ")".repeat(5000))),
        ("sed", many("s/a/b/;", "sed \"$x\" f")),
        ("jq", many(".a|", "jq \"$x\" f")),
        ("git aliases", "git -c alias.a='!git b; git b' -c alias.b='!git a; git a' a".into()),
        ("inline code in inline code", format!("node -e '{}'", "eval(\"eval(x)\");".repeat(3500))),
    ]
}

/// What lies on the disk.
fn disk() -> Vec<(&'static str, String)> {
    vec![
        ("patterns of files", again("rm */*/*a* ?/*", 500)),
        ("files as options", again("tar cf x.tar *", 1500)),
        ("loops over files", "for f in */*; do for g in */*; do rm $f $g *; done; done".into()),
        (
            "programs in many directories",
            format!("PATH={}; {}", ":/d".repeat(8000), numbered("foo@; ", 2000)),
        ),
        ("links", format!("{}rm -r d2000/x", numbered("ln -s d@ d%; ", 2000))),
        ("files that were written", numbered("echo @ > f@; ", 3000)),
        ("copies", numbered("cp -r a@ a%; ", 3000)),
        ("a long script", "sh ./long.sh; . ./long.sh".into()),
        ("a script that runs itself", "sh ./again.sh".into()),
        ("many scripts", numbered("sh ./s@.sh; ", 200)),
        (
            "a long file in a variable",
            format!("{}; eval \"$x\"; echo $x $x $x", again("x=$(<long.txt)", 1500)),
        ),
        ("a makefile", "make all".into()),
        ("a justfile", "just all".into()),
        ("scripts of a package", "npm run a".into()),
    ]
}

/// A makefile whose variables and targets double.
pub(crate) fn makefile() -> String {
    let variables = numbered("x@=$(x%)$(x%)$(x%)$(x%)\n", 40);
    let targets = numbered("t@: t% t%\n\t$(MAKE) t%; $(MAKE) t%\n", 300);
    format!(
        "{variables}x40=a \nall: t0 $(x0)\n\techo $(x0) $(foreach a,$(x0),$(foreach b,$(x0),$a$b))\n{targets}"
    )
}

/// A justfile whose variables double.
pub(crate) fn justfile() -> String {
    format!(
        "x0 := 'a'\n{}all:\n  echo {{{{x40}}}}\n  just all; just all\n",
        numbered("x% := x@ + x@ + x@ + x@\n", 40)
    )
}

/// Scripts that run one another.
pub(crate) fn package() -> String {
    let others = numbered(",\"d@\":\"npm run a\"", 3000);
    format!(
        "{{\"scripts\":{{\"a\":\"npm run b; npm run b; npm run b\",\"b\":\"npm run a; npm run a\"{others}}}}}"
    )
}
