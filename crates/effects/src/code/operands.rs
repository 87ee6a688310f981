//! Programs that choose themselves which files are read as their input.
//!
//! Against whom: `perl -ne 'BEGIN { @ARGV = "x" } print' in.txt`. Perl and Ruby read the files that the command names without
//! a call, so that whoever changes the list of names reads, or with `-i` writes, something else.

use crate::language::Language;

/// Whether a program may change the list of its files, or how they are opened. Looks at the text alone and says yes where that
/// leaves it open.
pub(super) fn may_change(language: Language, code: &str) -> bool {
    match language {
        Language::Perl => {
            code.contains("$^I")
                || ["INPLACE_EDIT", "*{", "@{\"", "@{'", "@{q", "::{", "*main"]
                    .iter()
                    .any(|text| code.contains(text))
                || code.match_indices("ARGV").any(|(at, name)| {
                    let (before, behind) = around(code, at, name.len());
                    !only_looks(before, behind)
                })
                || ["@$", "@{", "$$"].iter().any(|start| {
                    code.match_indices(start).any(|(at, start)| {
                        let (before, behind) = around(code, at, start.len());
                        ends_in(before, &["push", "unshift", "splice"]) || is_assigned(behind)
                    })
                })
                || code.match_indices("->").any(|(at, arrow)| {
                    let behind = around(code, at, arrow.len()).1;
                    behind.starts_with(['[', '@']) && is_assigned(behind)
                })
        }
        Language::Ruby => {
            ["$*", "$-i", "inplace_mode"].iter().any(|text| code.contains(text))
                || code.match_indices("ARGV").any(|(at, name)| !only_asks(around(code, at, name.len()).1))
        }
        _ => false,
    }
}

/// Whether a Ruby program reads the files that the command names, which it does wherever it reads without a name.
pub(crate) fn reads_operands(code: &str) -> bool {
    ["ARGF", "gets", "readline", "$<", "$FILENAME"].iter().any(|text| code.contains(text))
}

fn around(code: &str, at: usize, length: usize) -> (&str, &str) {
    (code.get(..at).unwrap_or_default(), code.get(at + length..).unwrap_or_default())
}

fn ends_in(text: &str, words: &[&str]) -> bool {
    let text = text.trim_end_matches([' ', '(']);
    words.iter().any(|word| text.ends_with(word))
}

/// `$ARGV[0]`, `$#ARGV`, `$ARGV`, `shift @ARGV`, `scalar(@ARGV)`, `<ARGV>`
fn only_looks(before: &str, behind: &str) -> bool {
    if let Some(before) = before.strip_suffix('@') {
        return ends_in(before, &["shift", "scalar"]);
    }
    (before.ends_with('$') && !is_assigned(behind))
        || before.ends_with("$#")
        || (before.ends_with('<') && behind.starts_with('>'))
}

/// `ARGV[0]`, `ARGV.each`, and `ARGV` alone
fn only_asks(behind: &str) -> bool {
    const CALLS: [&str; 8] = [".each", ".first", ".last", ".length", ".size", ".empty?", ".shift", ".join"];
    const CHANGES: [&str; 5] = ["<<", "replace", "concat", "prepend", "insert"];
    let statement = behind.split([';', '\n']).next().unwrap_or_default();
    match statement.chars().next() {
        Some('.') => {
            CALLS.iter().any(|call| statement.starts_with(call))
                && !CHANGES.iter().any(|change| statement.contains(change))
        }
        Some('[' | ' ') => !is_assigned(statement) && !statement.trim_start().starts_with("<<"),
        first => first.is_none_or(|letter| matches!(letter, ']' | ')' | ',' | '}')),
    }
}

/// Whether the first `=` behind an element is one that assigns or binds, within the same statement.
fn is_assigned(behind: &str) -> bool {
    let statement = behind.split([';', '\n']).next().unwrap_or_default();
    statement.match_indices('=').any(|(at, _)| {
        let (before, rest) = around(statement, at, 1);
        !rest.starts_with('=') && !before.ends_with(['=', '!', '<', '>'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_may_change_its_file_operands_is_recognized() {
        for (code, may) in [
            ("print if /x/", false),
            ("s/a/b/g", false),
            ("print $ARGV[0]", false),
            ("print \"$ARGV: $_\"", false),
            ("my $f = shift @ARGV; print $f", false),
            ("print scalar(@ARGV), $#ARGV", false),
            ("while (<ARGV>) { print }", false),
            ("print \"@$x\"", false),
            ("BEGIN{@ARGV=(\"x\")} print", true),
            ("push @ARGV, \"x\"; print <>", true),
            ("$ARGV[0] = \"x\"; print <>", true),
            ("$ARGV[0] =~ s/a/b/; print <>", true),
            ("s/a/b/ for @ARGV; print <>", true),
            ("@{\"AR\".\"GV\"}=(\"x\"); print <>", true),
            ("$x=\"AR\".\"GV\"; @$x=(\"x\"); print <>", true),
            ("$x=\"AR\".\"GV\"; push @$x, \"x\"; print <>", true),
            ("$x=\"AR\".\"GV\"; $x->[0]=\"x\"; print <>", true),
            ("$x=\"AR\".\"GV\"; $$x[0]=\"x\"; print <>", true),
            ("*a=\\@ARGV; @a=(\"x\"); print <>", true),
            ("BEGIN{$^I=\"\"} s/a/b/", true),
        ] {
            assert_eq!(may_change(Language::Perl, code), may, "{code}");
        }
        for (code, may) in [
            ("puts ARGV[0]", false),
            ("ARGV.each { |name| puts name }", false),
            ("puts ARGF.read", false),
            ("ARGV.replace([\"x\"]); puts gets", true),
            ("ARGV << \"x\"; puts gets", true),
            ("ARGV[0] = \"x\"; puts gets", true),
            ("$*[0] = \"x\"; puts gets", true),
        ] {
            assert_eq!(may_change(Language::Ruby, code), may, "{code}");
        }
    }
}
