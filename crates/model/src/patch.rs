//! The files that a patch touches: the `*** Begin Patch` form of several hosts, and unified diffs.
//!
//! Against whom: a patch that names one file where a reader looks and another where the tool does. So every line
//! that could be a header counts as one, wherever it stands and in whichever form the patch seems to be; a line of
//! content that looks like one only adds a file that is judged too. Clients differ in what ends a line (Copilot
//! takes a lone carriage return) and in what may stand before a header (any blank, a byte order mark).

use crate::Access;

/// How a file is named in a patch between `*** Begin Patch` and `*** End Patch`.
const ENVELOPED: [(&str, Access); 4] = [
    ("add file:", Access::Write),
    ("update file:", Access::Write),
    ("delete file:", Access::Delete),
    ("move to:", Access::Write),
];

/// How a file is named in a unified diff.
const UNIFIED: [(&str, Access); 5] = [
    ("--- ", Access::Write),
    ("+++ ", Access::Write),
    ("rename from ", Access::Delete),
    ("rename to ", Access::Write),
    ("copy to ", Access::Write),
];

/// The files that the patch makes, changes or takes away, in order, by their names in it. Empty where it names
/// none: then it is no patch, or one in a form that nobody here knows.
pub fn patched(patch: &str) -> Vec<(Access, &str)> {
    let lines = || patch.split(['\n', '\r']);
    // Prose, front matter and deleted comments have lines of dashes too, but no hunks.
    let is_diff = lines().any(|line| line.starts_with("@@ -") || line.starts_with("diff "));
    lines().filter_map(|line| in_envelope(line).or_else(|| in_diff(line).filter(|_| is_diff))).collect()
}

/// The lines that the patch puts into the file of this name, without their signs. What may belong to more than one file
/// belongs to each of them.
pub fn added<'p>(patch: &'p str, name: &str) -> Vec<&'p str> {
    let lines: Vec<&str> = patch.split(['\n', '\r']).collect();
    let is_diff = patched(patch).len() > lines.iter().filter(|line| in_envelope(line).is_some()).count();
    let has_envelope = lines.iter().any(|line| in_envelope(line).is_some());
    let starts = |at: usize, start: &str| lines.get(at).is_some_and(|line| line.starts_with(start));
    let mut names: Vec<&str> = Vec::new();
    let mut added = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some((_, file)) = in_envelope(line) {
            // A file that is moved is named twice.
            if starts(at, "***") && !line.to_ascii_lowercase().contains("move to:") {
                names.clear();
            }
            names.push(file);
            continue;
        }
        if is_diff {
            // A comment of SQL that is taken out begins with three dashes too; a file's header is never alone.
            let header = starts(at, "--- ") && starts(at + 1, "+++ ") && starts(at + 2, "@@");
            if !has_envelope && (header || starts(at, "diff ")) {
                names.clear();
            }
            names.extend(in_diff(line).map(|(_, file)| file));
        }
        // Removed lines, lines around, and the heads of hunks are no news.
        if !line.starts_with(['-', ' ', '@']) && (names.is_empty() || names.contains(&name)) {
            added.push(line.strip_prefix('+').unwrap_or(line));
        }
    }
    added
}

fn in_envelope(line: &str) -> Option<(Access, &str)> {
    let bare = line.trim_start_matches(|c: char| !c.is_ascii_graphic());
    let header = bare.strip_prefix("***")?.trim_start();
    ENVELOPED.iter().find_map(|(word, access)| {
        let (start, name) = header.split_at_checked(word.len())?;
        // One blank divides. Whether a second one belongs to the name, clients do not agree on: it stays, and no
        // path that begins with a blank is judged.
        let name = name.strip_prefix(' ').unwrap_or(name).trim_end();
        start.eq_ignore_ascii_case(word).then_some((*access, name))
    })
}

fn in_diff(line: &str) -> Option<(Access, &str)> {
    let (access, name) =
        UNIFIED.iter().find_map(|(word, access)| Some((*access, line.strip_prefix(word)?)))?;
    // A date may follow the name.
    let name = name.split('\t').next().unwrap_or_default().trim().trim_matches('"');
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    (!matches!(name, "" | "/dev/null" | "dev/null")).then_some((access, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_patch_is_listed() {
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+*** Add File: content\n*** Update File: a.txt\n\
                     *** Move to: ../b.txt\n@@\n-a\n+A\n  *** delete file: d e.txt \r\n*** End Patch\n";
        assert_eq!(
            patched(patch),
            [
                (Access::Write, "new.txt"),
                (Access::Write, "a.txt"),
                (Access::Write, "../b.txt"),
                (Access::Delete, "d e.txt"),
            ]
        );
    }

    #[test]
    fn every_file_of_a_diff_is_listed() {
        let diff = "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\t2026-01-01\n@@ -1 +1 @@\n-a\n+b\n\
                    --- /dev/null\n+++ \"/etc/cron.d/z\"\n";
        assert_eq!(
            patched(diff),
            [
                (Access::Delete, "x"),
                (Access::Write, "y"),
                (Access::Write, "x"),
                (Access::Write, "y"),
                (Access::Write, "/etc/cron.d/z"),
            ]
        );
    }

    #[test]
    fn a_header_counts_wherever_a_client_accepts_it() {
        for patch in [
            "*** Begin Patch\n*** Add File: a\n+x\r*** Add File: /b\n+x\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n+x\n\u{feff}*** Add File: /b\n+x\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n+x\n\u{a0}\t*** Add File: /b\n+x\n*** End Patch",
            "\u{feff}*** Begin Patch\n*** Add File: a\n+++ c\n*** Update File: /b\n@@ \n-x\n*** End Patch",
            "hello\n*** Add File: a\n***Add file:/b\n",
        ] {
            assert_eq!(patched(patch), [(Access::Write, "a"), (Access::Write, "/b")], "{patch:?}");
        }
    }

    #[test]
    fn a_patch_in_both_forms_lists_the_files_of_both() {
        let patch =
            "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n";
        assert_eq!(patched(patch), [(Access::Write, "a"), (Access::Write, "b"), (Access::Write, "b")]);
    }

    #[test]
    fn added_lines_belong_to_their_file() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n around\n-old\n+new\n*** Move to: b\n+more\n\
                     *** Add File: c\n+other\n";
        assert_eq!(added(patch, "a"), ["*** Begin Patch", "new", "more"]);
        assert_eq!(added(patch, "b"), ["*** Begin Patch", "more"]);
        assert_eq!(added(patch, "c"), ["*** Begin Patch", "other", ""]);
        let diff = "--- a/x.sql\n+++ b/x.sql\n@@ -1 +1,2 @@\n--- a comment\n+++ b\n+one\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+two";
        assert!(added(diff, "x.sql").contains(&"one") && !added(diff, "x.sql").contains(&"two"));
        assert!(added(diff, "y").contains(&"two") && !added(diff, "y").contains(&"one"));
    }

    #[test]
    fn a_second_blank_before_a_name_is_part_of_it() {
        assert_eq!(patched("*** Add File:  link\n"), [(Access::Write, " link")]);
    }

    #[test]
    fn a_text_that_is_not_a_patch_lists_no_files() {
        assert_eq!(patched("--- title: x\n+++ y\n"), []);
        assert_eq!(patched(""), []);
    }
}
