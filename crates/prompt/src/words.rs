//! Text to words, so that `Edits`, `editing` and `**edit**` are one word, and `don't` says `not`.

/// A word of a text.
#[derive(Debug)]
pub(super) struct Word {
    /// What it is compared by.
    pub(super) stem: String,
    /// As it stands there, in small letters.
    pub(super) written: String,
    /// Which clause it stands in.
    pub(super) clause: usize,
}

/// Words that may stand between a comma and the word that makes a clause of what follows.
const JOINTS: [&str; 12] =
    ["and", "or", "but", "you", "they", "it", "do", "must", "may", "can", "should", "will"];
/// Words behind a comma that turn the sense of what came before. Another comma goes on with a list.
const TURNS: [&str; 9] = ["not", "never", "no", "nor", "neither", "none", "nobody", "nothing", "only"];

/// The stems of a text's words.
pub(super) fn stems(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.stem).collect()
}

/// The words of a text: small, without markup, each with its stem. A path becomes its parts, a number `#`.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut clause = 0;
    // The first words behind commas.
    let mut behind_commas = Vec::new();
    let inside =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '$' | '{' | '}' | '@' | '\'' | '’');
    for piece in text.split_inclusive(|c: char| !inside(c)) {
        let raw = piece.trim_end_matches(|c| !inside(c)).replace('’', "'").to_lowercase();
        let word = raw.trim_end_matches(['.', '-', '_', '\'']).trim_start_matches(['-', '_', '\'']);
        let word = if word.chars().nth(1).is_some_and(char::is_alphanumeric) {
            word
        } else {
            word.trim_start_matches('.')
        };
        let word = word.strip_suffix("'s").unwrap_or(word);
        let mut add = |stem: String| found.push(Word { stem, written: word.to_owned(), clause });
        match word {
            "" => {}
            "cannot" | "can't" => ["can", "not"].map(str::to_owned).into_iter().for_each(add),
            "won't" => ["will", "not"].map(str::to_owned).into_iter().for_each(add),
            "don't" | "doesn't" | "mustn't" | "isn't" | "aren't" | "shouldn't" => {
                add(stem(word.trim_end_matches("n't")));
                add("not".to_owned());
            }
            _ if word.chars().all(|c| c.is_ascii_digit()) => add("#".to_owned()),
            _ => add(stem(word)),
        }
        clause += usize::from(piece.ends_with([';', ':', '—', '–']));
        if piece.ends_with(',') {
            behind_commas.push(found.len());
        }
    }
    part_at_commas(&mut found, &behind_commas);
    found
}

/// A comma ends a clause where what follows turns the sense: "write to this, never to that".
fn part_at_commas(words: &mut [Word], behind_commas: &[usize]) {
    let turns = |start: usize| {
        let mut after = words.get(start..).unwrap_or_default().iter().map(|word| word.stem.as_str()).take(5);
        after.find(|word| !JOINTS.contains(word)).is_some_and(|word| TURNS.contains(&word))
            || words.get(start).is_some_and(|word| word.stem == "but")
    };
    let starts: Vec<usize> = behind_commas.iter().copied().filter(|start| turns(*start)).collect();
    let mut passed = 0;
    for (number, word) in words.iter_mut().enumerate() {
        while starts.get(passed).is_some_and(|start| *start <= number) {
            passed += 1;
        }
        word.clause += passed;
    }
}

/// Cuts the endings of English off, roughly; what two forms of a word have in common is enough. Never so much that
/// `note` becomes `not`.
fn stem(word: &str) -> String {
    if !word.chars().all(|c| c.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let cut = |word: &str, ending: &str| {
        word.strip_suffix(ending).filter(|rest| rest.len() >= 4).map(str::to_owned)
    };
    let one = if let Some(rest) = cut(word, "ies") {
        rest + "y"
    } else if ["sses", "xes", "ches", "shes"].iter().any(|ending| word.ends_with(ending)) {
        word.trim_end_matches("es").to_owned()
    } else if word.len() > 3
        && word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| word.ends_with(end))
    {
        word.trim_end_matches('s').to_owned()
    } else {
        word.to_owned()
    };
    let shorter = cut(&one, "ing").or_else(|| cut(&one, "ed")).unwrap_or(one);
    cut(&shorter, "e").unwrap_or(shorter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_have_the_same_stem() {
        for (one, other) in [
            ("**Edits**", "editing"),
            ("writes", "write"),
            ("created", "creating"),
            ("agent's", "agents"),
            ("entry", "entries"),
            ("_files_,", "file"),
        ] {
            assert_eq!(stems(one), stems(other));
        }
        assert_ne!(stems("note"), stems("not"));
    }

    #[test]
    fn a_new_clause_begins_where_the_sense_turns() {
        let last = |text: &str| words(text).last().unwrap().clause;
        assert_eq!(last("Never read, write or copy it"), 0);
        assert_eq!(last("write to this, never to that"), 1);
        assert_eq!(last("run this, and you must not run that"), 1);
        assert_eq!(last("Never run this; run that, but gently"), 2);
        assert_eq!(last("Never run this, only that"), 1);
    }

    #[test]
    fn paths_numbers_and_contractions_are_split_into_words() {
        assert_eq!(stems("`.squad/agents/{name}/history.md`."), [".squad", "agent", "{name}", "history.md"]);
        assert_eq!(stems("don't cannot — fewer than 10"), ["do", "not", "can", "not", "fewer", "than", "#"]);
        assert_eq!(
            stems("`git push --force` `${VAR}` append-only …"),
            ["git", "push", "forc", "${var}", "append-only"]
        );
    }
}
