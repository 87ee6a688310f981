//! How much work one call may cost: a budget that every piece of work is charged to.
//!
//! Against whom: a call that keeps the gate busy until it is late. Its author looks for an operation that nobody counts: first in the
//! analysis of the command, then in the policies that look at the result. So both pay, each from a full budget, and both report what they
//! left out: the interpreter with an unknown, [`Ruleset::decide`](crate::Ruleset::decide) with a denial.
//!
//! The budget belongs to the thread and is not an argument, so a comparison deep inside can pay. This does not show outside: the outermost
//! [`within`] begins with a full budget, and leaves none behind. One unit is about one copied byte.

use std::cell::Cell;

/// What an analysis may cost, and what judging may. The longest real scripts take a tenth of it; the processor is through with it in less than 100
/// ms, and no memory that was not paid for is held.
pub const MAX_WORK: u64 = 16 * 1024 * 1024;

thread_local! {
    /// What is left. Outside of a budget there is no end to it.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Pays for some work.
#[inline]
pub fn pay(units: usize) {
    LEFT.with(|left| left.set(left.get().saturating_sub(units as u64)));
}

/// Pays for as many units for each of so many bytes.
#[inline]
pub fn pay_for(bytes: usize, each: usize) {
    pay(bytes.saturating_mul(each));
}

/// Whether nothing is left.
#[inline]
pub fn is_spent() -> bool {
    left() == 0
}

/// What is left.
#[inline]
pub fn left() -> u64 {
    LEFT.with(Cell::get)
}

/// Spends all that is left: it is too late for more.
pub fn give_up() {
    LEFT.with(|left| left.set(0));
}

/// What was spent so far.
pub fn spent() -> u64 {
    MAX_WORK.saturating_sub(left())
}

/// Works within a budget: the one that there is, or a new one. So a call of several commands has one for all.
pub fn within<T>(work: impl FnOnce() -> T) -> T {
    struct Before(u64);
    impl Drop for Before {
        fn drop(&mut self) {
            LEFT.with(|left| left.set(self.0));
        }
    }
    let before = left();
    if before <= MAX_WORK {
        return work();
    }
    let _before = Before(before);
    LEFT.with(|left| left.set(MAX_WORK));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_for_all_that_happens_within_it() {
        within(|| {
            pay(5);
            within(|| pay(7));
            assert_eq!((spent(), is_spent()), (12, false), "one budget for all");
            give_up();
            assert!(is_spent());
        });
        assert!(!is_spent());
        within(|| assert_eq!(spent(), 0));
        pay_for(1 << 30, 1 << 10);
        assert!(!is_spent(), "nobody pays outside of a budget");
    }
}
