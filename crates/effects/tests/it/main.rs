//! The analysis from outside, held to its budget.

mod support;
mod worst;
