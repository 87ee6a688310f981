use super::recipe;
use crate::recipes::tests::{scrambled, shown};

fn make(text: &str, targets: &[&str]) -> Vec<String> {
    shown(&recipe(text, targets, &[], &mut |_| None))
}

/// (what it shows, makefile, targets, steps)
const CASES: &[(&str, &str, &[&str], &[&str])] = &[
    ("first target", "a:\n\techo a\nb:\n\techo b\n", &[], &["2: echo a"]),
    ("named target", "a:\n\techo a\nb:\n\techo b\n", &["b"], &["4: echo b"]),
    ("no such target", "a:\n\techo a\n", &["c"], &["absent"]),
    ("empty file", "", &[], &["absent"]),
    ("specials are not first", ".PHONY: x\n.DEFAULT:\n\techo d\nx:\n\techo x\n", &[], &["5: echo x"]),
    ("default rule", ".DEFAULT:\n\techo d $@\nx:\n\techo x\n", &["q"], &["2: echo d q"]),
    ("default goal", ".DEFAULT_GOAL := b\na:\n\techo a\nb:\n\techo b\n", &[], &["5: echo b"]),
    (
        "prerequisites first, each once",
        "all: b c\n\techo all\nb: d\n\techo b\nc: d b | e\n\techo c\nd:\n\techo d\ne: ; echo e\n",
        &[],
        &["8: echo d", "4: echo b", "9: echo e", "6: echo c", "2: echo all"],
    ),
    ("a circle ends", "a: b\n\techo a\nb: a\n\techo b\n", &[], &["4: echo b", "2: echo a"]),
    (
        "prefixes",
        "a:\n\t@echo 1\n\t-rm x\n\t+@-  echo 2\n\t\n\t# comment\n",
        &[],
        &["2: echo 1", "3: rm x", "4: echo 2"],
    ),
    ("recipe on the line", "a: b ; rm -rf x # c\nb:;@echo\n", &["a"], &["2: echo", "1: rm -rf x # c"]),
    (
        "continuation",
        "a:\n\techo a \\\n\t  b; \\\n c\n\techo d\n",
        &[],
        &["2: echo a \\\n  b; \\\n c", "5: echo d"],
    ),
    (
        "continued rule",
        "a: b \\\n  c\n\techo $^\nb c:\n\techo $@\n",
        &[],
        &["5: echo b", "5: echo c", "3: echo b c"],
    ),
    (
        "variables",
        "X = a$(Y)${Z}$W\nY := b\nZ = c\nW = d\nt:\n\techo $(X) $$HOME $$(date)\n",
        &[],
        &["6: echo abcd $HOME $(date)"],
    ),
    ("late and early", "A = 1\nB := $(A)\nC = $(A)\nA = 2\nt:\n\techo $(B) $(C)\n", &[], &["6: echo 1 2"]),
    (
        "conditional and more",
        "A ?= 1\nA ?= 2\nA += 3\nB := x\nB += y\nt:\n\techo $(A) $(B)\n",
        &[],
        &["7: echo 1 3 x y"],
    ),
    ("comments", "A = rm # -rf\nB = a\\#b\nt: # none\n\t$(A) $(B)\n", &[], &["4: rm  a#b"]),
    ("undefined", "t:\n\trm -rf $(DIR)/x $U\n", &[], &["2: rm -rf ?/x ?"]),
    (
        "built-in variables",
        "t:\n\t$(RM) x\n\t$(MAKE) -C sub all\n",
        &[],
        &["2: rm -f x", "3: make -C sub all"],
    ),
    ("variable without end", "A = $(A)x\nt:\n\techo $(A)\n", &[], &["3: echo ?xxxxxxxxxxxxxxxxxxxxxxxx"]),
    ("unclosed", "t:\n\techo $(A\n", &[], &["2: echo ?"]),
    (
        "shell while reading",
        "X := $(shell ./gen)\nY != date\nt:\n\techo $(X) $Y\n",
        &["none"],
        &["1: ./gen", "2: date"],
    ),
    (
        "shell when used",
        "V = $(shell git describe)\nU = $(shell no)\nt:\n\techo $(V) $(V)\n",
        &[],
        &["4: git describe", "4: echo ? ?"],
    ),
    (
        "shell in a condition",
        "ifeq ($(shell uname),Linux)\nX=1\nendif\nt:\n\ttrue\n",
        &[],
        &["1: uname", "5: true"],
    ),
    ("shell in info", "$(info $(shell id))\nt:\n\ttrue\n", &[], &["1: id", "3: true"]),
    ("shell in a prerequisite", "t: $(shell ls a)\n\ttrue\n", &[], &["1: ls a", "1: ?", "2: true"]),
    (
        "shell with brackets",
        "X := $(shell (cd a; ls), b)\nt: ; true\n",
        &[],
        &["1: (cd a; ls), b", "2: true"],
    ),
    (
        "condition: both branches of a recipe",
        "t:\nifdef W\n\tdel x\nelse\n\trm x\nendif\n\techo\n",
        &[],
        &["3: del x", "5: rm x", "7: echo"],
    ),
    (
        "condition: a variable both ways",
        "ifeq ($(V),1)\nQ :=\nelse\nQ := @\nendif\nifeq ($(OS),W)\nR = del\nelse ifdef X\nR = trash\nelse\nR = rm -f\nendif\nt:\n\t$(Q)$(R) x\n",
        &[],
        &["14: del x", "14: trash x", "14: rm -f x"],
    ),
    (
        "condition: without else",
        "F = a\nifdef D\nF += b\nendif\nt:\n\tcc $(F)\n",
        &[],
        &["6: cc a b", "6: cc a"],
    ),
    ("condition: ifndef", "ifndef P\nP = /usr\nendif\nt:\n\tcp a $(P)\n", &[], &["5: cp a /usr"]),
    ("condition: left open", "ifdef P\nt:\n\techo\n", &[], &["3: echo"]),
    (
        "first in either branch",
        "ifdef W\na: ; echo a\nq: ; echo q\nelse\nb: ; echo b\nendif\nc: ; echo c\nd: ; echo d\n",
        &[],
        &["2: echo a", "5: echo b", "7: echo c"],
    ),
    ("pattern rule", "%.o: %.c h.h\n\tcc -c $< -o $@ # $*\n", &["d/a.o"], &["2: cc -c d/a.c -o d/a.o # d/a"]),
    ("pattern through an explicit rule", "a.o: x.h\n%.o: %.c\n\tcc $<\n", &["a.o"], &["3: cc a.c"]),
    (
        "static pattern",
        "O = a.o b.o\nall: $(O)\n$(O): %.o: %.c\n\tcc $< -o $@\n",
        &[],
        &["4: cc a.c -o a.o", "4: cc b.c -o b.o"],
    ),
    ("suffix rule", ".c.o:\n\tcc -c $<\n", &["a.o"], &["2: cc -c a.c"]),
    (
        "wildcard",
        "S := $(wildcard src/*.c)\nO := $(patsubst src/%.c,obj/%.o,$(S))\nP = $(S:.c=.d)\nprog: $(O)\n\tld $^ $(P)\nobj/%.o: src/%.c\n\tcc $< -o $@\n",
        &[],
        &["7: cc src/?.c -o obj/?.o", "5: ld obj/?.o src/?.d"],
    ),
    (
        "an unknown prerequisite",
        "a: $(DEPS)\n\techo a\n%.o: %.c\n\tcc $<\n",
        &[],
        &["1: ?", "4: cc ?.c", "2: echo a"],
    ),
    (
        "a partly known prerequisite",
        "a: test-$(X)\ntest-u:\n\techo u\nclean:\n\trm\n",
        &["a"],
        &["3: echo u"],
    ),
    ("an unknown target", "$(T): x\n\trm -rf $@\n", &["y"], &["2: rm -rf x", "2: rm -rf y"]),
    ("match anything", "a:\n\techo a\n%:\n\t@echo $@\n", &["q"], &["4: echo q"]),
    ("double colon", "a:: b\n\techo 1\na:: c\n\techo 2\n", &["a"], &["2: echo 1", "4: echo 2"]),
    ("grouped targets", "a b &: c\n\techo $@\n", &["b"], &["2: echo b"]),
    (
        "target's own variables",
        "D = /\nrelease: D = out\nrelease: x\n\trm -rf $(D)\nx:\n\techo $(D)\ny: release\n\techo $(D)\n",
        &["y"],
        &["6: echo out", "4: rm -rf out", "8: echo /"],
    ),
    (
        "canned recipe",
        "define clean =\n@rm -rf $(1)\n-echo done\nendef\nX = a\nt:\n\t$(call clean,$(X) b)\n\techo\n",
        &[],
        &["7: rm -rf a b", "7: echo done", "8: echo"],
    ),
    (
        "eval",
        "define R\n$(1):\n\trm -rf $(1).d\nendef\n$(eval $(call R,a))\n$(foreach n,b c,$(eval $(call R,$n)))\n",
        &["c"],
        &["6: rm -rf c.d"],
    ),
    ("eval of a hole", "$(eval $(X))\nt:\n\techo\n", &[], &["1: ?", "3: echo"]),
    ("foreach", "t:\n\techo $(foreach d,a b,-I$(d))\n", &[], &["2: echo -Ia -Ib"]),
    (
        "functions",
        "L = b.c a.c\nt:\n\techo $(addprefix d/,$(L)) $(addsuffix x,a) $(L:.c=.o) $(filter a%,$(L)) $(filter-out a%,$(L)) $(sort $(L)) $(firstword $(L)) $(subst b,q,$(L)) $(notdir x/y) $(dir x/y) $(basename a.c) $(if ,a,b) $(if x,a,b)\n",
        &[],
        &["3: echo d/b.c d/a.c ax b.o a.o a.c b.c a.c b.c b.c q.c a.c y x/ a b a"],
    ),
    (
        "call of a function",
        "t:\n\techo $(call subst,a,b,aa) $(call shell,id)\n",
        &[],
        &["2: id", "2: echo bb ?"],
    ),
    ("file writes", "$(file >out/x,text)\nt: ; true\n", &[], &["1: : >out/x", "2: true"]),
    (
        "shell",
        "SHELL := /bin/bash\n.SHELLFLAGS := -eu -c\nt:\n\techo\n",
        &[],
        &["4: [/bin/bash -eu -c] echo"],
    ),
    ("one shell", ".ONESHELL:\nt:\n\t@cd x\n\trm -rf y\n", &[], &["3: cd x\nrm -rf y"]),
    ("other prefix", ".RECIPEPREFIX = >\nt:\n>rm x\n> rm y\n", &[], &["3: rm x", "4: rm y"]),
    (
        "export",
        "export D = a'b\nE = 1\nexport E\nt:\n\trm -rf $$D\n\techo\n",
        &[],
        &["5: export D='a'\\''b'\nrm -rf $D", "6: echo"],
    ),
    ("override", "override X = a\nt:\n\techo $(X)\n", &[], &["3: echo a"]),
    ("optional include", "-include x.mk\nt: ; true\n", &[], &["2: true"]),
    ("include that is missing", "include x.mk\nt: ; true\n", &[], &["1: ?", "2: true"]),
    ("include of a hole", "-include $(D)\nt: ; true\n", &[], &["1: ?", "2: true"]),
    ("include that is made", "-include x.mk\nt: ; true\nx.mk:\n\t./gen\n", &[], &["4: ./gen", "2: true"]),
    (
        "makefile that is made",
        "t: ; true\nMakefile: in\n\t./configure\n",
        &[],
        &["3: ./configure", "1: true"],
    ),
    (
        "second expansion",
        ".SECONDEXPANSION:\na b: $$(X_$$@)\n\techo $@\nX_b = c\nc:\n\techo c\n",
        &["b"],
        &["6: echo c", "3: echo b"],
    ),
    ("compiler", "CC = ./gen ;\np: a.o\n", &["p"], &["1: ./gen ; ? -c -o a.o", "2: ./gen ; ?  -o p"]),
    ("carriage returns", "X = a\r\nt:\r\n\techo $(X)\r\n", &[], &["3: echo a"]),
    (
        "a line that is no make",
        "t:\n\techo\nwhat is this\n",
        &[],
        &["opaque: a line of the makefile is not understood"],
    ),
    ("recipes stay after a comment", "t:\n\techo 1\n# c\n\n\techo 2\n", &[], &["2: echo 1", "5: echo 2"]),
    (
        "several goals",
        "a: ; echo a\nb: a ; echo b\nc: ; echo c\n",
        &["c", "b", "a"],
        &["3: echo c", "1: echo a", "2: echo b"],
    ),
    ("secondary names", "t: d/a\n\techo $(@D) $(@F) $(<D) $(<F) $?\n", &[], &["2: echo . t d a ?"]),
];

