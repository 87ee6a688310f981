//! Compiles `patterns/*.toml` and `names.toml` into static tables, so that a hook process compiles nothing.
//!
//! Every shape and every credential-like name is anchored on a literal. The text is sampled at every second byte: three bytes
//! from there (a gram) are looked up in one table, so that the number of patterns costs little. A literal is therefore
//! entered with two grams side by side, where its bytes are rarest; where it has three bytes only, the second gram ends
//! in whatever may follow it.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "it runs while we build, on our own files"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;

type Result<T, E = String> = std::result::Result<T, E>;

#[path = "src/gram.rs"]
mod gram;

/// What stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    about: String,
    mark: String,
    shapes: Vec<String>,
    before: Option<String>,
    #[serde(default)]
    near: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
    entropy: Option<f64>,
    #[serde(default)]
    core: bool,
    #[serde(default)]
    example: Vec<String>,
    examples: Vec<String>,
    others: Vec<String>,
}

/// The words that names of secrets hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    anchors: Vec<String>,
    passwords: Vec<String>,
    secrets: Vec<String>,
    makers: Vec<String>,
    harmless: Vec<String>,
    made_up: Vec<String>,
    endings: Vec<String>,
    placeholders: Vec<String>,
    placeholder_parts: Vec<String>,
    references: Vec<String>,
    url_placeholders: Vec<String>,
    no_domains: Vec<String>,
    long_domains: Vec<String>,
    safe_domains: Vec<String>,
    safe_locals: Vec<String>,
}

impl Names {
    /// The lists that are searched as they are.
    fn code(&self) -> String {
        [
            ("NAME_WORDS", &self.anchors),
            ("PASSWORDS", &self.passwords),
            ("SECRETS", &self.secrets),
            ("MAKERS", &self.makers),
            ("HARMLESS", &self.harmless),
            ("MADE_UP", &self.made_up),
            ("ENDINGS", &self.endings),
            ("PLACEHOLDERS", &self.placeholders),
            ("REFERENCES", &self.references),
            ("URL_PLACEHOLDERS", &self.url_placeholders),
            ("NO_DOMAINS", &self.no_domains),
            ("LONG_DOMAINS", &self.long_domains),
            ("SAFE_DOMAINS", &self.safe_domains),
            ("SAFE_LOCALS", &self.safe_locals),
        ]
        .map(|(name, words)| format!("pub(crate) static {name}: &[&str] = &{words:?};\n"))
        .concat()
            + &self.parts()
    }

    /// Each with the pairs of its letters, by which most are told at once not to be there.
    fn parts(&self) -> String {
        let parts: Vec<(&str, u64)> =
            self.placeholder_parts.iter().map(|part| (part.as_str(), gram::pairs(part.as_bytes()))).collect();
        format!("pub(crate) static PLACEHOLDER_PARTS: &[(&str, u64)] = &{parts:?};\n")
    }
}

/// 256 bits, one for each byte.
type Class = [u64; 4];

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Literal(Vec<u8>),
    Class { class: Class, min: u16, max: u16 },
}

/// Longer runs than this are no token.
const LONGEST: u16 = 4096;
/// So many bytes in one place are alternatives.
const FEW: usize = 8;
/// Shapes that alternatives may grow to.
const MOST_SHAPES: usize = 64;

fn has(class: &Class, byte: u8) -> bool {
    class[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
}

fn put(class: &mut Class, byte: u8) {
    class[usize::from(byte >> 6)] |= 1 << (byte & 63);
}

fn bytes_of(class: &Class) -> Vec<u8> {
    (0..=255).filter(|byte| has(class, *byte)).collect()
}

/// Three bytes as a number.
fn number([a, b, c]: [u8; 3]) -> u32 {
    u32::from_le_bytes([a, b, c, 0])
}

/// Reads a shape; alternatives make several.
fn shapes(text: &str) -> Result<Vec<Vec<Step>>> {
    let mut done: Vec<Vec<Step>> = vec![Vec::new()];
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let mut alternatives: Vec<Vec<Step>> = Vec::new();
        match bytes[at] {
            b'(' => {
                let end = text[at..].find(')').ok_or("an open group")? + at;
                for part in text[at + 1..end].split('|') {
                    let mut read = shapes(part)?;
                    match (read.pop(), read.is_empty()) {
                        (Some(one), true) => alternatives.push(one),
                        _ => return Err("a group in a group".into()),
                    }
                }
                at = end + 1;
            }
            _ => {
                let (class, next) = one(text, at)?;
                at = next;
                let (min, max, next) = count(text, at)?;
                at = next;
                let members = bytes_of(&class);
                match (members.as_slice(), min, max) {
                    // A few letters that may stand in one place (`gh[pousr]_`) are alternatives: literals to search for.
                    (few, 1, 1) if few.len() <= FEW => {
                        alternatives.extend(few.iter().map(|byte| vec![Step::Literal(vec![*byte])]));
                    }
                    ([byte], 0, 1) => {
                        alternatives.push(vec![Step::Literal(vec![*byte])]);
                        alternatives.push(Vec::new());
                    }
                    _ => alternatives.push(vec![Step::Class { class, min, max }]),
                }
            }
        }
        done = done.iter().flat_map(|head| alternatives.iter().map(|tail| joined(head, tail))).collect();
        if done.len() > MOST_SHAPES {
            return Err(format!("more than {MOST_SHAPES} alternatives"));
        }
    }
    Ok(done)
}

