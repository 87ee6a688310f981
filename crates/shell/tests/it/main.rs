//! The promises of the parser: what bash runs is in the tree, within bounds, as other parsers see it.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests run bash and look at the clock")]
#![expect(clippy::needless_for_each, reason = "a walk over a tree reads better in one line")]

mod bounds;
mod corpus;
mod differential;
mod hidden;
mod support;
mod tree;
