//! The ledger's promises, held against many writers, crashes, full disks and tampering.

#[cfg(test)]
mod append;
#[cfg(test)]
mod child;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod parallel;
#[cfg(test)]
mod position;
#[cfg(test)]
mod read;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tamper;