/// Two literals beside each other are one.
fn joined(head: &[Step], tail: &[Step]) -> Vec<Step> {
    let mut whole = head.to_vec();
    for step in tail {
        match (whole.last_mut(), step) {
            (Some(Step::Literal(one)), Step::Literal(other)) => one.extend(other),
            _ => whole.push(step.clone()),
        }
    }
    whole
}

/// One character or class.
fn one(text: &str, at: usize) -> Result<(Class, usize)> {
    let bytes = text.as_bytes();
    let mut class = [0; 4];
    match bytes[at] {
        b'\\' => {
            put(&mut class, *bytes.get(at + 1).ok_or("a backslash at the end")?);
            Ok((class, at + 2))
        }
        b'[' => {
            let mut at = at + 1;
            loop {
                match *bytes.get(at).ok_or("an open class")? {
                    b']' => return Ok((class, at + 1)),
                    first => {
                        let first = if first == b'\\' {
                            at += 1;
                            *bytes.get(at).ok_or("a backslash at the end")?
                        } else {
                            first
                        };
                        match (bytes.get(at + 1), bytes.get(at + 2)) {
                            (Some(b'-'), Some(last)) if *last != b']' => {
                                (first..=*last).for_each(|byte| put(&mut class, byte));
                                at += 3;
                            }
                            _ => {
                                put(&mut class, first);
                                at += 1;
                            }
                        }
                    }
                }
            }
        }
        b'{' | b'}' | b']' | b')' | b'|' | b'?' => {
            Err(format!("`{}` needs a backslash", char::from(bytes[at])))
        }
        b'.' => Err("`.` needs a backslash".into()),
        byte if byte.is_ascii() => {
            put(&mut class, byte);
            Ok((class, at + 1))
        }
        _ => Err("a character that is not ASCII".into()),
    }
}

fn count(text: &str, at: usize) -> Result<(u16, u16, usize)> {
    match text.as_bytes().get(at) {
        Some(b'?') => Ok((0, 1, at + 1)),
        Some(b'{') => {
            let end = text[at..].find('}').ok_or("an open count")? + at;
            let number = |text: &str| text.parse::<u16>().map_err(|_| format!("`{text}` is no count"));
            let (min, max) = match text[at + 1..end].split_once(',') {
                None => (number(&text[at + 1..end])?, number(&text[at + 1..end])?),
                Some((min, "")) => (number(min)?, LONGEST),
                Some((min, max)) => (number(min)?, number(max)?),
            };
            if min > max || max > LONGEST {
                return Err(format!("a count beyond {LONGEST}, or from more to less"));
            }
            Ok((min, max, end + 1))
        }
        _ => Ok((1, 1, at)),
    }
}

/// A literal by which something is found.
struct Anchor {
    literal: Vec<u8>,
    /// What may follow a literal of three bytes.
    follows: Vec<u8>,
    code: String,
}

#[derive(Default)]
struct Tables {
    text: String,
    patterns: String,
    examples: String,
    shapes: String,
    steps: String,
    classes: Vec<Class>,
    anchors: Vec<Anchor>,
    /// Words in names, without their separators, and the patterns that values of such names may fit.
    near: BTreeMap<String, BTreeSet<usize>>,
    /// The same as they are written.
    words: BTreeSet<String>,
    /// What a gram is multiplied with to get its slot.
    factor: u32,
    /// The grams that are met most in code and text, the most common first.
    common: Vec<Vec<u8>>,
    /// How many of each there are by now.
    count: usize,
    shape_count: usize,
    step_count: usize,
    /// For the tests: id, mark, what matches, what does not.
    trials: String,
}

