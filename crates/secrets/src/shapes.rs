//! Tokens that are known by how they look: a fixed beginning and a body of certain characters.
//!
//! Does not see: tokens without a fixed beginning (they look like any hash), and tokens in another encoding.

use std::borrow::Cow;

use crate::Mark;
use crate::rewrite::Rewrite;

/// The text with tokens replaced.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = Rewrite::of(text);
    // INVARIANT: no token of rule `n` begins before `clear[n]`. Without this, `sk-sk-sk-…` would be measured
    // to its end from each of its parts.
    let mut clear = [0; RULES.len()];
    let mut at = 0;
    while let Some(skipped) = begin_of_some(bytes.get(at..).unwrap_or_default()) {
        at += skipped;
        let rest = bytes.get(at..).unwrap_or_default();
        let mut next = at + 1;
        let in_word = rest.first().is_some_and(u8::is_ascii_alphanumeric)
            && out.before(at).last().is_some_and(u8::is_ascii_alphanumeric);
        for (rule, clear) in RULES.iter().zip(&mut clear) {
            let Some(body) = rest.strip_prefix(rule.prefix.as_bytes()) else {
                continue;
            };
            if in_word || at < *clear {
                continue;
            }
            let body_at = at + rule.prefix.len();
            match rule.body.measure(body) {
                Ok(length) => {
                    next = body_at + length;
                    out.replace(at, next, rule.mark);
                    break;
                }
                Err(length) => *clear = body_at + length,
            }
        }
        at = next;
    }
    out.finish()
}

/// Where tokens stand.
pub(crate) fn find(text: &[u8]) -> Vec<crate::Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let hit = RULES.iter().find_map(|rule| {
            let body = rest.strip_prefix(rule.prefix.as_bytes())?;
            Some((rule, rule.prefix.len() + rule.body.measure(body).ok()?))
        });
        at += match hit {
            Some((rule, length)) => {
                let mark = rule.mark.text().trim_start_matches('[').trim_end_matches(" REDACTED]");
                found.push(crate::Found {
                    from: at,
                    to: at + length,
                    pattern: "token",
                    mark,
                    about: "a token",
                });
                length
            }
            None => 1,
        };
    }
    found
}

/// Where a token may begin at the earliest. Most texts hold none, so this is where the time goes.
fn begin_of_some(rest: &[u8]) -> Option<usize> {
    rest.iter().position(|byte| matches!(byte, b'g' | b's' | b'A' | b'e' | b'x' | b'-'))
}

/// One kind of token.
struct Rule {
    /// How it begins. Where that is a letter, it must begin a word: `risk-…` holds no `sk-…`.
    prefix: &'static str,
    body: Body,
    mark: Mark,
}

/// What follows the prefix.
enum Body {
    /// Characters of one class, this many, that satisfy the check.
    Run { class: fn(u8) -> bool, min: usize, max: usize, check: fn(&[u8]) -> bool },
    /// What this function measures, by the contract of [`Body::measure`].
    Other(fn(&[u8]) -> Result<usize, usize>),
}

const MANY: usize = usize::MAX;

const RULES: [Rule; 16] = [
    github("ghp_"),
    github("gho_"),
    github("ghu_"),
    github("ghs_"),
    github("ghr_"),
    github("github_pat_"),
    Rule {
        prefix: "sk-",
        body: Body::Run { class: is_word_or_hyphen, min: 20, max: MANY, check: is_no_phrase },
        mark: Mark::ApiKey,
    },
    aws("AKIA"),
    aws("ASIA"),
    Rule { prefix: "eyJ", body: Body::Other(measure_jwt), mark: Mark::Jwt },
    Rule { prefix: "-----BEGIN ", body: Body::Other(measure_pem), mark: Mark::PrivateKey },
    slack("xoxa-"),
    slack("xoxb-"),
    slack("xoxp-"),
    slack("xoxr-"),
    slack("xoxs-"),
];

/// 36 and 82 characters today; the maker has said that they may grow.
const fn github(prefix: &'static str) -> Rule {
    Rule {
        prefix,
        body: Body::Run { class: is_word, min: 36, max: MANY, check: anything },
        mark: Mark::GithubToken,
    }
}

