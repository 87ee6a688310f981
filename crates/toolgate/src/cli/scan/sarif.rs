//! Findings as SARIF 2.1.0, written while they come: the rules, of which only those that were met are named, stand
//! behind the results.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};

use super::Report;
use super::search::{Finding, Totals};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub(super) struct Sarif<'o> {
    out: &'o mut dyn Write,
    separator: &'static str,
    rules: BTreeMap<&'static str, &'static str>,
}

impl<'o> Sarif<'o> {
    pub(super) fn begin(out: &'o mut dyn Write) -> io::Result<Sarif<'o>> {
        let schema = Value::from(SCHEMA);
        write!(
            out,
            "{{\"$schema\":{schema},\"version\":\"2.1.0\",\"runs\":[{{\"columnKind\":\"unicodeCodePoints\",\"results\":["
        )?;
        Ok(Sarif { out, separator: "\n", rules: BTreeMap::new() })
    }
}

impl Report for Sarif<'_> {
    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        self.rules.insert(finding.pattern, finding.about);
        let mut result = json!({
            "ruleId": finding.pattern,
            "level": "error",
            "message": { "text": format!("{}: {}", finding.about, finding.text) },
            "locations": [{
                "physicalLocation": {
                    "artifactLocation": { "uri": uri(&finding.path) },
                    "region": {
                        "startLine": finding.from.line,
                        "startColumn": finding.from.column,
                        "endLine": finding.to.line,
                        "endColumn": finding.to.column,
                    },
                },
            }],
            "partialFingerprints": { "toolgate/v1": finding.fingerprint },
        });
        if let (Some(commit), Some(result)) = (&finding.commit, result.as_object_mut()) {
            result.insert("properties".into(), json!({ "commit": commit }));
        }
        write!(self.out, "{}{result}", self.separator)?;
        self.separator = ",\n";
        Ok(())
    }

    fn end(&mut self, _: &Totals) -> io::Result<()> {
        let rules: Vec<Value> = self
            .rules
            .iter()
            .map(|(id, about)| json!({ "id": id, "shortDescription": { "text": about } }))
            .collect();
        let version = env!("CARGO_PKG_VERSION");
        let tool = json!({ "driver": { "name": "toolgate", "version": version, "rules": rules } });
        writeln!(self.out, "\n],\"tool\":{tool}}}]}}")
    }
}

/// A path as a reference: every byte that means something there is escaped, so that any name comes through.
fn uri(path: &Path) -> String {
    let mut uri = String::from(if path.is_absolute() { "file://" } else { "" });
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn any_file_name_becomes_a_valid_uri() {
        assert_eq!(uri(Path::new("src/a-b_c.rs")), "src/a-b_c.rs");
        assert_eq!(uri(Path::new("/tmp/x y")), "file:///tmp/x%20y");
        assert_eq!(uri(Path::new(OsStr::from_bytes(b"a:b?\n\xff"))), "a%3Ab%3F%0A%FF");
    }
}
