//! `$'…'`: escapes as in C.

use std::borrow::Cow;

/// The text that stands between `$'` and `'`, decoded. As in bash, a NUL ends it.
pub(crate) fn decode(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut rest = raw.as_bytes();
    let mut out = Vec::with_capacity(raw.len());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else {
            out.push(b'\\');
            break;
        };
        rest = after;
        let byte = match escape {
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'\\' | b'\'' | b'"' | b'?' => escape,
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                number(&mut rest, 8, 2, &mut value);
                low_byte(value)
            }
            b'x' => {
                let braced = rest.strip_prefix(b"{");
                let mut value = 0;
                rest = braced.unwrap_or(rest);
                let digits = number(&mut rest, 16, if braced.is_some() { usize::MAX } else { 2 }, &mut value);
                if braced.is_some() {
                    rest = rest.strip_prefix(b"}").unwrap_or(rest);
                } else if digits == 0 {
                    out.extend(b"\\x");
                    continue;
                }
                low_byte(value)
            }
            b'u' | b'U' => {
                let mut value = 0;
                let digits = number(&mut rest, 16, if escape == b'u' { 4 } else { 8 }, &mut value);
                if digits == 0 {
                    out.extend([b'\\', escape]);
                    continue;
                }
                if value == 0 {
                    break;
                }
                let letter = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend(letter.encode_utf8(&mut [0; 4]).bytes());
                continue;
            }
            b'c' => {
                let Some((&control, after)) = rest.split_first() else { continue };
                rest = after;
                if control == b'\\' {
                    rest = rest.strip_prefix(b"\\").unwrap_or(rest);
                }
                if control == b'?' { 127 } else { control.to_ascii_uppercase() & 0x1F }
            }
            other => {
                out.extend([b'\\', other]);
                continue;
            }
        };
        if byte == 0 {
            break;
        }
        out.push(byte);
    }
    Cow::Owned(
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

/// Reads digits, as many as there are and may be; how many there were.
fn number(rest: &mut &[u8], base: u32, most: usize, value: &mut u32) -> usize {
    let mut digits = 0;
    while let Some((&byte, after)) = rest.split_first() {
        let Some(digit) = char::from(byte).to_digit(base).filter(|_| digits < most) else { break };
        *value = value.wrapping_mul(base).wrapping_add(digit);
        digits += 1;
        *rest = after;
    }
    digits
}

fn low_byte(value: u32) -> u8 {
    value.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_mean_what_they_mean_in_bash() {
        for (raw, decoded) in [
            ("plain", "plain"),
            (r"a\nb\tc\\d\'e", "a\nb\tc\\d'e"),
            (r"\x48\x49DDEN", "HIDDEN"),
            (r"\x{48}\110\u0048\U00000048", "HHHH"),
            (r"\xc3\xa9", "é"),
            (r"\q\xzz\uzz", r"\q\xzz\uzz"),
            (r"a\0b", "a"),
            (r"a\x00b", "a"),
            (r"a\u0000b", "a"),
            (r"\ca\c\\x", "\u{1}\u{1c}x"),
            (r"\e[0m", "\u{1b}[0m"),
            (r"\1234", "S4"),
        ] {
            assert_eq!(decode(raw), decoded, "{raw}");
        }
    }
}
