//! From findings to a text without them.

use crate::shapes;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Only private keys and the tokens of the best known makers.
    pub core_only: bool,
    /// Which email addresses.
    pub emails: Emails,
    /// Addresses (`team@corp.com`) and domains (`@corp.com`) that are no finding, beside those that are always safe.
    pub safe_emails: Vec<String>,
    /// Values that only look random, where their names say that they are secret.
    pub entropy: bool,
    /// Keys that their makers print in their manuals are no finding.
    pub keep_examples: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            core_only: false,
            emails: Emails::Unlisted,
            safe_emails: Vec::new(),
            entropy: true,
            keep_examples: false,
        }
    }
}

/// Which email addresses are findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emails {
    /// None.
    None,
    /// Those that are on no safe list.
    Unlisted,
    /// All.
    All,
}

/// What stands where a secret stood.
#[derive(Clone, Copy, Default)]
pub enum Marks<'m> {
    /// `[JWT REDACTED]`
    #[default]
    Plain,
    /// `[EMAIL_REDACTED]` for addresses, `[REDACTED:JWT]` for all else.
    Compat,
    /// `[JWT REDACTED]#3f9a`: the same secret has the same end, which this function makes.
    Same(&'m dyn Fn(&[u8]) -> u16),
}

/// A secret and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its first byte.
    pub from: usize,
    /// Behind its last byte.
    pub to: usize,
    /// The pattern that it fits, by its id: `github-token`.
    pub pattern: &'static str,
    /// The name in its mark: `GITHUB_TOKEN`.
    pub mark: &'static str,
    /// What it is, for people: `a GitHub token`.
    pub about: &'static str,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed<T> {
    /// The text.
    pub text: T,
    /// How many secrets were in it.
    pub count: usize,
}

/// All secrets in a text, in order; none touches another.
pub fn find(text: &[u8], rules: &Rules) -> Vec<Found> {
    let _ = rules;
    shapes::find(text)
}

/// The text without its secrets; `None` where it has none.
pub fn scrub(text: &[u8], rules: &Rules, marks: Marks<'_>) -> Option<Scrubbed<Vec<u8>>> {
    let found = find(text, rules);
    if found.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut kept = 0;
    for secret in &found {
        out.extend_from_slice(text.get(kept..secret.from).unwrap_or_default());
        marks.write(secret, text.get(secret.from..secret.to).unwrap_or_default(), &mut out);
        kept = secret.to;
    }
    out.extend_from_slice(text.get(kept..).unwrap_or_default());
    Some(Scrubbed { text: out, count: found.len() })
}

/// JSON without the secrets in its strings, otherwise as it came; `None` where it has none.
pub fn scrub_json(json: &str, rules: &Rules, marks: Marks<'_>) -> Option<Scrubbed<String>> {
    let scrubbed = scrub(json.as_bytes(), rules, marks)?;
    Some(Scrubbed { text: String::from_utf8(scrubbed.text).ok()?, count: scrubbed.count })
}

/// A text that comes in pieces, of which only a window is kept.
pub struct Stream<'r> {
    rules: &'r Rules,
    marks: Marks<'r>,
    /// What has come and is not worked off.
    held: Vec<u8>,
    count: usize,
}

impl<'r> Stream<'r> {
    /// A stream from its beginning.
    pub fn new(rules: &'r Rules, marks: Marks<'r>) -> Stream<'r> {
        Stream { rules, marks, held: Vec::new(), count: 0 }
    }

    /// Takes the next piece; what can be said by now goes to `out`.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let _ = &out;
        self.held.extend_from_slice(piece);
    }

    /// Ends the stream. Says how many secrets were in it.
    pub fn finish(mut self, out: &mut Vec<u8>) -> usize {
        match scrub(&self.held, self.rules, self.marks) {
            Some(scrubbed) => {
                self.count += scrubbed.count;
                out.extend(scrubbed.text);
            }
            None => out.append(&mut self.held),
        }
        self.count
    }
}

impl Marks<'_> {
    fn write(self, found: &Found, secret: &[u8], out: &mut Vec<u8>) {
        let text = match self {
            Marks::Plain => format!("[{} REDACTED]", found.mark),
            Marks::Compat if found.mark == "EMAIL" => "[EMAIL_REDACTED]".to_owned(),
            Marks::Compat => format!("[REDACTED:{}]", found.mark),
            Marks::Same(end) => format!("[{} REDACTED]#{:04x}", found.mark, end(secret)),
        };
        out.extend_from_slice(text.as_bytes());
    }
}