/// Exactly 16: a longer run is a name in capitals.
const fn aws(prefix: &'static str) -> Rule {
    Rule {
        prefix,
        body: Body::Run {
            class: |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            min: 16,
            max: 16,
            check: anything,
        },
        mark: Mark::AwsKey,
    }
}

const fn slack(prefix: &'static str) -> Rule {
    Rule {
        prefix,
        body: Body::Run { class: is_word_or_hyphen, min: 10, max: MANY, check: anything },
        mark: Mark::SlackToken,
    }
}

impl Body {
    /// `Ok`: a body of this length stands here. `Err`: none does, and within this length no token of the same
    /// rule begins.
    fn measure(&self, rest: &[u8]) -> Result<usize, usize> {
        match self {
            Body::Run { class, min, max, check } => {
                // A part of a run that failed fails too: it is shorter, and the checks ask for something to
                // be there.
                let run = run(rest, *class);
                if (*min..=*max).contains(&run.len()) && check(run) { Ok(run.len()) } else { Err(run.len()) }
            }
            Body::Other(measure) => measure(rest),
        }
    }
}

/// The characters of one class that `bytes` begins with.
fn run(bytes: &[u8], class: fn(u8) -> bool) -> &[u8] {
    let end = bytes.iter().position(|&byte| !class(byte));
    bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_word_or_hyphen(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

fn anything(_: &[u8]) -> bool {
    true
}

/// Lower-case words joined by hyphens are the name of something (`sk-learn-contrib-documentation`).
fn is_no_phrase(run: &[u8]) -> bool {
    run.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        || run.split(|&byte| byte == b'-').any(|word| word.len() >= 20)
}

/// The rest of the first part, then `.eyJ…` and `.…`: header, claims, signature.
fn measure_jwt(rest: &[u8]) -> Result<usize, usize> {
    let header = run(rest, is_word_or_hyphen).len();
    let measured = || {
        let claims = rest.get(header..)?.strip_prefix(b".eyJ")?;
        let claims_run = run(claims, is_word_or_hyphen).len();
        let signature = claims.get(claims_run..)?.strip_prefix(b".")?;
        let signature_run = run(signature, is_word_or_hyphen).len();
        let whole = header >= 4 && claims_run >= 4 && signature_run >= 4;
        whole.then_some(header + 4 + claims_run + 1 + signature_run)
    };
    // Every other start within the header leads to the same failing claims.
    measured().ok_or(header)
}

/// The rest of the first line, then all to the end of the last. A block that does not end (a shortened text)
/// takes the rest of the text with it: where the key ends cannot be known.
fn measure_pem(rest: &[u8]) -> Result<usize, usize> {
    const TAIL: &[u8] = b"PRIVATE KEY";
    const DASHES: &[u8] = b"-----";
    /// Longer than any label in use (`ENCRYPTED PRIVATE KEY`, `OPENSSH PRIVATE KEY`).
    const LABEL: usize = 64;

    let start = rest.get(..LABEL).unwrap_or(rest);
    let label = run(start, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    // PGP says `PRIVATE KEY BLOCK`.
    let kind = label.strip_suffix(b" BLOCK").unwrap_or(label);
    let after = rest.get(label.len()..).unwrap_or_default();
    if !kind.ends_with(TAIL) || !after.starts_with(DASHES) {
        return Err(0);
    }
    let Some(end) = after.windows(9).position(|window| window == b"-----END ") else {
        return Ok(rest.len());
    };
    // From the last line's own dashes to the closing ones, which may have been cut off.
    let last_line = after.get(end + 9..).unwrap_or_default();
    let last_label =
        run(last_line, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let dashes = last_line
        .get(last_label.len()..)
        .unwrap_or_default()
        .iter()
        .take(DASHES.len())
        .take_while(|&&byte| byte == b'-');
    Ok(label.len() + end + 9 + last_label.len() + dashes.count())
}

#[cfg(test)]
mod tests {
    use super::{RULES, begin_of_some, redact};

    const BODY_36: &str = "0123456789abcdefghijABCDEFGHIJ012345";

    #[test]
    fn tokens_are_replaced_and_what_stands_around_them_stays() {
        let pat = format!("github_pat_{}", "a1_B".repeat(21).trim_end_matches('B'));
        let cases: Vec<(String, &str)> = vec![
            (format!("x ghp_{BODY_36} y"), "x [GITHUB_TOKEN REDACTED] y"),
            (format!("ghs_{BODY_36}"), "[GITHUB_TOKEN REDACTED]"),
            (format!("gho_{BODY_36},ghr_{BODY_36}"), "[GITHUB_TOKEN REDACTED],[GITHUB_TOKEN REDACTED]"),
            (pat, "[GITHUB_TOKEN REDACTED]"),
            (format!("é ghu_{BODY_36}é"), "é [GITHUB_TOKEN REDACTED]é"),
            (format!("日ghp_{BODY_36}"), "日[GITHUB_TOKEN REDACTED]"),
            (format!("my_ghp_{BODY_36}"), "my_[GITHUB_TOKEN REDACTED]"),
            ("sk-abcdefghijklmnopqrstuvwxyz".to_owned(), "[API_KEY REDACTED]"),
            ("sk-ant-api03-AbCd_efgh-ijkl0123".to_owned(), "[API_KEY REDACTED]"),
            ("'sk-proj-0123456789abcdefghij'".to_owned(), "'[API_KEY REDACTED]'"),
            ("id=AKIAIOSFODNN7EXAMPLE;".to_owned(), "id=[AWS_KEY REDACTED];"),
            ("ASIAIOSFODNN7EXAMPLE".to_owned(), "[AWS_KEY REDACTED]"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w".to_owned(), "[JWT REDACTED]"),
            ("xoxb-1234567890-abcdef".to_owned(), "[SLACK_TOKEN REDACTED]"),
            ("xoxp-1234567890-abcdef.".to_owned(), "[SLACK_TOKEN REDACTED]."),
            (
                "a\n-----BEGIN PRIVATE KEY-----\nMIIEvQ==\n-----END PRIVATE KEY-----\nb".to_owned(),
                "a\n[PRIVATE_KEY REDACTED]\nb",
            ),
            (
                "-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Bl\\n-----END OPENSSH PRIVATE KEY-----\\n"
                    .to_owned(),
                "[PRIVATE_KEY REDACTED]\\n",
            ),
            (
                "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----".to_owned(),
                "[PRIVATE_KEY REDACTED]",
            ),
            ("a -----BEGIN EC PRIVATE KEY-----\nMHcCé".to_owned(), "a [PRIVATE_KEY REDACTED]"),
            ("-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRI".to_owned(), "[PRIVATE_KEY REDACTED]"),
        ];
        for (text, wanted) in cases {
            assert_eq!(redact(&text), wanted, "{text}");
        }
    }

    #[test]
    fn no_rule_is_passed_over() {
        for rule in RULES {
            assert_eq!(begin_of_some(rule.prefix.as_bytes()), Some(0), "{}", rule.prefix);
        }
    }

    #[test]
    fn what_only_looks_similar_stays() {
        for text in [
            "",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "550e8400-e29b-41d4-a716-446655440000",
            "/sk-learn/docs",
            "/opt/sk-learn-contrib-documentation-pages/index",
            "risk-0123456789abcdefghijklmnop",
            "desk-lamp-with-a-very-long-name-2024",
            "sk-short0123",
            "ghp_tooshort",
            "ghp_",
            "AKIAIOSFODNN7EXAMPL",
            "AKIAIOSFODNN7EXAMPLEX",
            "XAKIAIOSFODNN7EXAMPLE",
            "AKIAiosfodnn7example0",
            "eyJhbGciOiJIUzI1NiJ9",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi",
            "eyJhbGciOiJIUzI1NiJ9.payload.signature",
            "xoxb-short",
            "xoxz-1234567890-abcdef",
            "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
            "------------------------------",
            "[GITHUB_TOKEN REDACTED]",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn a_text_made_to_be_measured_again_and_again_takes_linear_time() {
        // Quadratic work on texts of this size would take half a minute.
        for piece in ["sk-", "ghp_", "eyJ-", "eyJa.", "-----BEGIN ", "xoxb-\u{e9}"] {
            let text = piece.repeat(1 << 16);
            let _ = redact(&text);
        }
    }
}
