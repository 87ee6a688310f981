//! What the tree says of a few texts, part by part.

use toolgate_shell::{
    ArmEnd, CommandKind, Connector, Descriptor, Index, Item, Operation, Part, Redirect, RedirectOperator,
    RedirectTarget, Value, Word, parse, parse_arithmetic, parse_word,
};

fn items(text: &str) -> Vec<Item<'_>> {
    let parsed = parse(text);
    assert_eq!(parsed.error, None, "{text}");
    parsed.list.items
}

fn kind(text: &str) -> CommandKind<'_> {
    items(text).swap_remove(0).first.commands.swap_remove(0).kind
}

fn words(text: &str) -> Vec<Word<'_>> {
    match kind(text) {
        CommandKind::Simple { words, .. } => words,
        other => panic!("{other:?}"),
    }
}

fn redirects(text: &str) -> Vec<Redirect<'_>> {
    items(text).swap_remove(0).first.commands.swap_remove(0).redirects
}

fn operation(text: &str) -> Operation<'_> {
    let Part::Parameter(parameter) = words(text).swap_remove(1).parts.swap_remove(0) else {
        panic!("{text}")
    };
    parameter.operation
}

/// A word in short: bare text as it is, quoted text in `‹›`, expansions by kind.
fn show(parts: &[Part<'_>]) -> String {
    let show_one = |part: &Part<'_>| match part {
        Part::Bare(text) => text.to_string(),
        Part::Quoted(text) => format!("‹{text}›"),
        Part::Double(parts) => format!("\"{}\"", show(parts)),
        Part::Parameter(parameter) => format!("${}", parameter.name),
        Part::Substitution(list) => format!("$({})", list.items.len()),
        Part::Backtick(text) => format!("`{text}`"),
        Part::Arithmetic(arithmetic) => format!("(({}))", show(&arithmetic.parts)),
        Part::Process { writes, .. } => if *writes { ">()" } else { "<()" }.to_owned(),
        Part::ExtendedGlob { operator, patterns } => format!("{}({})", char::from(*operator), patterns.len()),
        Part::Array(elements) => format!("[{}]", elements.len()),
    };
    parts.iter().map(show_one).collect()
}

