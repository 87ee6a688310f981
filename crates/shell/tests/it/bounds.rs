//! Texts that are made to be slow or deep: each is answered, on a small stack, without a crash.

use std::time::{Duration, Instant};

use toolgate_shell::{parse, parse_arithmetic, parse_word};

const SIZE: usize = 100_000;

fn filled(unit: &str) -> String {
    unit.repeat(SIZE / unit.len())
}

fn nested(open: &str, middle: &str, close: &str, levels: usize) -> String {
    format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
}

#[expect(clippy::too_many_lines, reason = "a list")]
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "(",
        ")",
        "((",
        "$(",
        "$((",
        "${",
        "${x:-",
        "\"${x:-",
        "\"$(",
        "`",
        "\\`",
        "'",
        "\"",
        "$'",
        "$\"",
        "\\",
        "\\\n",
        "{ ",
        "{",
        "}",
        "[[ ",
        "[[ (",
        "[[ a =~ (",
        "]]",
        "if ",
        "if :; then ",
        "while ",
        "for x in ",
        "case x in ",
        "case x in x) ",
        "select x in a; do ",
        "function f ",
        "f() ",
        "f() { ",
        "coproc ",
        "coproc x ",
        "time ",
        "! ",
        "<(",
        "<((",
        ">",
        "> ",
        "<<",
        "<<E ",
        "<<E\n",
        "cat <<E\n",
        "cat <<E\nE\n",
        "$(cat <<E\n",
        "cat <<A\n$(",
        "<<-E\n\t",
        "<<<",
        "@(",
        "@(|",
        "a=(",
        "a[",
        "a[$(",
        "${a[",
        "$[",
        "a=",
        "a=1 ",
        "declare a=(",
        "[",
        "((1))",
        "((1) )",
        "$((1) )",
        "$((1)) ",
        "(( ",
        "$(( ( ",
        "${x/",
        "${x//a/",
        "${x:",
        "${x:1:",
        "\"${x:-'",
        "\"${x:-\"",
        "&& ",
        "a&&",
        "a||\n",
        "a|",
        "a|&",
        ";",
        "a;",
        "a&",
        "\n",
        "#",
        "# x\n",
        " ",
        "a ",
        "a\\\n",
        "é",
        "$",
        "$x",
        "$$",
        "{fd}>",
        "1>",
        "99999999999>",
        "for ((;;",
        "for ((",
        "\"`",
        "`\\`",
        "$'\\x24",
        "a\r\n",
        "~",
        "{a,",
        "*",
    ]
    .into_iter()
    .map(filled)
    .collect();
    for levels in [50, 79, 100, 159, 250, 5_000] {
        texts.extend([
            nested("$(", ":", ")", levels),
            nested("(", ":", ")", levels),
            nested("( ", ":", " )", levels),
            nested("$((", "1", "))", levels),
            nested("$((", "1", ") )", levels),
            nested("((", "1", ") )", levels),
            nested("((", "1", "))", levels),
            nested("(( ", ":", "); )", levels),
            nested("{ ", ":", "; }", levels),
            nested("${x:-", "a", "}", levels),
            nested("\"${x:-", "a", "}\"", levels),
            nested("\"$(: ", "a", ")\"", levels),
            nested("if :; then ", ":", "; fi", levels),
            nested("case x in x) ", ":", ";; esac", levels),
            nested("[[ a ]] && { ", ":", "; }", levels),
            nested("f() { ", ":", "; }", levels),
            nested("a=(", "a", ")", levels),
            nested("a[", "0", "]=1", levels),
            nested("${a[", "0", "]}", levels),
            nested("$[", "1", "]", levels),
            nested("<(", ":", ")", levels),
            nested("@(", "a", ")", levels),
            nested("coproc { ", ":", "; }", levels),
            nested("while :; do ", ":", "; done", levels),
            nested("cat <<E\n$(", ":", ")\nE\n", levels),
            format!("$(({} ) )", filled("$(( 1 ) ) ")),
            format!("$(({} ) )", nested("$((", &"a ".repeat(SIZE / 4), ") )", levels.min(60))),
            format!("(({} ) )", nested("((", &"a ".repeat(SIZE / 4), ") )", levels.min(60))),
        ]);
    }
    let delimiters: String =
        (0..10_000).map(|number: u32| ["<<E", &number.to_string(), " "].concat()).collect();
    texts.push(format!("cat {delimiters}\n"));
    texts.push(format!("cat {delimiters}\n{}", "E0\n".repeat(20_000)));
    texts.push(format!("cat <<E\n{}", filled("a\\\n")));
    texts.push(format!("cat <<E\n{}\nE", filled("$(:)")));
    texts.push(format!("cat <<-E\n{}\nE", filled("\t$(:\n\t)\\\n")));
    texts.push(format!("cat <<E\n{}\nE", filled("`:`\\\n#")));
    texts.push(format!("cat <<E\n{}\nE", filled("\\")));
    texts.push(format!("x='{}'", filled("a\n")));
    texts.push(format!(": {}", filled("'a'\"b\"$c`d`")));
    texts.push(format!(": {}", filled("\"${x:-'a'}\"")));
    texts.push(format!(": $(( {} ))", filled("'a' + ")));
    texts.push(format!(": $(( {} ))", filled("${x} + ")));
    texts.push(format!(": \"{}\"", filled("$(: \"$(: a)\")")));
    texts.push(format!("[[ {} ]]", filled("a == b && ")));
    texts.push(format!("[[ a =~ {} ]]", filled("(a|$(:))")));
    texts.push(format!("a=({})", filled("[0]=a ")));
    texts.push(format!("case x in {} esac", filled("a|b) :;; ")));
    texts.push("a".repeat((1 << 20) + 1));
    texts.push("a".repeat(1 << 20));
    texts.push("a\0b".to_owned());
    texts
}

#[test]
fn hostile_texts_are_parsed_in_time_on_a_small_stack() {
    // A build with debug assertions is about thirty times slower, and the machine may be busy.
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 200 });
    let work = move || {
        let texts = texts();
        let mut slowest = (Duration::ZERO, String::new());
        let count = texts.len();
        for text in texts {
            let start = Instant::now();
            drop(parse(&text));
            let took = start.elapsed();
            let head: String = text.chars().take(40).collect();
            assert!(took < limit, "{took:?} for {head:?}");
            if took > slowest.0 {
                slowest = (took, head);
            }
            let _ = parse_word(&text);
            let _ = parse_arithmetic(&text);
        }
        println!("{count} texts, the slowest {slowest:?}");
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_text_that_is_too_long_or_too_deep_is_refused_whole() {
    for text in [
        "a".repeat((1 << 20) + 1),
        nested("$(", "rm", ")", 500),
        nested("{ ", "rm", "; }", 500),
        "a\0b".into(),
    ] {
        let parsed = parse(&text);
        assert!(parsed.error.is_some());
        assert!(parsed.list.items.is_empty());
    }
    assert!(parse(&nested("$(", "rm", ")", 50)).error.is_none());
    assert!(parse(&nested("{ ", "rm", "; }", 100)).error.is_none());
}
