//! Where shells differ: whether a text that is read here as bash reads it could mean something else to the shell that runs it.
//!
//! Against whom: an agent that writes `sh -c "echo \\$'\\\\'; ./x #'"`. To bash that prints a text, to dash it starts a program.
//! The look is at letters, not at the grammar: rather one difference too many.

/// Whether `shell` may read this text otherwise than bash.
pub fn differs(shell: &str, text: &str) -> bool {
    match shell {
        "bash" | "rbash" => false,
        "sh" | "dash" | "ash" | "posh" => is_no_posix(text),
        "zsh" => is_zsh_own(text),
        _ => true,
    }
}

/// Whether there is something in it that POSIX leaves open, or that bash has added.
fn is_no_posix(text: &str) -> bool {
    const SIGNS: &[&str] = &[
        "$'", "$\"", "$[", "<<<", "[[", "((", "&>", "|&", "==", "=(", "+=", "<(", ">(", "@(", "?(", "*(",
        "+(", "!(", ";&", ";;&", "~+", "~-", "/dev/tcp", "/dev/udp", "%q", "!(",
    ];
    const WORDS: &[&str] = &[
        "alias",
        "builtin",
        "caller",
        "compgen",
        "complete",
        "coproc",
        "declare",
        "dirs",
        "disown",
        "enable",
        "function",
        "hash",
        "history",
        "let",
        "local",
        "mapfile",
        "popd",
        "pushd",
        "readarray",
        "select",
        "shopt",
        "source",
        "time",
        "trap",
        "type",
        "typeset",
        "ulimit",
        "until",
        "wait",
        "BASH_ENV",
        "ENV",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
        || WORDS.iter().any(|word| has_word(text, word))
        || (text.contains('\\') && has_word(text, "echo"))
        || has_braces(text)
        || has_odd_parameter(text)
        || has_odd_redirection(text)
        || text.contains("pipefail")
        || text.contains("read -")
        || text.contains("printf -")
}

/// zsh does not split what it expands, expands `=name`, reads `$x[1]` as a part, and runs code in patterns: `*(e:'rm x':)`.
fn is_zsh_own(text: &str) -> bool {
    const SIGNS: &[&str] = &["**", " =", "${(", "${!", "==", ";|", "~+", "~-"];
    const WORDS: &[&str] = &[
        "autoload", "foreach", "noglob", "print", "repeat", "setopt", "typeset", "unsetopt", "zmodload",
        "trap", "read",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
        || WORDS.iter().any(|word| has_word(text, word))
        || (text.contains('\\') && has_word(text, "echo"))
        || has_open_value(&without_here_documents(text))
}

/// The text without the bodies of its here-documents, in which quotes are letters.
fn without_here_documents(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut ends: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(end) = ends.first() {
            if line.trim() == *end {
                ends.remove(0);
            }
            continue;
        }
        kept.push_str(line);
        for (at, _) in line.match_indices("<<") {
            let word = line.get(at + 2..).unwrap_or_default();
            if !word.starts_with('<') && !line.get(..at).unwrap_or_default().ends_with('<') {
                let word = word.trim_start_matches(['-', ' ', '\'', '"', '\\']);
                let end = word
                    .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
                    .unwrap_or(word.len());
                ends.extend(word.get(..end));
            }
        }
    }
    kept
}

/// Whether a value stands outside of quotes, has a subscript or a modifier, or a bracket follows a word: `$x`, `"$x[1]"`, `*(N)`.
fn has_open_value(text: &str) -> bool {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    // Whether each open level is a quoted one; the lowest is the command itself.
    let mut levels = vec![false];
    let mut rest = text;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let mut after = rest.get(letter.len_utf8()..).unwrap_or_default();
        let is_quoted = levels.last().copied().unwrap_or_default();
        match letter {
            '\\' => {
                after =
                    after.chars().next().and_then(|next| after.get(next.len_utf8()..)).unwrap_or_default();
            }
            '\'' if !is_quoted => {
                let Some(end) = after.find('\'') else { return true };
                after = after.get(end + 1..).unwrap_or_default();
            }
            '"' if is_quoted => drop(levels.pop()),
            '"' => levels.push(true),
            '`' => return true,
            '$' if after.starts_with('(') => {
                levels.push(false);
                after = after.get(1..).unwrap_or_default();
                // What it prints is split by both, and taken for patterns by neither alike.
                if !is_quoted && before != '=' {
                    return true;
                }
            }
            '$' if after.starts_with(|letter: char| {
                is_name(letter) || matches!(letter, '{' | '@' | '*' | '#' | '!')
            }) =>
            {
                let name = after.trim_start_matches(is_name);
                if (!is_quoted && before != '=') || name.starts_with(['[', ':']) {
                    return true;
                }
            }
            '(' if !is_quoted => {
                if !before.is_whitespace()
                    && !matches!(before, '(' | ';' | '&' | '|' | '<' | '>')
                    && !after.starts_with(')')
                {
                    return true;
                }
                levels.push(false);
            }
            ')' if !is_quoted && levels.len() > 1 => drop(levels.pop()),
            _ => {}
        }
        before = letter;
        rest = after;
    }
    levels.len() != 1
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '/' | '.');
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().chars().next_back();
        let after = text.get(at + word.len()..).unwrap_or_default().chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// `{a,b}`, `{1..9}`: words only for bash.
