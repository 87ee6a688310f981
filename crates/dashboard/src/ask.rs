//! What `toolgate check` and `toolgate replay` say, as the playground shows it.
//!
//! Both are asked as programs: they judge as they would on the command line, and can be ended when they take too long.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What would become of a command.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Judged {
    /// The command without its secrets; spans are places in it.
    pub(crate) command: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) effects: Vec<EffectSaid>,
    pub(crate) verdict: VerdictSaid,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerdictSaid {
    pub(crate) decision: String,
    pub(crate) findings: Vec<FindingSaid>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FindingSaid {
    pub(crate) policy: String,
    pub(crate) rule: String,
    pub(crate) decision: String,
    pub(crate) message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EffectSaid {
    #[serde(rename = "do")]
    pub(crate) does: String,
    pub(crate) path: Option<String>,
    pub(crate) reach: Option<String>,
    pub(crate) words: Vec<String>,
    pub(crate) gap: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) span: Option<[usize; 2]>,
    pub(crate) via: Vec<String>,
    pub(crate) findings: Vec<usize>,
}

/// A piece of the command, and the strictest that is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'j> {
    pub(crate) text: &'j str,
    pub(crate) said: Said,
}

/// What is said of a piece, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Said {
    Nothing,
    Effect,
    Unproved,
    Contain,
    Ask,
    Deny,
}

impl Said {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Said::Nothing => "",
            Said::Effect => "effect",
            Said::Unproved => "unproved",
            Said::Contain => "contain",
            Said::Ask => "ask",
            Said::Deny => "deny",
        }
    }
}

impl Judged {
    pub(crate) fn read(json: &[u8]) -> Result<Judged, String> {
        let judged: Judged = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if judged.verdict.decision.is_empty() {
            return Err("the answer has no verdict".to_owned());
        }
        Ok(judged)
    }

    /// What is said of one effect.
    pub(crate) fn said(&self, effect: &EffectSaid) -> Said {
        let findings = effect.findings.iter().filter_map(|number| self.verdict.findings.get(*number));
        let of_findings = findings.map(|finding| match finding.decision.as_str() {
            "deny" => Said::Deny,
            "ask" => Said::Ask,
            "contain" => Said::Contain,
            _ => Said::Effect,
        });
        let own = if effect.does == "unknown" { Said::Unproved } else { Said::Effect };
        of_findings.chain([own]).max().unwrap_or(own)
    }

    /// The command in pieces, each with the strictest that is said of it.
    pub(crate) fn pieces(&self) -> Vec<Piece<'_>> {
        let text = self.command.as_deref().unwrap_or_default();
        let spans: Vec<(usize, usize, Said)> = self
            .effects
            .iter()
            .filter_map(|effect| {
                let [start, end] = effect.span?;
                // What is no part of this text is none that was meant.
                text.get(start..end)?;
                Some((start, end, self.said(effect)))
            })
            .collect();
        let mut cuts: Vec<usize> = spans.iter().flat_map(|(start, end, _)| [*start, *end]).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        cuts.dedup();
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        for (from, to) in cuts.iter().zip(cuts.iter().skip(1)) {
            let Some(text) = text.get(*from..*to) else { continue };
            let about = spans.iter().filter(|(start, end, _)| start <= from && end >= to);
            let said = about.map(|(.., said)| *said).max().unwrap_or(Said::Nothing);
            pieces.push(Piece { text, said });
        }
        pieces
    }
}

/// What other settings would decide about the calls of the past.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Replayed {
    pub(crate) calls: u64,
    pub(crate) sessions: u64,
    pub(crate) unjudged: BTreeMap<String, u64>,
    pub(crate) changed: Option<BTreeMap<String, Group>>,
}

/// Calls whose decision changes in the same way.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Group {
    pub(crate) count: u64,
    pub(crate) examples: Vec<Example>,
}

/// One of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Example {
    pub(crate) host: String,
    pub(crate) time: Option<String>,
    pub(crate) shown: String,
    pub(crate) reason: String,
}

impl Replayed {
    pub(crate) fn read(json: &[u8]) -> Result<Replayed, String> {
        let replayed: Replayed = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if replayed.changed.is_none() {
            return Err("the answer does not say what would change".to_owned());
        }
        Ok(replayed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_command_and_bear_the_strictest_word() {
        use Said::{Deny, Effect, Nothing, Unproved};
        let judged = Judged::read(
            r#"{"command": "rm ä && ls", "effects": [
                {"do": "run", "span": [0, 5]}, {"do": "delete", "path": "/ä", "span": [3, 5], "findings": [0]},
                {"do": "unknown", "gap": "program", "span": [9, 11]}, {"do": "read", "span": [4, 900]}],
                "verdict": {"decision": "deny", "findings": [{"policy": "p", "decision": "deny", "message": "no"}]}}"#
                .as_bytes(),
        )
        .unwrap();
        let pieces: Vec<_> = judged.pieces().iter().map(|piece| (piece.text, piece.said)).collect();
        assert_eq!(pieces, [("rm ", Effect), ("ä", Deny), (" && ", Nothing), ("ls", Unproved)]);
        assert!(Judged::read(b"{}").is_err());
        assert!(Replayed::read(b"{\"calls\": 3}").is_err());
    }
}
