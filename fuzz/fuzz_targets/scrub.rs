//! Any bytes are scrubbed without a panic, and a second time changes nothing; a token that is put anywhere into them as
//! a word of its own is gone, in one piece and in many; in pieces, too, what holds no secret comes out as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_secrets::{Marks, Rules, Stream, scrub};

/// Shapes whose beginning alone says what they are. In parts, so that no scanner takes this file for a leak.
const TOKENS: [&str; 8] = [
    concat!("ghp_", "0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"),
    concat!("AK", "IA", "Q3EGR7ZK2WLN5XHV"),
    concat!("sk-", "ant-", "api03-", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kM9nP2rS5uX8"),
    concat!("xox", "b-", "2481632641-1357924680135-aB3dE6gH9jK2mN5pQ8sT1vW4"),
    concat!("glp", "at-", "aB3dE6gH9jK2mN5pQ8sT"),
    concat!(
        "eyJ",
        "hbGciOiJIUzI1NiJ9.",
        "eyJ",
        "zdWIiOiIxMjM0NTY3ODkwIn0.",
        "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
    ),
    concat!("npm", "_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"),
    concat!("SG", ".", "aB3dE6gH9jK2mN5pQ8sT1v.", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kM9nP2r"),
];

fn scrubbed(text: &[u8], marks: Marks<'_>) -> Vec<u8> {
    scrub(text, &Rules::default(), marks).map_or_else(|| text.to_vec(), |scrubbed| scrubbed.text)
}

/// Bytes as an assertion shows them.
fn shown(text: &[u8]) -> String {
    text.escape_ascii().to_string()
}

fn holds(text: &[u8], token: &str) -> bool {
    text.windows(token.len()).any(|window| window == token.as_bytes())
}

fuzz_target!(|input: &[u8]| {
    // The first bytes choose a token, its place, and how long pieces are.
    let Some(([token, high, low, piece], text)) = input.split_first_chunk() else { return };

    let same =
        |secret: &[u8]| secret.iter().fold(7, |sum: u16, byte| sum.wrapping_mul(31) ^ u16::from(*byte));
    for marks in [Marks::Plain, Marks::Same(&same)] {
        let once = scrubbed(text, marks);
        let twice = scrubbed(&once, marks);
        assert!(once == twice, "a second time changes\n  {}\nto\n  {}", shown(&once), shown(&twice));
    }

    let in_pieces = |text: &[u8]| {
        let rules = Rules::default();
        let mut stream = Stream::new(&rules, Marks::Plain);
        let mut out = Vec::new();
        for piece in text.chunks(1 + usize::from(*piece) * 16) {
            stream.push(piece, &mut out);
        }
        stream.finish(&mut out);
        out
    };
    if scrub(text, &Rules::default(), Marks::Plain).is_none() {
        let out = in_pieces(text);
        assert!(out == text, "in pieces\n  {}\nis not\n  {}", shown(&out), shown(text));
    }

    let token = TOKENS[usize::from(*token) % TOKENS.len()];
    if !holds(text, token) {
        let place = usize::from(u16::from_be_bytes([*high, *low])) % (text.len() + 1);
        let (head, tail) = text.split_at(place);
        let planted = [head, b" ", token.as_bytes(), b" ", tail].concat();
        for out in [scrubbed(&planted, Marks::Plain), in_pieces(&planted)] {
            assert!(!holds(&out, token), "{token} is still in\n  {}", shown(&out));
        }
    }
});
