//! The promises of the parser: what bash runs is in the tree, within bounds, as other parsers see it.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests run bash and look at the clock")]

mod bounds;
mod corpus;
mod differential;
mod hidden;
mod support;
mod tree;
