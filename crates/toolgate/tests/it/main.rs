//! toolgate from outside: the built programs, spawned as a host spawns them, and the documents that speak of them.
//!
//! One binary: it is linked once. What tests share is in `support`. Nothing here changes what belongs to the process (its
//! directory, its environment, its limits): a test that needs another one starts a child with it.

#![cfg(test)]
#![expect(clippy::string_slice, reason = "a helper of a test may fail the test")]

mod allow;
#[cfg(target_os = "linux")]
mod apart;
mod approval;
mod check;
#[cfg(target_os = "linux")]
mod contained;
mod counts;
mod coverage;
mod dashboard;
mod doc_commands;
mod docs;
#[cfg(target_os = "linux")]
mod egress;
mod exec;
mod fail_closed;
mod friction;
mod gaps;
mod habits;
mod hook;
mod hosts;
mod json;
mod large_outputs;
mod late;
mod launch;
mod ledger;
mod mcp;
mod narrowed;
mod observe;
mod packs;
#[cfg(target_os = "linux")]
mod password;
mod past;
mod payloads;
mod prompt;
mod record;
mod record_fields;
mod redaction;
mod register;
mod register_hosts;
mod registered;
mod report;
mod requirements;
mod scan;
#[cfg(target_os = "linux")]
mod scenarios;
mod scrub;
mod settings;
#[cfg(target_os = "linux")]
mod shell_differential;
#[cfg(target_os = "linux")]
mod shell_specs;
mod support;
mod team;
mod team_counts;
#[path = "../../../gate/tests/it/test_machine.rs"]
mod test_machine;
mod watch;
mod why;
#[cfg(target_os = "linux")]
mod work;
mod workspace;