/// Words behind which a secret stands, or a part of one, and what looks for it.
const SPOTS: &[(&str, &str)] = &[
    ("bearer ", "Scheme"),
    ("Bearer ", "Scheme"),
    ("BEARER ", "Scheme"),
    ("Bearer: ", "Scheme"),
    ("Basic ", "Scheme"),
    ("basic ", "Scheme"),
    ("IDENTIFIED BY ", "Sql"),
    ("IDENTIFIED WITH ", "Sql"),
    ("identified by ", "Sql"),
    ("identified with ", "Sql"),
    (" -u ", "User"),
    ("\n-u ", "User"),
    ("NetworkCredential(", "Pair"),
    ("BasicAuth(", "Pair"),
    ("basic_auth(", "Pair"),
    ("basicAuth(", "Pair"),
    ("PasswordCredentials(", "Pair"),
    ("PasswordAuthentication(", "Pair"),
    ("PasswordAuthenticationToken(", "Pair"),
    ("Credentials.basic(", "Pair"),
    ("PlainAuth(\"\", ", "Pair"),
    (" --user ", "User"),
    (" --user=", "User"),
    (" -p ", "Option"),
    ("mysql ", "Glued"),
    ("mysqldump ", "Glued"),
    ("mysqladmin ", "Glued"),
    ("mariadb ", "Glued"),
    ("mariadb-dump ", "Glued"),
    ("curl ", "Glued"),
    (":5432:", "Pgpass"),
    ("*:*:", "Pgpass"),
    ("Cookie: ", "Cookie"),
    ("cookie: ", "Cookie"),
    ("_live_", "Prefixed"),
    ("_test_", "Prefixed"),
    ("_prod_", "Prefixed"),
    ("_production_", "Prefixed"),
    ("_sandbox_", "Prefixed"),
    ("_pat_", "Prefixed"),
    ("_sk_", "Prefixed"),
    ("_secret_", "Prefixed"),
    ("_token_", "Prefixed"),
    ("_apikey_", "Prefixed"),
    ("_api_", "Prefixed"),
    ("_key_", "Prefixed"),
    ("-api-", "Prefixed"),
    ("-live-", "Prefixed"),
    ("-pat-", "Prefixed"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/gram.rs");
    println!("cargo::rerun-if-changed=names.toml");
    println!("cargo::rerun-if-changed=common-grams.txt");
    println!("cargo::rerun-if-changed=patterns");
    let mut files: Vec<_> = fs::read_dir("patterns")?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let common = fs::read_to_string("common-grams.txt")?;
    let blanks =
        |gram: &str| gram.replace("\\s", " ").replace("\\n", "\n").replace("\\\\", "\\").into_bytes();
    let common = common.split_whitespace().map(blanks).collect();
    let mut tables = Tables { common, ..Tables::default() };
    let mut wrong = 0;
    for file in files {
        let path = file.path();
        let Some(id) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".toml")) else {
            continue;
        };
        let read = toml::from_str(&fs::read_to_string(&path)?).map_err(|error| error.to_string());
        if let Err(error) = read.and_then(|source| tables.pattern(id, &source)) {
            println!("cargo::error=patterns/{id}.toml: {}", error.replace('\n', " "));
            wrong += 1;
        }
    }
    if wrong > 0 {
        return Err(format!("{wrong} patterns are wrong").into());
    }
    let names: Names = toml::from_str(&fs::read_to_string("names.toml")?)?;
    for name in &names.anchors {
        tables.name(name);
    }
    // A maker's word that holds none of these has to be found by itself.
    for word in tables.words.clone() {
        if !names.anchors.iter().any(|anchor| word.contains(anchor.as_str())) {
            tables.name(&word);
        }
    }
    for (literal, code) in [
        ("-----BEGIN ", "Anchor::PemBegin"),
        ("-----END ", "Anchor::PemEnd"),
        ("---- BEGIN SSH2 ", "Anchor::PemBegin"),
        ("PuTTY-User-Key-File-", "Anchor::Putty"),
    ] {
        tables.anchors.push(Anchor { literal: literal.into(), follows: Vec::new(), code: code.into() });
    }
    for (literal, code) in SPOTS {
        let code = format!("Anchor::{code}");
        tables.anchors.push(Anchor { literal: (*literal).into(), follows: Vec::new(), code });
    }
    tables.choose_factor();
    let out = env::var("OUT_DIR")?;
    let out = Path::new(&out);
    fs::write(out.join("grams.bin"), tables.table())?;
    fs::write(out.join("patterns.rs"), tables.code()? + &names.code())?;
    fs::write(out.join("trials.rs"), format!("&[\n{}]", tables.trials))?;
    Ok(())
}