#[test]
fn words_are_split_into_parts_as_bash_does() {
    for (text, expected) in [
        (r#": a"b $c d"'e f'\g$'\x68'"#, "a\"‹b ›$c‹ d›\"‹e f›‹g›‹h›"),
        (": ''", "‹›"),
        (": a\\\nb", "ab"),
        (r#": "\a\$\"\\""#, "\"‹\\a›‹$›‹\"›‹\\›\""),
        (": $(a; b)`c \\`d\\``", "$(2)`c `d``"),
        (": \"`a \\\"b\\\"`\"", "\"`a \"b\"`\""),
        (": $((1 + $x))$[2]", "((1 + $x))((2))"),
        (": <(a)>(b)", "<()>()"),
        (": @(a|b)c", "@(2)c"),
        (": {a,b}*~", "{a,b}*~"),
        (": $ a", "$"),
        (": \"$\"", "\"‹$›\""),
        ("declare x=(a b)", "x=[2]"),
        (": $\"a\"", "\"‹a›\""),
        (": $1$10${10}$@", "$1$10$10$@"),
    ] {
        assert_eq!(show(&words(text)[1].parts), expected, "{text}");
    }
}

#[test]
fn items_keep_their_connectors_and_background_marks() {
    let items = items("a && b || ! c | d & e\nf;");
    assert_eq!(items.len(), 3);
    assert!(items[0].background && !items[1].background);
    assert_eq!(items[0].rest[0].0, Connector::And);
    assert_eq!(items[0].rest[1].0, Connector::Or);
    assert!(items[0].rest[1].1.negated);
    assert_eq!(items[0].rest[1].1.commands.len(), 2);
}

#[test]
fn a_bar_with_an_ampersand_pipes_stderr_too() {
    let redirects = redirects("a |& b");
    assert_eq!(redirects[0].descriptor, Some(Descriptor::Number(2)));
    assert_eq!(redirects[0].operator, RedirectOperator::DuplicateOutput);
}

#[test]
fn assignments_come_before_the_name() {
    let CommandKind::Simple { assignments, words } = kind("a=1 b+=\"x\" c[0 + 1]=2 d=(p [q]=r) e= f g=h")
    else {
        panic!()
    };
    assert_eq!(assignments.iter().map(|one| one.name).collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    assert!(assignments[1].append && assignments[2].index.is_some());
    let Value::Array(elements) = &assignments[3].value else { panic!() };
    assert!(elements[0].index.is_none() && elements[1].index.is_some());
    assert!(matches!(&assignments[4].value, Value::Word(word) if word.parts.is_empty()));
    assert_eq!(words.len(), 2);
}

#[test]
fn operations_on_parameters_are_recognized() {
    assert!(matches!(operation(": ${#x}"), Operation::Length));
    assert!(matches!(operation(": ${#}"), Operation::None));
    assert!(matches!(operation(": ${#-}"), Operation::Length));
    assert!(matches!(operation(": ${!x}"), Operation::Indirect(inner) if *inner == Operation::None));
    assert!(matches!(operation(": ${!x*}"), Operation::Names));
    assert!(matches!(operation(": ${!x[@]}"), Operation::Keys));
    assert!(matches!(operation(": ${x:-y}"), Operation::Default { operator: b'-', or_empty: true, .. }));
    assert!(matches!(operation(": ${x+y}"), Operation::Default { operator: b'+', or_empty: false, .. }));
    assert!(matches!(operation(": ${x%%y}"), Operation::Strip { suffix: true, longest: true, .. }));
    assert!(matches!(operation(": ${x/#a/b}"), Operation::Replace { all: false, anchor: Some(b'#'), .. }));
    assert!(matches!(operation(": ${x//a}"), Operation::Replace { all: true, .. }));
    assert!(matches!(operation(": ${x^^}"), Operation::Case { operator: b'^', all: true, .. }));
    assert!(matches!(operation(": ${x:1}"), Operation::Slice { length: None, .. }));
    assert!(matches!(operation(": ${x: -1:2}"), Operation::Slice { length: Some(_), .. }));
    assert!(matches!(operation(": ${x@Q}"), Operation::Transform(b'Q')));
    let Part::Parameter(parameter) = words(": ${a[*]}").swap_remove(1).parts.swap_remove(0) else { panic!() };
    assert_eq!(parameter.index, Some(Index::Joined));
}

#[test]
fn bodies_of_here_documents_belong_to_their_redirections() {
    let text = "cat <<A <<-'B' 3<<C\n$x\nA\n\t$y\n\tB\n\\$z `w`\nC\necho";
    let redirects = redirects(text);
    let body = |number: usize| match &redirects[number].target {
        RedirectTarget::Body(word) => show(&word.parts),
        RedirectTarget::Word(_) => panic!(),
    };
    assert_eq!(body(0), "$x‹\n›");
    assert_eq!(body(1), "‹$y\n›");
    assert_eq!(body(2), "‹$z ›`w`‹\n›");
    assert_eq!(redirects[2].descriptor, Some(Descriptor::Number(3)));
    assert_eq!(items(text).len(), 2);
}

#[test]
fn redirections_are_read_with_operator_and_descriptor() {
    let redirects = redirects("a 2>&1 >| b <> c &>> d {fd}< e <&- 4>&5- <<< f");
    let operators: Vec<_> = redirects.iter().map(|redirect| redirect.operator).collect();
    assert_eq!(
        operators,
        [
            RedirectOperator::DuplicateOutput,
            RedirectOperator::Clobber,
            RedirectOperator::ReadWrite,
            RedirectOperator::AppendBoth,
            RedirectOperator::Read,
            RedirectOperator::DuplicateInput,
            RedirectOperator::DuplicateOutput,
            RedirectOperator::HereString
        ]
    );
    assert_eq!(redirects[4].descriptor, Some(Descriptor::Variable("fd")));
}

#[test]
fn compound_commands_are_recognized() {
    assert!(matches!(
        kind("for x; do a; done"),
        CommandKind::For { name: "x", words: None, select: false, .. }
    ));
    assert!(
        matches!(kind("select x in a b; do c; done"), CommandKind::For { words: Some(words), select: true, .. } if words.len() == 2)
    );
    assert!(matches!(kind("until a; do b; done"), CommandKind::While { until: true, .. }));
    assert!(
        matches!(kind("if a; then b; elif c; then d; else e; fi"), CommandKind::If { branches, otherwise: Some(_) } if branches.len() == 2)
    );
    assert!(matches!(kind("((1))"), CommandKind::Arithmetic(_)));
    assert!(matches!(kind("((a) )"), CommandKind::Subshell(_)));
    assert!(matches!(kind("[[ a && ( b || ! c ) ]]"), CommandKind::Test(words) if words.len() == 8));
    assert!(matches!(kind("coproc N { a; }"), CommandKind::Coproc { name: Some("N"), .. }));
    assert!(matches!(kind("coproc a b"), CommandKind::Coproc { name: None, .. }));
    let CommandKind::Function { name, body } = kind("f() { a; } > b") else { panic!() };
    assert_eq!((name.as_ref(), body.redirects.len()), ("f", 1));
    let CommandKind::Case { arms, .. } = kind("case a in b|c) d;& (e) ;;& *) f; esac") else { panic!() };
    let ends: Vec<_> = arms.iter().map(|arm| arm.end).collect();
    assert_eq!(ends, [ArmEnd::FallThrough, ArmEnd::TryNext, ArmEnd::Break]);
    assert_eq!(arms[0].patterns.len(), 2);
}

#[test]
fn lines_before_an_error_are_kept() {
    let parsed = parse("a\nb; c\nd; (\ne");
    assert_eq!(parsed.list.items.len(), 3);
    assert_eq!(parsed.error.unwrap().at, 13);
    assert_eq!(parse("echo x=(a)").list.items.len(), 0);
    assert!(parse("echo x=(a)").error.is_some());
}

#[test]
fn values_are_parsed_as_words_and_arithmetic() {
    assert_eq!(show(&parse_word("a \"$(b)\" `c` \\$d 'e'").unwrap().parts), "‹a \"›$(1)‹\" ›`c`‹ ›‹$d 'e'›");
    assert_eq!(show(&parse_arithmetic("a[$(b)] + `c`").unwrap().parts), "a[$(1)] + `c`");
    assert!(parse_word("$(").is_err());
    assert!(parse_arithmetic("$(").is_err());
}
