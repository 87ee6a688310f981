//! The promises of declared I/O, held against links, mounts, kills, full disks, threads and a model of maps.

#![cfg(test)]

mod attack;
mod custody;
mod kill;
mod model;
mod proofs;
mod quota;
mod support;
mod threads;