impl Tables {
    fn pattern(&mut self, id: &str, source: &Source) -> Result<()> {
        if source.examples.len() < 2 || source.others.len() < 2 {
            return Err("needs two `examples` and two `others`".into());
        }
        let needs = source.needs.iter().try_fold(0, |all, need| {
            Ok::<u8, String>(
                all | match need.as_str() {
                    "digit" => 1,
                    "lower" => 2,
                    "upper" => 4,
                    other => return Err(format!("`needs` does not know `{other}`")),
                },
            )
        })?;
        let before = source.before.as_deref().map_or(Ok(vec![Vec::new()]), shapes)?;
        let shape_from = self.shape_count;
        for text in &source.shapes {
            for body in shapes(text)? {
                for before in &before {
                    self.shape(before, &body, source).map_err(|what| format!("`{text}`: {what}"))?;
                }
            }
        }
        if !source.near.is_empty() {
            for word in &source.near {
                if word.len() < 4 || word.bytes().any(|byte| byte.is_ascii_uppercase()) {
                    return Err(format!("`near` takes lower-case words of four bytes, not `{word}`"));
                }
                self.near.entry(word.replace(['_', '-', '.'], "")).or_default().insert(self.count);
                self.words.insert(word.clone());
            }
        }
        for example in &source.example {
            let whole = example.replace('~', "");
            let (at, length) = self.keep(&whole);
            let _ = writeln!(self.examples, "Text({at}, {length}),");
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few bits, in hundredths"
        )]
        let entropy = (source.entropy.unwrap_or_default() * 100.0).round() as u16;
        let texts = [id, source.about.as_str(), source.mark.as_str()].map(|text| {
            let (at, length) = self.keep(text);
            format!("Text({at}, {length})")
        });
        let [id_text, about, mark] = texts;
        let _ = writeln!(
            self.patterns,
            "Pattern {{ id: {id_text}, about: {about}, mark: {mark}, core: {}, needs: {needs}, entropy: {entropy}, \
             shapes: ({shape_from}, {}) }},",
            source.core, self.shape_count
        );
        let _ = writeln!(
            self.trials,
            "({id:?}, {:?}, &{:?}, &{:?}),",
            source.mark, source.examples, source.others
        );
        self.count += 1;
        Ok(())
    }

    fn shape(&mut self, before: &[Step], body: &[Step], source: &Source) -> Result<()> {
        let steps: Vec<Step> = before.iter().chain(body).cloned().collect();
        for pair in steps.windows(2) {
            let Step::Class { class, min, max } = &pair[0] else { continue };
            let meets = match &pair[1] {
                Step::Literal(literal) => has(class, literal[0]),
                Step::Class { class: next, .. } => bytes_of(class).iter().any(|byte| has(next, *byte)),
            };
            if min != max && meets {
                return Err("a run of varying length is followed by one of its own bytes".into());
            }
        }
        let from = self.step_count;
        for step in &steps {
            let code = match step {
                Step::Literal(literal) => {
                    let (at, length) = self.keep(std::str::from_utf8(literal).map_err(|_| "not ASCII")?);
                    format!("Step::Literal(Text({at}, {length}))")
                }
                Step::Class { class, min, max } => {
                    format!("Step::Class({}, {min}, {max})", self.class(class))
                }
            };
            let _ = writeln!(self.steps, "{code},");
        }
        self.step_count += steps.len();
        let (mut lead, mut is_short) = (0, false);
        if source.near.is_empty() {
            let (literal, follows);
            (lead, literal, follows) = anchor(&steps)?;
            is_short = literal.len() < 4;
            let code = format!("Anchor::Shape({})", self.shape_count);
            self.anchors.push(Anchor { literal, follows, code });
        }
        let _ = writeln!(
            self.shapes,
            "Shape {{ pattern: {}, steps: ({from}, {}), kept: {}, lead: {lead}, is_short: {is_short} }},",
            self.count,
            self.step_count,
            before.len()
        );
        self.shape_count += 1;
        Ok(())
    }

    /// A word in names, however it is written.
    fn name(&mut self, word: &str) {
        let mut titles = word.to_owned();
        for at in [0].into_iter().chain(word.match_indices(['_', '-', '.']).map(|(at, _)| at + 1)) {
            if let Some(first) = titles.get_mut(at..at + 1) {
                first.make_ascii_uppercase();
            }
        }
        // What follows a word of three letters in a name or behind one.
        let follows: Vec<u8> = if word.ends_with([':', '=']) {
            (b' '..=b'~').collect()
        } else {
            b"_-.=:\"'\\ \t)]>sI0123456789,(|".to_vec()
        };
        for spelling in BTreeSet::from([word.to_owned(), word.to_ascii_uppercase(), titles]) {
            let code = "Anchor::Name".into();
            self.anchors.push(Anchor { literal: spelling.into(), follows: follows.clone(), code });
        }
    }

    fn keep(&mut self, text: &str) -> (usize, usize) {
        let at = self.text.find(text).unwrap_or_else(|| {
            self.text.push_str(text);
            self.text.len() - text.len()
        });
        (at, text.len())
    }

    fn class(&mut self, class: &Class) -> usize {
        self.classes.iter().position(|known| known == class).unwrap_or_else(|| {
            self.classes.push(*class);
            self.classes.len() - 1
        })
    }

    /// Looks for a factor that lets few common grams fall into the slots of those that are sought.
    fn choose_factor(&mut self) {
        const TRIES: u32 = 3000;
        let sought: BTreeSet<u32> = self.grams().into_iter().map(|(gram, ..)| gram).collect();
        let common: Vec<(u32, usize)> = self
            .common
            .iter()
            .enumerate()
            .map(|(rank, gram)| (number([gram[0], gram[1], gram[2]]), 1_000_000 / (rank + 20)))
            .filter(|(gram, _)| !sought.contains(gram))
            .collect();
        let mut used = vec![0; gram::SLOTS];
        let mut best = (usize::MAX, 0);
        for number in 1..=TRIES {
            let factor = (number.wrapping_mul(0x9e37_79b9) | 1) << 8;
            for gram in &sought {
                used[gram::slot(*gram, factor)] = number;
            }
            let stray = common.iter().filter(|(gram, _)| used[gram::slot(*gram, factor)] == number);
            best = best.min((stray.map(|(_, weight)| weight).sum(), factor));
        }
        self.factor = best.1;
    }

    /// The grams by which literals are found: each with its literal, and how far behind the literal's beginning it lies.
    fn grams(&self) -> Vec<(u32, usize, usize)> {
        let common: BTreeMap<&[u8], usize> = self
            .common
            .iter()
            .enumerate()
            .map(|(rank, gram)| (gram.as_slice(), self.common.len() - rank))
            .collect();
        let mut grams = BTreeSet::new();
        for (anchor, Anchor { literal, follows, .. }) in self.anchors.iter().enumerate() {
            if let [a, b, c] = literal[..] {
                grams.insert((number([a, b, c]), anchor, 0));
                grams.extend(follows.iter().map(|d| (number([b, c, *d]), anchor, 1)));
                continue;
            }
            // The four bytes in a row that are met least.
            let met = |at: usize| common.get(&literal[at..at + 3]).copied().unwrap_or_default();
            let rarest = (0..literal.len().saturating_sub(3)).min_by_key(|at| met(*at) + met(at + 1));
            for at in rarest.into_iter().flat_map(|at| [at, at + 1]) {
                grams.insert((number([literal[at], literal[at + 1], literal[at + 2]]), anchor, at));
            }
        }
        grams.into_iter().collect()
    }

    /// Which anchors a gram may belong to, by the gram's slot.
    fn slots(&self) -> BTreeMap<usize, Vec<(usize, usize)>> {
        let mut slots: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (gram, anchor, offset) in self.grams() {
            let entries = slots.entry(gram::slot(gram, self.factor)).or_default();
            if !entries.contains(&(anchor, offset)) {
                entries.push((anchor, offset));
            }
        }
        slots
    }

    /// The first table: which slots are in use.
    fn table(&self) -> Vec<u8> {
        let mut grams = vec![0; gram::SLOTS];
        for slot in self.slots().keys() {
            grams[*slot] = 1;
        }
        grams
    }

    fn code(&self) -> Result<String> {
        let (mut entries, mut count) = (String::new(), 0);
        let mut groups = vec![0; gram::GROUPS + 1];
        let mut slots: Vec<_> = self.slots().into_iter().collect();
        slots.sort_by_key(|(slot, _)| gram::group(*slot));
        // Grams of one literal that differ in their last byte alone often fall into one group, and say the same there.
        let mut written = BTreeSet::new();
        for (slot, anchors) in slots {
            for (anchor, offset) in anchors {
                if !written.insert((gram::group(slot), anchor, offset)) {
                    continue;
                }
                // As much of the literal as four bytes hold, from the gram on.
                let mut bytes = [0; 4];
                let mut mask = [0; 4];
                for ((byte, mask), known) in
                    bytes.iter_mut().zip(&mut mask).zip(self.anchors[anchor].literal.iter().skip(offset))
                {
                    (*byte, *mask) = (*known, u8::MAX);
                }
                let [bytes, mask] = [bytes, mask].map(u32::from_le_bytes);
                let _ = writeln!(
                    entries,
                    "GramEntry {{ bytes: {bytes}, mask: {mask}, anchor: {anchor}, offset: {offset} }},"
                );
                count += 1;
            }
            groups[gram::group(slot) + 1] = count;
        }
        for number in 1..groups.len() {
            groups[number] = groups[number].max(groups[number - 1]);
        }
        let mut text = self.text.clone();
        let mut literals = String::new();
        for anchor in &self.anchors {
            let literal = std::str::from_utf8(&anchor.literal).map_err(|_| "not ASCII")?;
            let at = text.find(literal).unwrap_or_else(|| {
                text.push_str(literal);
                text.len() - literal.len()
            });
            let _ = writeln!(
                literals,
                "Literal {{ text: Text({at}, {}), anchor: {} }},",
                literal.len(),
                anchor.code
            );
        }
        let mut near = String::new();
        for (word, patterns) in &self.near {
            let at = text.find(word.as_str()).unwrap_or_else(|| {
                text.push_str(word);
                text.len() - word.len()
            });
            for pattern in patterns {
                let pairs = gram::pairs(word.as_bytes());
                let _ = writeln!(near, "(Text({at}, {}), {pairs}, {pattern}),", word.len());
            }
        }
        let mut classes = String::new();
        for class in &self.classes {
            let _ = writeln!(classes, "{class:?},");
        }
        Ok(format!(
            "pub(crate) const FACTOR: u32 = {};\n\
             pub(super) static TEXT: &str = {text:?};\n\
             pub(super) static PATTERNS: [Pattern; {}] = [\n{}];\n\
             pub(super) static EXAMPLES: &[Text] = &[\n{}];\n\
             pub(super) static SHAPES: [Shape; {}] = [\n{}];\n\
             pub(super) static STEPS: [Step; {}] = [\n{}];\n\
             pub(super) static CLASSES: [Class; {}] = [\n{classes}];\n\
             pub(super) static LITERALS: [Literal; {}] = [\n{literals}];\n\
             pub(super) static ENTRIES: [GramEntry; {count}] = [\n{entries}];\n\
             pub(super) static GROUPS: [u16; {}] = {groups:?};\n\
             pub(super) static NEAR: &[(Text, u64, u16)] = &[\n{near}];\n",
            self.factor,
            self.count,
            self.patterns,
            self.examples,
            self.shape_count,
            self.shapes,
            self.step_count,
            self.steps,
            self.classes.len(),
            self.anchors.len(),
            groups.len(),
        ))
    }
}

/// The literal by which a shape is found: the first of four bytes that has a fixed distance from the beginning, or else
/// the longest of three. Returns the distance, the literal and what may follow it.
fn anchor(steps: &[Step]) -> Result<(usize, Vec<u8>, Vec<u8>)> {
    let mut lead = 0;
    let mut best: Option<(usize, Vec<u8>, Vec<u8>)> = None;
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Literal(literal) => {
                if literal.len() >= 3 && best.as_ref().is_none_or(|(_, known, _)| known.len() < 4) {
                    let follows = match steps.get(number + 1) {
                        Some(Step::Class { class, min: 1.., .. }) => bytes_of(class),
                        _ if literal.len() > 3 => Vec::new(),
                        _ => return Err("a literal of three bytes needs a class behind it".into()),
                    };
                    let longer = best.as_ref().is_none_or(|(_, known, _)| known.len() < literal.len());
                    if longer {
                        best = Some((lead, literal.clone(), follows));
                    }
                }
                lead += literal.len();
            }
            Step::Class { min, max, .. } if min == max => lead += usize::from(*min),
            Step::Class { .. } => break,
        }
    }
    best.ok_or_else(|| "no literal of three bytes at a fixed distance from the beginning; use `near`".into())
}
