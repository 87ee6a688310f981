//! What must hold of any text: no panic, nothing changes the second time, a planted token is gone.

use proptest::prelude::*;
use toolgate_secrets::redact;

/// Pieces that rules look at, so that random texts meet them often.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<char>().prop_map(String::from),
        "[a-zA-Z0-9_-]{0,40}",
        "[ \t\n=:\"'`\\\\@/$(){}\\[\\]-]{1,4}",
        token(),
        prop::sample::select(vec![
            "ghp_",
            "github_pat_",
            "sk-",
            "sk-ant-",
            "AKIA",
            "eyJ",
            ".eyJ",
            "xoxb-",
            "://",
            "u:p@",
            "PASSWORD=",
            "token: ",
            "\"api_key\":\"",
            "secret = ",
            "Authorization: ",
            "Bearer ",
            "$VAR",
            "${VAR}",
            "$(",
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----BEGIN ",
            "-----END RSA PRIVATE KEY-----",
            "[SECRET REDACTED]",
            "[JWT REDACTED]",
            "[API_KEY",
            "REDACTED]",
            "é",
            "日",
        ])
        .prop_map(str::to_owned),
    ]
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        "gh[pousr]_[A-Za-z0-9]{36}",
        "github_pat_[A-Za-z0-9_]{82}",
        "sk-[A-Z][a-z][0-9][A-Za-z0-9]{24,60}",
        "sk-ant-api03-[A-Z][a-z][0-9][A-Za-z0-9_-]{24,60}",
        "(AKIA|ASIA)[A-Z0-9]{16}",
        "eyJ[A-Za-z0-9_-]{10,20}\\.eyJ[A-Za-z0-9_-]{10,20}\\.[A-Za-z0-9_-]{10,20}",
        "xox[abprs]-[0-9]{10}-[A-Za-z0-9]{10}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redacting_any_mix_of_pieces_twice_changes_nothing(pieces in prop::collection::vec(piece(), 0..16)) {
        let once = redact(&pieces.concat());
        let twice = redact(once.as_str());
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn redacting_any_text_twice_changes_nothing(text in any::<String>()) {
        let once = redact(&text);
        prop_assert_eq!(redact(once.as_str()), once);
    }

    #[test]
    fn a_planted_token_is_redacted(
        before in prop::collection::vec(piece(), 0..8),
        token in token(),
        after in prop::collection::vec(piece(), 0..8),
    ) {
        // Spaces around it: whatever stands there, the token is a word of its own.
        let text = format!("{} {token} {}", before.concat(), after.concat());
        prop_assert!(!redact(&text).as_str().contains(&token));
    }

    #[test]
    fn a_planted_password_is_redacted(password in "[A-Za-z0-9!%+,./-]{6,40}") {
        for text in [
            format!("DB_PASSWORD={password}"),
            format!("{{\"password\": \"{password}\"}}"),
            format!("Authorization: Bearer {password}"),
        ] {
            prop_assert!(!redact(&text).as_str().contains(&password));
        }
    }
}
