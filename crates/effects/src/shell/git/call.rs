//! One call of git: what its sub-command is asked for, and by which settings.

use super::super::text::Text;
use super::settings::InForce;
use crate::spec::Reading;

pub(in super::super) struct GitCall<'a> {
    pub(in super::super) sub: &'a str,
    pub(in super::super) reading: &'a Reading,
    pub(in super::super) operands: &'a [Text],
    /// All words behind the name of the program.
    pub(in super::super) arguments: &'a [Text],
    pub(in super::super) settings: &'a [InForce],
}
