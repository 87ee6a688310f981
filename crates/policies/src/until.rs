//! When an entry of the settings ends: a day or a moment, as a person writes it.
//!
//! Policies have no clock. Whoever hands out the rules in force drops what has ended first
//! ([`Settings::drop_ended`](crate::Settings::drop_ended)).

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The first second in which an entry holds no longer, since the beginning of 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Until(u64);

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Until {
    /// Reads `2026-12-31` (all of that day, UTC) or `2026-12-31T18:00Z`.
    pub fn read(text: &str) -> Option<Until> {
        let (date, time) = text.split_once('T').map_or((text, None), |(date, time)| (date, Some(time)));
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let days = days_since_1970(year, month, day)?;
        let Some(time) = time else { return Some(Until((days + 1) * DAY)) };
        let time = time.strip_suffix('Z')?;
        let [hour, minute, second] = match time.matches(':').count() {
            1 => {
                let [hour, minute] = numbers(time, ':', [2, 2])?;
                [hour, minute, 0]
            }
            _ => numbers(time, ':', [2, 2, 2])?,
        };
        let is_time = hour < 24 && minute < 60 && second < 60;
        is_time.then_some(Until(days * DAY + hour * HOUR + minute * MINUTE + second))
    }

    /// Whether it is over at this second since the beginning of 1970.
    pub fn is_over(self, now: u64) -> bool {
        now >= self.0
    }
}

/// Digits between separators, each group of exactly this many.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u64; N]> {
    let mut parts = text.split(separator);
    let mut found = [0; N];
    for (number, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = if is_number { part.parse().ok()? } else { return None };
    }
    parts.next().is_none().then_some(found)
}

/// The days from the beginning of 1970 to this day.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month.checked_sub(1)?).ok()?;
    let length = *lengths.get(before)?;
    if year < 1970 || day == 0 || day > length {
        return None;
    }
    let years: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    Some(years + lengths.iter().take(before).sum::<u64>() + day - 1)
}

impl Serialize for Until {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Until {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Until, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Until;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a day in quotes, \"2026-12-31\", or a moment, \"2026-12-31T18:00Z\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Until, E> {
                Until::read(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        // What is compiled has the number.
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(Written)
        } else {
            u64::deserialize(deserializer).map(Until)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_lasts_until_its_end_and_a_moment_until_then() {
        for (text, over) in [
            ("1970-01-01", 86_400),
            ("2000-02-29", 951_868_800),
            ("2026-11-18", 1_795_046_400),
            ("2026-11-18T01:30Z", 1_794_965_400),
            ("2026-11-18T01:30:07Z", 1_794_965_407),
        ] {
            let until = Until::read(text).unwrap_or_else(|| panic!("{text}"));
            assert!(!until.is_over(over - 1), "{text}");
            assert!(until.is_over(over), "{text}");
        }
        for wrong in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "2026-11-18T",
            "2026-11-18T01:30",
            "+026-11-18",
            "tomorrow",
        ] {
            assert_eq!(Until::read(wrong), None, "{wrong}");
        }
    }
}
