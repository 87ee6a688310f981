//! A git configuration file: `git ci` may be `!rm -rf .`, and hooks may lie anywhere.
//!
//! Does not follow `include.path` and `includeIf.….path`: they are settings like others.

use super::cursor::Cursor;

/// One setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GitSetting {
    /// `alias.ci`, `branch.Main.remote`: section and key in lower case, the part between them as it stands.
    pub name: String,
    pub value: String,
}

/// Every setting with its name.
pub(crate) fn settings(text: &str) -> Vec<(String, String)> {
    entries(text).into_iter().map(|entry| (entry.name, entry.value)).collect()
}

/// All settings in the file's order. git refuses a broken file; here the rest of a broken line is passed over.
pub(crate) fn entries(text: &str) -> Vec<GitSetting> {
    let mut at = Cursor::new(text);
    let mut entries = Vec::new();
    let mut section = String::new();
    loop {
        at.take_while(char::is_whitespace);
        match at.peek() {
            None => return entries,
            Some('[') => match header(&mut at) {
                Some(name) if name.len() <= super::MAX_KEY => section = name,
                _ => {
                    section = String::new();
                    at.rest_of_line();
                }
            },
            Some(c) if c.is_ascii_alphanumeric() => {
                let key = at.take_while(|c| c.is_ascii_alphanumeric() || c == '-').to_ascii_lowercase();
                at.blanks();
                // A key alone is `true`.
                let value = if at.eat("=") { setting(&mut at) } else { "true".into() };
                entries.push(GitSetting { name: format!("{section}.{key}"), value });
            }
            // A comment, or nothing that git would read.
            Some(_) => drop(at.rest_of_line()),
        }
    }
}

/// `[section]`, `[section "sub section"]`, `[section.sub]`
fn header(at: &mut Cursor<'_>) -> Option<String> {
    at.bump();
    let mut name =
        at.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.')).to_ascii_lowercase();
    at.blanks();
    if at.eat("\"") {
        name.push('.');
        loop {
            name.push_str(at.take_while(|c| !matches!(c, '"' | '\\' | '\n')));
            match at.bump()? {
                '"' => break,
                '\\' => name.push(at.bump()?),
                _ => return None,
            }
        }
    }
    at.eat("]").then_some(name)
}

/// What stands behind the `=`: quotes taken off, escapes read, comments and blanks at the end left out.
fn setting(at: &mut Cursor<'_>) -> String {
    at.blanks();
    let mut value = String::new();
    let mut kept = 0; // what is quoted is kept, blanks too
    let mut quoted = false;
    while let Some(c) = at.bump() {
        match c {
            '\n' => break,
            '"' => {
                quoted = !quoted;
                kept = value.len();
            }
            '#' | ';' if !quoted => {
                at.rest_of_line();
            }
            '\\' => {
                at.eat("\r");
                match at.bump() {
                    Some('\n') | None => continue,
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\u{8}'),
                    Some(c) => value.push(c),
                }
                kept = value.len();
            }
            c => {
                value.push(c);
                if quoted || !c.is_whitespace() {
                    kept = value.len();
                }
            }
        }
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::tests::scrambled;

    const FILE: &str = r#"
; comment
[user]
	name = A B   # who
[Alias]
	ci = commit -v
	CO = checkout ; comment
	wipe = "!f() { rm -rf \"$1\"; }; f" # c
	long = !git add . && \
		git commit
	ci = !rm -rf /
	bare
[core] hooksPath = ../hooks
[branch "Main.x"]
	Remote = "  spaced  " end
[remote.Origin]
	url=a\tb
[includeIf "gitdir:~/w/"]
	path = "a#b;c"
"#;

    #[test]
    fn values_are_read_as_git_reads_them() {
        let all = |name: &str| -> Vec<String> {
            let same = settings(FILE).into_iter().filter(|(key, _)| key == name);
            same.map(|(_, value)| value).collect()
        };
        for (name, expected) in [
            ("user.name", Some("A B")),
            ("alias.ci", Some("!rm -rf /")),
            ("alias.co", Some("checkout")),
            ("alias.wipe", Some("!f() { rm -rf \"$1\"; }; f")),
            ("alias.long", Some("!git add . && \t\tgit commit")),
            ("alias.bare", Some("true")),
            ("core.hookspath", Some("../hooks")),
            ("branch.Main.x.remote", Some("  spaced   end")),
            ("branch.main.x.remote", None),
            ("remote.origin.url", Some("a\tb")),
            ("includeif.gitdir:~/w/.path", Some("a#b;c")),
            ("user.email", None),
            ("", None),
        ] {
            assert_eq!(all(name).last().map(String::as_str), expected, "{name}");
        }
        assert_eq!(all("alias.ci"), ["commit -v", "!rm -rf /"]);
    }

    #[test]
    fn any_text_is_read_without_a_panic() {
        let pieces = ["[", "]", "a", " \"", "\\", "=", "\n", "#", ";", "\t", ".", "\r\n", "é", "[core]\n"];
        scrambled(&pieces, 2000, |text| drop(entries(text)));
    }
}
