//! Variables of the environment, by what they lead programs to: `variables.toml`, which the build makes texts of.

include!(concat!(env!("OUT_DIR"), "/variables.rs"));

/// Whether a program may be given this variable with this value by a command: nothing comes of it. `None` is a value that is not known.
pub(crate) fn is_harmless(name: &str, value: Option<&str>) -> bool {
    if let Some(values) = VALUES.split(' ').find_map(|entry| entry.strip_prefix(name)?.strip_prefix('=')) {
        return value.is_some_and(|value| values.split(',').any(|harmless| harmless == value));
    }
    // Names of locales and zones are names of files for the C library: `TZ=:/etc/passwd`, `LANGUAGE=../x`.
    let is_file = ["LC_", "LANG", "TZ"].iter().any(|start| name.starts_with(start))
        && value.is_none_or(|value| value.starts_with(['/', ':', '.']) || value.contains(".."));
    fits(HARMLESS, name) && !is_file
}

/// Whether every program and every shell heeds this variable, or the C library does for it.
pub fn is_heeded_everywhere(name: &str) -> bool {
    fits(EVERYWHERE, name)
}

/// Whether no program heeds this variable of those that heed nothing of the project.
pub fn is_heeded_elsewhere(name: &str) -> bool {
    (fits(ELSEWHERE, name) || fits(HARMLESS, name)) && !fits(EVERYWHERE, name)
}

fn fits(list: &str, name: &str) -> bool {
    list.split(' ').any(|word| match word.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == word,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_not_harmless() {
        for (name, value, expected) in [
            ("LC_ALL", Some("C.UTF-8"), true),
            ("LC_ALL", Some("../x"), false),
            ("TZ", Some("Europe/Berlin"), true),
            ("TZ", Some(":/home/u/x"), false),
            ("NODE_ENV", None, true),
            ("GIT_PAGER", Some("cat"), true),
            ("GIT_PAGER", Some("./x"), false),
            ("GIT_PAGER", None, false),
            ("GIT_AUTHOR_NAME", None, true),
            ("GIT_DIR", Some("x"), false),
            ("CURL_HOME", Some("."), false),
            ("TAR_OPTIONS", Some("-C .."), false),
            ("LD_PROFILE_OUTPUT", Some(".."), false),
            ("TMPDIR", Some("/tmp"), true),
            ("TMPDIR", Some(".."), false),
            ("ANYTHING", Some("1"), false),
        ] {
            assert_eq!(is_harmless(name, value), expected, "{name}={value:?}");
        }
        assert!(is_heeded_everywhere("LD_PRELOAD") && !is_heeded_elsewhere("LD_PRELOAD"));
        assert!(is_heeded_elsewhere("PYTHONPATH") && !is_heeded_elsewhere("CURL_HOME"));
    }
}
