//! Compiles `src/code/calls/*.txt` into static tables: the names of a language as one text, and their meanings as
//! values of the enums of `src/code/calls.rs`. A meaning that these do not have does not compile.

use std::fmt::Write as _;
use std::fs;

use super::{Result, camel};

/// Arguments that a meaning can speak of, as many as `Uses::arguments` has.
const MAX_ARGUMENTS: usize = 3;

const LANGUAGES: [&str; 6] = ["lua", "node", "perl", "php", "python", "ruby"];

/// The tables of all languages, as Rust.
pub(crate) fn tables() -> Result<String> {
    let mut code = String::new();
    for language in LANGUAGES {
        let path = format!("src/code/calls/{language}.txt");
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        table(language, &text, &mut code).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(code)
}

fn table(language: &str, text: &str, code: &mut String) -> Result<()> {
    let (mut names, mut entries) = (String::new(), String::new());
    let mut last = "";
    for line in text.lines() {
        let (name, word) = line.split_once(' ').ok_or(format!("`{line}` is not a name and its meaning"))?;
        if name <= last {
            return Err(format!("`{name}` is there twice, or stands behind `{last}`"));
        }
        last = name;
        names += name;
        let end = u16::try_from(names.len()).map_err(|_| "too many names".to_owned())?;
        writeln!(entries, "    ({end}, {}),", meaning(name, word)?).map_err(|error| error.to_string())?;
    }
    let (constant, count) = (language.to_uppercase(), text.lines().count());
    write!(
        code,
        "pub(super) const {constant}_NAMES: &str = {names:?};\n\
         pub(super) static {constant}: [(u16, Meaning); {count}] = [\n{entries}];\n"
    )
    .map_err(|error| error.to_string())
}

/// The meaning as a Rust expression.
fn meaning(name: &str, word: &str) -> Result<String> {
    match (name.starts_with('='), word, word.strip_prefix('!')) {
        (true, "own", _) => Ok("Meaning::OwnModule".to_owned()),
        (true, "connect", _) => Ok("Meaning::ConnectingModule".to_owned()),
        (true, ..) => Err(format!("`{word}` is no meaning of a module")),
        (false, _, Some(special)) if !special.is_empty() => {
            Ok(format!("Meaning::Special(Special::{})", camel(special)))
        }
        (false, ..) => uses(word),
    }
}

/// `^wr`, `--w*`
fn uses(letters: &str) -> Result<String> {
    let wrong = || format!("`{letters}` is no meaning");
    let (letters, repeats) = letters.strip_suffix('*').map_or((letters, false), |rest| (rest, true));
    let (object, rest) = match letters.strip_prefix('^') {
        Some(rest) => (rest.chars().next(), rest.get(1..).ok_or_else(wrong)?),
        None => (None, letters),
    };
    let object = match object {
        Some(letter @ ('r' | 'l' | 'w' | 'd' | 'o')) => {
            format!("Some({})", one_use(letter).ok_or_else(wrong)?)
        }
        Some(_) => return Err(wrong()),
        None => "None".to_owned(),
    };
    let mut arguments: Vec<String> = Vec::new();
    for letter in rest.chars() {
        arguments.push(format!("Some({})", one_use(letter).ok_or_else(wrong)?));
    }
    if arguments.len() > MAX_ARGUMENTS || (arguments.is_empty() && (repeats || object == "None")) {
        return Err(wrong());
    }
    arguments.resize(MAX_ARGUMENTS, "None".to_owned());
    let arguments = arguments.join(", ");
    Ok(format!("Meaning::Uses(Uses {{ object: {object}, arguments: [{arguments}], repeats: {repeats} }})"))
}

fn one_use(letter: char) -> Option<&'static str> {
    Some(match letter {
        'r' => "Use::Touch(Touch::Read)",
        'l' => "Use::Touch(Touch::List)",
        'w' => "Use::Touch(Touch::Write)",
        'd' => "Use::Touch(Touch::Delete)",
        'e' => "Use::Touch(Touch::Enter)",
        's' => "Use::Shell",
        'o' => "Use::Open",
        '-' => "Use::Nothing",
        _ => return None,
    })
}
