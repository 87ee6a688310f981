//! What the calls of each language mean, as data.
//!
//! A line of a table is a name and its meaning; the lines are sorted. A name is written in full (`os.path.join`), or as
//! `.name` for a method of whatever object, or as `=name` for a module: one of the language's `own` library, or one
//! that `connect`s.
//!
//! The letters of a meaning stand for the arguments in their order: `r`ead, `l`ist, `w`rite, `d`elete, `e`nter, `s`hell
//! text, `o`pen by the mode behind it, `-` nothing; `*` repeats the letter before it; `^` stands before the letter
//! for the object itself. A word behind `!` is a meaning of its own, see `Scan::special`.

use super::Language;

fn table(language: Language) -> &'static str {
    match language {
        Language::Python => include_str!("calls/python.txt"),
        Language::Node => include_str!("calls/node.txt"),
        Language::Perl => include_str!("calls/perl.txt"),
        Language::Ruby => include_str!("calls/ruby.txt"),
        Language::Php => include_str!("calls/php.txt"),
        Language::Lua => include_str!("calls/lua.txt"),
        Language::Other => "",
    }
}

/// What a name means: a search by halves.
pub(super) fn meaning(language: Language, name: &str) -> Option<&'static str> {
    let mut rest = table(language);
    while !rest.is_empty() {
        let middle = rest.get(..rest.len() / 2)?;
        let start = middle.rfind('\n').map_or(0, |at| at + 1);
        let (before, from) = rest.split_at_checked(start)?;
        let (line, after) = from.split_once('\n')?;
        let (own, meaning) = line.split_once(' ')?;
        rest = match name.cmp(own) {
            std::cmp::Ordering::Equal => return Some(meaning),
            std::cmp::Ordering::Less => before,
            std::cmp::Ordering::Greater => after,
        };
    }
    None
}

/// Whether a call of this meaning changes something.
pub(super) fn changes(meaning: &str) -> bool {
    match meaning.strip_prefix('!') {
        Some(word) => matches!(word, "run" | "execl" | "eval" | "code"),
        None => meaning.contains(['w', 'd', 's', 'o']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Language; 6] =
        [Language::Python, Language::Node, Language::Perl, Language::Ruby, Language::Php, Language::Lua];

    #[test]
    fn every_name_is_found() {
        for language in ALL {
            let names: Vec<&str> =
                table(language).lines().map(|line| line.split(' ').next().unwrap()).collect();
            assert!(
                names.is_sorted_by(|one, next| one < next),
                "{language:?} is not sorted, or has a name twice"
            );
            for line in table(language).lines() {
                let (name, expected) = line.split_once(' ').unwrap();
                assert_eq!(meaning(language, name), Some(expected), "{name}");
            }
            assert_eq!(meaning(language, "no.such.name"), None);
            assert_eq!(meaning(language, ""), None);
        }
    }

    #[test]
    fn every_meaning_can_be_read() {
        const WORDS: &str = "!connect !source !foreign !pure !number !id !join !path !home !cwd !tmp !scratch !env !eval !code \
            !run !execl !apply !import !include !project !fork !getattr !module !list !items !values !enumerate !parent \
            !perlopen !define !glob !format !split !sub !add !text";
        for language in ALL {
            for line in table(language).lines() {
                let (name, meaning) = line.split_once(' ').unwrap();
                let known = match name.strip_prefix('=') {
                    Some(_) => matches!(meaning, "own" | "connect"),
                    None if meaning.starts_with('!') => WORDS.split_whitespace().any(|word| word == meaning),
                    None => meaning.chars().all(|c| "rlwdeso-*^".contains(c)),
                };
                assert!(known, "{language:?} {line}");
            }
        }
    }
}
