//! Who seals the log, up to where it is sealed and anchored, and how long a client keeps what the log can be compared with.

use std::time::{Duration, SystemTime};

use toolgate_evidence::proof::Standing;

use super::{Check, Status, Subject};
use crate::apart::{SEALER, System};

const ID: &str = "log";

/// A timer that runs each minute has sealed what is older, and so has the sealer that calls start.
const LATE: Duration = Duration::from_mins(15);

/// Names the levels that hold here, and says up to where.
pub(super) fn examine(subject: &Subject<'_>) -> Vec<Check> {
    let state = &subject.dirs.state;
    let standing = match Standing::of(state) {
        Ok(standing) => standing,
        Err(error) => {
            return vec![
                Check::new(ID, Status::Warn, format!("the seal of the log cannot be read: {error}"))
                    .help("`toolgate ledger verify` says more"),
            ];
        }
    };
    let Standing { records, sealed, anchored, time, written } = standing;
    let text = match sealed {
        0 => format!("none of {records} records is sealed yet; your own user seals them (level own)"),
        _ => format!("your own user has sealed it up to record {sealed} of {records} (level own)"),
    };
    // Calls have come for long since, and each of them would have started the sealer.
    let is_stuck = sealed < records
        && time
            .zip(written)
            .is_some_and(|(seal, last)| last.duration_since(seal).is_ok_and(|age| age > LATE));
    let mut checks = vec![if is_stuck {
        Check::new(ID, Status::Warn, format!("{text}, and the sealer has not gone on since"))
            .help("`toolgate ledger seal` says why")
    } else {
        Check::new(ID, Status::Info, text)
    }];
    if let Some(seen) = System::of(&subject.places.etc).seen(state) {
        let problem =
            seen.refused.or(seen.damaged.map(|path| format!("`{}` is not as it should be", path.display())));
        checks.push(match (problem, seen.checkpoint) {
            (Some(why), _) => {
                Check::new(ID, Status::Warn, format!("the system user `{SEALER}` does not seal it: {why}"))
                    .help("`toolgate ledger verify` says more")
            }
            (None, None) => {
                let text = format!("the system user `{SEALER}` has not sealed any of it yet (level apart)");
                Check::new(ID, Status::Info, text)
            }
            (None, Some(checkpoint)) => {
                let size = checkpoint.size;
                let text = format!(
                    "the system user `{SEALER}` has sealed it up to record {size} of {records}, at {} (level apart)",
                    seen.time
                );
                // What the person has sealed long ago, a timer that runs has sealed too.
                let is_late = time.is_some_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > LATE));
                if is_late && size < sealed {
                    Check::new(ID, Status::Warn, text)
                        .help("the timer does not run: `systemctl status toolgate-seal.timer`")
                } else {
                    Check::new(ID, Status::Ok, text)
                }
            }
        });
    }
    checks.push(Check::new(
        ID,
        Status::Info,
        match anchored {
            0 => "none of it is signed or stamped elsewhere (`toolgate ledger anchor`)".to_owned(),
            _ => format!("signed or stamped elsewhere up to record {anchored}"),
        },
    ));
    checks
}
