//! The analysis from outside, held to its budget.

mod large;
mod support;
mod worst;
