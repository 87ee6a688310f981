//! From findings to a text without them.

use crate::lens::is_wide;
use crate::{Found, Rules, find};

/// Which email addresses are findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emails {
    /// None.
    None,
    /// Those that are on no safe list, and do not stand where programs and histories name who did something: the author of a commit, of
    /// a package or of a licence, the target of `ssh`, the account of a service.
    Personal,
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

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed<T> {
    /// The text.
    pub text: T,
    /// How many secrets were in it.
    pub count: usize,
}

/// The text without its secrets; `None` where it has none.
pub fn scrub(text: &[u8], rules: &Rules, marks: Marks<'_>) -> Option<Scrubbed<Vec<u8>>> {
    settle(|again: Option<&Vec<u8>>| once(again.map_or(text, Vec::as_slice), rules, marks))
}

fn once(text: &[u8], rules: &Rules, marks: Marks<'_>) -> Option<Scrubbed<Vec<u8>>> {
    let found = find(text, rules);
    if found.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() + 32 * found.len());
    write(text, 0, text.len(), &found, marks, &mut out);
    Some(Scrubbed { text: out, count: found.len() })
}

/// A mark may let something be seen that it stood before (`<token>-TOKEN=x`), so what was changed is looked at again
/// until it stays as it is. Every round replaces text by marks; a few are enough.
pub(crate) fn settle<T>(mut round: impl FnMut(Option<&T>) -> Option<Scrubbed<T>>) -> Option<Scrubbed<T>> {
    const MOST_ROUNDS: usize = 8;
    let mut scrubbed = round(None)?;
    for _ in 1..MOST_ROUNDS {
        match round(Some(&scrubbed.text)) {
            Some(more) => scrubbed = Scrubbed { text: more.text, count: scrubbed.count + more.count },
            None => break,
        }
    }
    Some(scrubbed)
}

/// Writes `from..to` of a text with marks in the place of what was found there.
pub(crate) fn write(
    text: &[u8],
    from: usize,
    to: usize,
    found: &[Found],
    marks: Marks<'_>,
    out: &mut Vec<u8>,
) {
    let mut kept = from;
    for secret in found {
        out.extend_from_slice(text.get(kept..secret.from).unwrap_or_default());
        let value = text.get(secret.from..secret.to).unwrap_or_default();
        if is_wide(value) {
            // The rest stays readable only if the mark is as wide as what it replaces.
            let narrow: Vec<u8> = value.iter().copied().filter(|byte| *byte != 0).collect();
            let mut mark = Vec::new();
            marks.write(secret, &narrow, &mut mark);
            let wide = mark
                .iter()
                .enumerate()
                .flat_map(|(at, byte)| [0, *byte].into_iter().skip(usize::from(at == 0)));
            out.extend(wide);
        } else {
            marks.write(secret, value, out);
        }
        kept = secret.to;
    }
    out.extend_from_slice(text.get(kept..to).unwrap_or_default());
}

impl Marks<'_> {
    /// The mark of a secret of which only this is known.
    pub fn secret(self, secret: &[u8]) -> String {
        let mut out = Vec::new();
        self.write(&Found::known(0, secret.len()), secret, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    pub(crate) fn write(self, found: &Found, secret: &[u8], out: &mut Vec<u8>) {
        let text = match self {
            Marks::Plain => format!("[{} REDACTED]", found.mark),
            Marks::Compat if found.mark == "EMAIL" => "[EMAIL_REDACTED]".to_owned(),
            Marks::Compat => format!("[REDACTED:{}]", found.mark),
            Marks::Same(end) => format!("[{} REDACTED]#{:04x}", found.mark, end(secret)),
        };
        out.extend_from_slice(text.as_bytes());
    }
}
