//! Secrets that were never anybody's, made anew for each run of a test: the same for the same seed.

/// Numbers that look random and are the same every time (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    /// Characters of an alphabet; of each kind that it has, at least one where there is room.
    pub(crate) fn text(&mut self, alphabet: &str, length: usize) -> String {
        let all: Vec<char> = alphabet.chars().collect();
        let kinds: [fn(&char) -> bool; 3] =
            [char::is_ascii_digit, char::is_ascii_lowercase, char::is_ascii_uppercase];
        let mut text: Vec<char> = (0..length).map(|_| all[self.below(all.len())]).collect();
        for (number, kind) in kinds.into_iter().enumerate() {
            let some: Vec<char> = all.iter().copied().filter(kind).collect();
            if length > 4 && !some.is_empty() && !text.iter().any(kind) {
                text[1 + number] = some[self.below(some.len())];
            }
        }
        text.into_iter().collect()
    }
}

const DIGITS: &str = "0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The alphabet of a placeholder's name.
pub(crate) fn alphabet(name: &str) -> Option<String> {
    Some(match name {
        "alnum" => format!("{DIGITS}{LOWER}{UPPER}"),
        "hex" => format!("{DIGITS}abcdef"),
        "upper" => format!("{UPPER}{DIGITS}"),
        "lower" => LOWER.to_owned(),
        "digit" => DIGITS.to_owned(),
        "b64" => format!("{DIGITS}{LOWER}{UPPER}+/"),
        "url" => format!("{DIGITS}{LOWER}{UPPER}_-"),
        _ => return None,
    })
}

/// The text with `<alnum*36>` and the like filled in.
pub(crate) fn filled(text: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        let close = rest[open..].find('>').map(|at| open + at);
        let inside = close.map(|close| &rest[open + 1..close]);
        let made = inside.and_then(|inside| match inside.split_once('*') {
            Some((name, count)) => Some(random.text(&alphabet(name)?, count.parse().ok()?)),
            None if inside == "uuid" => {
                let hex = alphabet("hex")?;
                let parts = [8, 4, 4, 4, 12].map(|length| random.text(&hex, length));
                Some(parts.join("-"))
            }
            None => None,
        });
        match (made, close) {
            (Some(made), Some(close)) => {
                out.push_str(&made);
                rest = &rest[close + 1..];
            }
            _ => {
                out.push('<');
                rest = &rest[open + 1..];
            }
        }
    }
    out + rest
}
