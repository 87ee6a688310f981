//! The one matcher of wildcards. Globs of declarations and settings, patterns of rules and words of the shell have
//! signs and rules of their own; how a star is laid over a text is the same for all of them, and is written here once.
//!
//! Against whom: a pattern that takes for ever. Only the last star is ever tried again, so the time is at most the
//! length of the pattern times that of the text.

/// Whether a pattern fits all of a text. Both are lists of anything: letters, or the names of a path.
///
/// `is_star` says which parts of the pattern stand for any number of things. `takes` is asked about the others: how
/// many parts, from the first of those that it is given, one thing of the text takes up; `None` if it does not fit.
pub fn wildcard_fits<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    takes: impl Fn(&[P], &T) -> Option<usize>,
) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where to go on if the rest does not fit: behind the last star, which then takes one thing more.
    let mut retry: Option<(usize, usize)> = None;
    while let Some(thing) = text.get(seen) {
        let rest = pattern.get(at..).unwrap_or_default();
        let taken = match rest.first() {
            Some(first) if is_star(first) => {
                at += 1;
                retry = Some((at, seen + 1));
                continue;
            }
            Some(_) => takes(rest, thing),
            None => None,
        };
        match (taken, retry) {
            (Some(taken), _) => (at, seen) = (at + taken, seen + 1),
            (None, Some((behind, next))) => {
                (at, seen) = (behind, next);
                retry = Some((behind, next + 1));
            }
            (None, None) => return false,
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(pattern: &str, text: &str) -> bool {
        let takes = |rest: &[u8], letter: &u8| match rest {
            [b'?', ..] => Some(1),
            // `\*` is a star of the text.
            [b'\\', escaped, ..] if escaped == letter => Some(2),
            [first, ..] if first == letter => Some(1),
            _ => None,
        };
        wildcard_fits(pattern.as_bytes(), text.as_bytes(), |letter| *letter == b'*', takes)
    }

    #[test]
    fn a_star_matches_any_number_of_letters() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
            ("*", "", true),
            ("**", "", true),
            ("*", "abc", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abbc", true),
            ("a*c", "abd", false),
            ("a*b*c", "axbxxc", true),
            ("*ab", "aab", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("*\\*", "ab*", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_is_matched_without_blowup() {
        assert!(!fits(&"a*".repeat(2_000), &"a".repeat(1_999)));
        assert!(!fits(&format!("{}b", "*a".repeat(500)), &"a".repeat(20_000)));
    }

    /// Every way to lay the stars.
    fn fits_slowly(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => {
                (0..=text.len()).any(|taken| text.get(taken..).is_some_and(|left| fits_slowly(rest, left)))
            }
            ([b'?', rest @ ..], [_, left @ ..]) => fits_slowly(rest, left),
            ([first, rest @ ..], [letter, left @ ..]) => first == letter && fits_slowly(rest, left),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_trying_every_way(pattern in "[ab*?]{0,8}", text in "[ab]{0,10}") {
            prop_assert_eq!(fits(&pattern, &text), fits_slowly(pattern.as_bytes(), text.as_bytes()));
        }
    }
}
