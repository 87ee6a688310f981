//! OpenCode: what `opencode export SESSION` prints, a document for each session. The client itself keeps its sessions in a database, whose form
//! is its own. A call is a part of a message; its output is passed over unread, so memory grows with what was asked for, not with what came back.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::Value;

use crate::PastCall;

/// What a session is exported as.
#[derive(Deserialize)]
struct Export {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    info: Info,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Info {
    #[serde(rename = "sessionID")]
    session: String,
    path: Option<Place>,
    time: Option<Created>,
}

#[derive(Deserialize)]
struct Place {
    cwd: Option<String>,
}

#[derive(Deserialize)]
struct Created {
    created: Option<u64>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "callID")]
    id: Option<String>,
    tool: Option<String>,
    state: Option<State>,
}

#[derive(Deserialize)]
struct State {
    status: Option<String>,
    input: Option<Value>,
    time: Option<Began>,
}

#[derive(Deserialize)]
struct Began {
    start: Option<u64>,
}

/// Reads one export after the other. Returns how many calls, or rests of the file, were not understood.
pub(crate) fn read(text: impl BufRead, each: &mut dyn FnMut(PastCall)) -> io::Result<usize> {
    let mut unread = 0;
    for export in serde_json::Deserializer::from_reader(text).into_iter::<Export>() {
        let export = match export {
            Ok(export) => export,
            Err(error) if error.is_io() => return Err(error.into()),
            // Nobody can tell where the next one begins.
            Err(_) => return Ok(unread + 1),
        };
        for Message { info, parts } in export.messages {
            for part in parts.into_iter().filter(|part| part.kind == "tool") {
                unread += usize::from(told(&info, part, each).is_none());
            }
        }
    }
    Ok(unread)
}

fn told(info: &Info, part: Part, each: &mut dyn FnMut(PastCall)) -> Option<()> {
    let state = part.state?;
    // The model was interrupted while it still said what it wants: no hook was told.
    if state.status.as_deref() == Some("pending") {
        return Some(());
    }
    let began = state.time.and_then(|time| time.start);
    let time = began.or_else(|| info.time.as_ref()?.created);
    each(PastCall {
        session: info.session.clone(),
        id: part.id?,
        tool: part.tool?,
        input: state.input?,
        directory: info.path.as_ref().and_then(|path| path.cwd.clone()),
        time: time.map(utc),
    });
    Some(())
}

/// Milliseconds since 1970 as RFC 3339.
fn utc(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that the day that some of them have more is their last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + later;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", milliseconds % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_795_032_980_287, "2026-11-18T20:16:20.287Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(utc(milliseconds), text);
        }
        assert!(!utc(u64::MAX).is_empty());
    }
}