fn has_braces(text: &str) -> bool {
    text.match_indices('{').any(|(at, _)| {
        let is_parameter = text.get(..at).is_some_and(|before| before.ends_with('$'));
        let inside = text.get(at + 1..).unwrap_or_default();
        let inside = inside.split('}').next().unwrap_or_default();
        !is_parameter
            && !inside.starts_with([' ', '\n', '\t'])
            && (inside.contains(',') || inside.contains(".."))
    })
}

/// `${x//a/b}`, `${x:1}`, `${!x}`, `${x^}`; `${x:-y}`, `${x%y}` and `${#x}` are everybody's.
fn has_odd_parameter(text: &str) -> bool {
    text.match_indices("${").any(|(at, _)| {
        let inside = text.get(at + 2..).unwrap_or_default();
        let inside = inside.strip_prefix('#').unwrap_or(inside);
        let rest = inside.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        let is_named = rest.len() < inside.len() || rest.starts_with(['@', '*', '?', '#']);
        let rest = if rest.len() < inside.len() { rest } else { rest.get(1..).unwrap_or_default() };
        let is_plain = ["}", ":-", ":=", ":+", ":?", "-", "=", "+", "?", "%", "#"];
        !is_named || !is_plain.iter().any(|start| rest.starts_with(start))
    })
}

/// `>& file` is both outputs to bash, and no descriptor to others.
fn has_odd_redirection(text: &str) -> bool {
    text.match_indices(">&").any(|(at, _)| {
        let target = text.get(at + 2..).unwrap_or_default().trim_start();
        !target.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::differs;

    #[test]
    fn what_every_shell_reads_alike_is_no_difference() {
        for text in [
            "ls -la src",
            "cd src && grep -rn 'TODO' . | head -5",
            "for i in 1 2 3; do echo $i; done",
            "echo \"${HOME:-x}/${name%.txt}\" > out.txt 2>&1",
            "if [ -f a ]; then cat a; else exit 1; fi",
            "x=$((1 + 2)); test \"$x\" = 3",
            "{ echo a; echo b; } | sort",
            "cat <<EOF\nplain\nEOF",
        ] {
            assert!(!differs("sh", text) || text.contains("(("), "{text}");
            assert!(!differs("bash", text), "{text}");
        }
    }

    #[test]
    fn what_shells_read_otherwise_is_one() {
        for text in [
            "echo $'\\'; ./x #'",
            "cat <<< x",
            "[[ a == b ]]",
            "[ a == b ]",
            "ls &> out",
            "ls >& out",
            "rm {a,b}",
            "cp a{,.bak}",
            "seq {1..3}",
            "echo 'a\\nb' > x",
            "a=(1 2)",
            "diff <(a) <(b)",
            "source x",
            "echo ${x//a/b}",
            "echo ${x:1}",
            "echo ${!x}",
            "function f { x; }",
            "a |& b",
            "set -o pipefail; a | b",
            "shopt -s extglob",
        ] {
            assert!(differs("sh", text), "{text}");
            assert!(!differs("bash", text), "{text}");
        }
        assert!(differs("fish", "ls") && differs("csh", "ls") && differs("ksh", "ls"));
    }

    #[test]
    fn zsh_reads_most_commands_as_bash_does() {
        for text in [
            "ls -la src",
            "ls *.txt",
            "git commit -m \"$(cat <<'EOF'\nDon't $x (y)\nEOF\n)\"",
            "x=$(git rev-parse HEAD); grep -rn \"$x\" 'a $b (c)' && (cd src; make)",
            "f() { ls; }; f",
            "for x in a b; do cat \"${x}.txt\"; done",
        ] {
            assert!(!differs("zsh", text), "{text}");
        }
        for text in [
            "rm $x",
            "rm ${x}",
            "echo \"$x[1]\"",
            "ls =git",
            "ls **/x",
            "ls *(e:'rm x':)",
            "echo 'a\\nb' > x",
            "echo \"a",
            "cat $(ls)",
        ] {
            assert!(differs("zsh", text), "{text}");
        }
    }
}
