//! The promises of the ledger and of the tally, held against many writers, crashes, full disks and tampering.

#![cfg(test)]

mod apart;
mod append;
mod child;
mod crash;
mod export;
mod growth;
mod parallel;
mod position;
mod read;
mod retention;
mod seal;
mod support;
mod tally;
mod tamper;
mod tree;
