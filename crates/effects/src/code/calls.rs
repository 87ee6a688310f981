//! What the calls of each language mean, as data.
//!
//! A line of a table is a meaning and the names that have it. A name is written in full (`os.path.join`), or as
//! `.name` for a method of whatever object. The letters of a meaning stand for the arguments in their order:
//! `r`ead, `l`ist, `w`rite, `d`elete, `e`nter, `s`hell text, `o`pen by the mode behind it, `-` nothing; `*` repeats
//! the letter before it; `^` stands before the letter for the object itself. A word behind `!` is a meaning of its
//! own, see `Scan::special`. The line `!own` lists modules of the language's own library, `!connect` also
//! modules that connect.

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

/// What a call of this name means.
pub(super) fn meaning(language: Language, name: &str) -> Option<&'static str> {
    table(language).lines().find_map(|line| {
        let (meaning, names) = line.split_once(' ')?;
        names.split(' ').any(|own| own == name).then_some(meaning)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_has_two_meanings() {
        use Language::{Lua, Node, Perl, Php, Python, Ruby};
        for language in [Python, Node, Perl, Ruby, Php, Lua] {
            let mut names: Vec<&str> =
                table(language).lines().flat_map(|line| line.split(' ').skip(1)).collect();
            names.sort_unstable();
            let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{language:?} {twice:?}");
        }
    }

    #[test]
    fn every_meaning_can_be_read() {
        const SPECIAL: &str = "!own !connect !source !foreign !pure !number !id !join !home !cwd !tmp !scratch !env !eval !code !run !execl !apply !import !project !fork !chr !getattr !list !items !values !enumerate !parent !perlopen !glob !format !split !sub !add !text !module !path !include";
        use Language::{Lua, Node, Perl, Php, Python, Ruby};
        for language in [Python, Node, Perl, Ruby, Php, Lua] {
            for line in table(language).lines() {
                let meaning = line.split(' ').next().unwrap();
                let special = SPECIAL.split(' ').any(|own| own == meaning);
                assert!(special || meaning.chars().all(|c| "rlwdeso-*^".contains(c)), "{language:?} {line}");
            }
        }
    }
}
