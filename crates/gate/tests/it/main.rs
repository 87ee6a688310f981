//! The whole line in a test, without a process.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests make the disk that the line looks at")]

mod line;
mod test_machine;
