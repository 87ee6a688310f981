//! How often an agent read and wrote, how often it was refused, and how long that took.
//!
//! INVARIANT: in every [`Metrics`] that is taken, whoever counts at the same time, the count is what succeeded and what
//! failed, and what was refused is a part of what failed. No counter ever goes down. No lock is held.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};

/// The counts at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Reading.
    pub read: SideMetrics,
    /// Writing.
    pub write: SideMetrics,
}

/// One side of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SideMetrics {
    /// All attempts.
    pub count: u64,
    /// Those that came to nothing, refused ones included.
    pub failed: u64,
    /// Those that were refused: not declared, or a path that leads out.
    pub denied: u64,
    /// How long one takes: a moving average, `(old × 9 + new) / 10`, which begins at 0. In nanoseconds in JSON.
    #[serde(rename = "average_nanoseconds", serialize_with = "nanoseconds")]
    pub average: Duration,
}

fn nanoseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

impl SideMetrics {
    /// Those that came to something.
    pub fn succeeded(&self) -> u64 {
        self.count.saturating_sub(self.failed)
    }
}

impl Metrics {
    /// As Prometheus reads them, one agent's. The agent's name needs no escape: see [`crate::AgentId`].
    pub fn to_prometheus(&self, agent: &crate::AgentId) -> String {
        type Value = fn(&SideMetrics) -> u64;
        const COUNTERS: [(&str, &str, Value); 3] = [
            ("operations", "Reads and writes that were attempted.", |side| side.count),
            ("failures", "Reads and writes that failed, including refused ones.", |side| side.failed),
            (
                "denials",
                "Reads and writes that were refused: not declared, or a path that leads out.",
                |side| side.denied,
            ),
        ];
        let mut text = String::new();
        let sides = [("read", &self.read), ("write", &self.write)];
        for (name, help, value) in COUNTERS {
            let name = format!("toolgate_workspace_{name}_total");
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            for (side, metrics) in sides {
                let _ = writeln!(text, "{name}{{agent=\"{agent}\",op=\"{side}\"}} {}", value(metrics));
            }
        }
        let name = "toolgate_workspace_latency_seconds";
        let _ = writeln!(text, "# HELP {name} Moving average of how long one takes.\n# TYPE {name} gauge");
        for (side, metrics) in sides {
            let seconds = metrics.average.as_secs_f64();
            let _ = writeln!(text, "{name}{{agent=\"{agent}\",op=\"{side}\"}} {seconds:.9}");
        }
        text
    }
}

/// How an attempt came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    Denied,
}

/// The counters of a workspace.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) read: Counter,
    pub(crate) write: Counter,
}

impl Counters {
    pub(crate) fn now(&self) -> Metrics {
        Metrics { read: self.read.now(), write: self.write.now() }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counter {
    succeeded: AtomicU64,
    failed: AtomicU64,
    denied: AtomicU64,
    average: AtomicU64,
}

impl Counter {
    pub(crate) fn count(&self, outcome: Outcome, since: Instant) {
        let sample = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mean = |old: u64| Some((old.saturating_mul(9).saturating_add(sample)) / 10);
        // Never fails: the closure always has an answer.
        let _ = self.average.fetch_update(Ordering::Relaxed, Ordering::Relaxed, mean);
        match outcome {
            Outcome::Succeeded => drop(self.succeeded.fetch_add(1, Ordering::Relaxed)),
            Outcome::Failed => drop(self.failed.fetch_add(1, Ordering::Relaxed)),
            Outcome::Denied => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                // Whoever sees this one sees the one before it.
                self.denied.fetch_add(1, Ordering::Release);
            }
        }
    }

    fn now(&self) -> SideMetrics {
        // In this order: what is refused later is in neither, or in what failed.
        let denied = self.denied.load(Ordering::Acquire);
        let failed = self.failed.load(Ordering::Relaxed);
        let succeeded = self.succeeded.load(Ordering::Relaxed);
        SideMetrics {
            count: succeeded + failed,
            failed,
            denied,
            average: Duration::from_nanos(self.average.load(Ordering::Relaxed)),
        }
    }
}