#[test]
fn recipes_of_a_makefile_are_read() {
    let differs = |(name, text, targets, expected): &(&str, &str, &[&str], &[&str])| {
        let found = make(text, targets);
        (found != *expected).then(|| format!("{name}\n  found {found:?}\n  not   {expected:?}"))
    };
    let wrong: Vec<String> = CASES.iter().filter_map(differs).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn variables_of_the_command_line_override_the_file() {
    let text = "X = a\nY ?= b\noverride Z = c\nt:\n\trm $(X) $(Y) $(Z) $$X\n";
    let found = recipe(text, &[], &[("X", "/"), ("Y", "$(shell id)"), ("Z", "q")], &mut |_| None);
    assert_eq!(shown(&found), ["5: id", "5: export X='/'\nrm / ? c $X"]);
}

#[test]
fn included_files_are_read() {
    let mut asked = Vec::new();
    let mut files = |name: &str| {
        asked.push(name.to_owned());
        match name {
            "a.mk" => Some("X = 1\ninclude b.mk\nclean:\n\n\trm -rf $(X)\n".into()),
            "b.mk" => Some("X = 2\n".into()),
            "loop.mk" => Some("include loop.mk".into()),
            _ => None,
        }
    };
    let found = recipe("all: clean\ninclude a.mk\n", &[], &[], &mut files);
    assert_eq!(shown(&found), ["2: rm -rf 2"]);
    assert_eq!(shown(&recipe("include loop.mk\nt: ; true", &[], &[], &mut files)), ["1: ?", "2: true"]);
    assert_eq!(asked.len(), 2 + 8);
}

#[test]
fn the_makefile_of_a_go_project_is_read() {
    let text = r#"
BINARY ?= app
VERSION := $(shell git describe --tags --always)
LDFLAGS = -X main.version=$(VERSION)
PLATFORMS := linux darwin

.PHONY: all build test clean help $(PLATFORMS)

all: test build

build: ## Build it
	@mkdir -p bin
	CGO_ENABLED=0 go build -ldflags "$(LDFLAGS)" -o bin/$(BINARY) ./cmd/$(BINARY)

$(PLATFORMS):
	GOOS=$@ go build -o bin/$(BINARY)-$@

test:
	go test ./... -run '^Test' | tee test.log; \
	  exit $${PIPESTATUS[0]}

clean:
	rm -rf bin/ test.log

help:
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*?## "}; {print $$1}'
"#;
    assert_eq!(
        make(text, &["all", "linux", "clean"]),
        [
            "3: git describe --tags --always",
            "19: go test ./... -run '^Test' | tee test.log; \\\n  exit ${PIPESTATUS[0]}",
            "12: mkdir -p bin",
            "13: CGO_ENABLED=0 go build -ldflags \"-X main.version=?\" -o bin/app ./cmd/app",
            "16: GOOS=linux go build -o bin/app-linux",
            "23: rm -rf bin/ test.log",
        ]
    );
    assert_eq!(
        make(text, &["help"]).last().unwrap(),
        "26: grep -E '^[a-z]+:.*##' ? | awk 'BEGIN {FS = \":.*?## \"}; {print $1}'"
    );
}

#[test]
fn a_makefile_that_grows_without_end_is_opaque() {
    let mut bomb = String::from("X0 = aaaaaaaaaaaaaaaa\n");
    for i in 1..40 {
        bomb.push_str(&format!("X{i} = $(X{0})$(X{0})\n", i - 1));
    }
    bomb.push_str("t:\n\techo $(X39)\n");
    assert_eq!(make(&bomb, &[]), ["opaque: more than can be looked at"]);
    let many = (0..5000).map(|i| format!("t: p{i}\np{i}:\n\techo {i}\n")).collect::<Vec<_>>().concat();
    assert_eq!(make(&many, &[]), ["opaque: more than can be looked at"]);
    let chain = (0..5000).map(|i| format!("p{i}: p{}\n\techo\n", i + 1)).collect::<Vec<_>>().concat();
    let (words, long) = ("a ".repeat(100_000), "b".repeat(100_000));
    for value in ["$(addprefix $(P),$(L))", "$(L:%=$(P))", "$(subst a,$(P),$(L))"] {
        let text = format!("L := {words}\nP := {long}\nt:\n\techo {value}\n");
        assert_eq!(make(&text, &[]), ["opaque: more than can be looked at"], "{value}");
    }
    assert!(make(&chain, &[]).len() < 100);
    let names = (0..20_000).map(|i| format!("p{i}")).collect::<Vec<_>>().join(" ");
    make(&format!("t: {names}\nt: {names}\n\techo $^\n"), &[]);
    for text in
        ["$(".repeat(200_000), "ifdef x\n".repeat(20_000), "%: %.x\n\techo $@\n".into(), "a:".repeat(100_000)]
    {
        make(&text, &["a"]);
    }
}

#[test]
fn any_text_is_read_without_a_panic() {
    let pieces = [
        "a",
        "b",
        ":",
        "::",
        "=",
        ":=",
        "+=",
        "!=",
        "$(",
        "${",
        ")",
        "}",
        "$@",
        "$",
        "%",
        "\n",
        "\n\t",
        "\\\n",
        "\\",
        ";",
        "#",
        ",",
        " ",
        "define x\n",
        "endef\n",
        "ifdef a\n",
        "else\n",
        "endif\n",
        "include ",
        "$(shell ",
        "$(eval ",
        "$(call ",
        "$(foreach ",
        "$(wildcard *",
        "export ",
        "override ",
        "é",
        "\u{fdd2}",
        ".RECIPEPREFIX=",
    ];
    scrambled(&pieces, 4000, |text| {
        make(text, &[]);
        make(text, &["a", "b"]);
    });
}
