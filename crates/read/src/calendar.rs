//! Days and moments as people and programs write them.

use std::time::{SystemTime, UNIX_EPOCH};

/// The day of a moment, in UTC: `2026-11-15`.
pub fn day(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil((seconds / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar for all time.
///
/// Years are taken to begin in March, so that the leap day is their last; 400 such years have
/// 146,097 days, and five months from March on have 153.
pub(crate) fn civil(days: i64) -> (i64, u64, u64) {
    const FROM_0000_03_01: i64 = 719_468;
    const ERA: i64 = 146_097;
    let era = (days + FROM_0000_03_01).div_euclid(ERA);
    let day_of_era = (days + FROM_0000_03_01).rem_euclid(ERA);
    // One day less per 4 years (1,460 days), one more per 100, one less at the very end of 400.
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u64, day as u64)
}

/// The day of this date, counted from 1970-01-01: what [`civil`] takes apart.
fn days(year: i64, month: u64, day: u64) -> i64 {
    let march_year = year - i64::from(month <= 2);
    let march_month = if month > 2 { month - 3 } else { month + 9 } as i64;
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let day_of_year = (153 * march_month + 2) / 5 + day as i64 - 1;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// What a number that tells a moment counts, from 1970 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Thousandths of a second.
    Millis,
    /// Millionths.
    Micros,
    /// Billionths.
    Nanos,
}

impl Unit {
    /// How it is written behind the name of a column.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Millis => "ms",
            Unit::Micros => "us",
            Unit::Nanos => "ns",
        }
    }

    /// The unit of this name.
    pub fn of(name: &str) -> Option<Unit> {
        [Unit::Seconds, Unit::Millis, Unit::Micros, Unit::Nanos].into_iter().find(|unit| unit.name() == name)
    }

    /// What a number of this size counts, if it tells a moment between about 1973 and 5138.
    fn by_size(number: u64) -> Unit {
        match number {
            0..100_000_000_000 => Unit::Seconds,
            100_000_000_000..100_000_000_000_000 => Unit::Millis,
            100_000_000_000_000..100_000_000_000_000_000 => Unit::Micros,
            _ => Unit::Nanos,
        }
    }
}

/// Milliseconds since 1970 of a moment in any of these forms; parts of them are cut off:
///
/// - a number of seconds (with a fraction or not), milliseconds, microseconds or nanoseconds since
///   1970, told by its size where the unit is not given; a number of less than nine digits (before 1973)
///   needs the unit, as it may be a year (`2025`), a month or a day of the year (`2025274`);
/// - RFC 3339 and the like: `2026-11-15T12:34:56.5+01:00`, `2026-11-15 12:34`, `2026-11-15`;
/// - the same in digits alone: `20261115`, `202611151234`, `20261115123456`, `20261115T123456Z`. Eight
///   digits are never a number of seconds, unless that is said, and twelve or fourteen are a date where
///   they can be one of the years 1900 to 2199;
/// - as web servers log it: `[15/Nov/2026:12:34:56 +0100]`.
///
/// Without a zone it is UTC. Nothing where it is none of them, or no day of the calendar.
pub fn moment(text: &[u8], unit: Option<Unit>) -> Option<i64> {
    let text = text.trim_ascii();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match text.get(digits) {
        _ if text.first() == Some(&b'-') => number(&text[1..], unit).map(|millis| -millis),
        None if unit.is_none() && digits == 8 => compact(text),
        Some(b'.') if unit.is_none() && digits == 8 && text[9..].iter().all(|&byte| byte == b'0') => {
            compact(&text[..8])
        }
        None if unit.is_none() && matches!(digits, 12 | 14) && has_a_year(text) => {
            compact(text).or_else(|| number(text, unit))
        }
        None | Some(b'.') if unit.is_none() && digits < FEWEST_DIGITS => None,
        None | Some(b'.') => number(text, unit),
        // Digits are a date only where no unit says that they are a number.
        _ if unit.is_some() => None,
        Some(b'-') => date_time(text),
        Some(b'T' | b't') if digits == 8 => compact(text),
        _ => logged(text),
    }
}

/// A number of fewer digits may be anything.
const FEWEST_DIGITS: usize = 9;

/// Whether digits begin with a year that people write.
fn has_a_year(text: &[u8]) -> bool {
    matches!(text, [b'1', b'9', ..] | [b'2', b'0' | b'1', ..])
}

fn number(text: &[u8], unit: Option<Unit>) -> Option<i64> {
    let (whole, fraction) = match text.iter().position(|&byte| byte == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b""[..]),
    };
    let count = digits(whole)?;
    let thousandths = thousandths(fraction)?;
    let millis = match unit.unwrap_or(Unit::by_size(count)) {
        Unit::Seconds => count.checked_mul(1000)?.checked_add(thousandths)?,
        Unit::Millis => count,
        Unit::Micros => count / 1_000,
        Unit::Nanos => count / 1_000_000,
    };
    i64::try_from(millis).ok()
}

/// A number of one digit or more, and nothing else.
fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The first three digits of a fraction, however many it has.
fn thousandths(fraction: &[u8]) -> Option<u64> {
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let first = fraction.iter().copied().chain([b'0'; 3]).take(3);
    Some(first.fold(0, |number, digit| 10 * number + u64::from(digit - b'0')))
}

/// Reads a text from its beginning.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn number(&mut self, length: usize) -> Option<u64> {
        let number = digits(self.0.get(..length)?)?;
        self.0 = &self.0[length..];
        Some(number)
    }

    fn eat(&mut self, any: &[u8]) -> bool {
        let found = self.0.first().is_some_and(|byte| any.contains(byte));
        self.0 = &self.0[usize::from(found)..];
        found
    }

    /// `12:34`, `12:34:56`, `12:34:56.789`, as milliseconds of the day.
    fn time_of_day(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        let minute = self.eat(b":").then(|| self.number(2))??;
        let (mut second, mut millis) = (0, 0);
        if self.eat(b":") {
            second = self.number(2)?;
            if self.eat(b".,") {
                let length = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
                millis = thousandths(&self.0[..length]).filter(|_| length > 0)?;
                self.0 = &self.0[length..];
            }
        }
        // The 60th second is one that is put in now and then.
        let possible = hour < 24 && minute < 60 && second <= 60;
        possible.then_some((((hour * 60 + minute) * 60 + second) * 1000 + millis) as i64)
    }

    /// How far a zone is ahead of UTC, in milliseconds, at the end of the text.
    fn zone(&mut self) -> Option<i64> {
        let zone = match self.0 {
            b"" => 0,
            b"Z" | b"z" | b"UTC" | b" UTC" | b" Z" | b"GMT" | b" GMT" => return Some(0),
            _ => {
                self.eat(b" ");
                let sign = match self.0.first()? {
                    b'+' => 1,
                    b'-' => -1,
                    _ => return None,
                };
                self.0 = &self.0[1..];
                let hours = self.number(2)?;
                self.eat(b":");
                let minutes = if self.0.is_empty() { 0 } else { self.number(2)? };
                (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) as i64 * 60_000)?
            }
        };
        self.0.is_empty().then_some(zone)
    }
}

fn day_of(year: u64, month: u64, day: u64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days(year as i64, month, day);
    (civil(days) == (year as i64, month, day)).then_some(days * 86_400_000)
}

fn date_time(text: &[u8]) -> Option<i64> {
    let mut rest = Cursor(text);
    let year = rest.number(4)?;
    let month = rest.eat(b"-").then(|| rest.number(2))??;
    let day = rest.eat(b"-").then(|| rest.number(2))??;
    let date = day_of(year, month, day)?;
    if rest.0.is_empty() {
        return Some(date);
    }
    let time = rest.eat(b"Tt ").then(|| rest.time_of_day())??;
    Some(date + time - rest.zone()?)
}

/// Digits alone: a day, or a day and a time.
fn compact(text: &[u8]) -> Option<i64> {
    let mut rest = Cursor(text);
    let date = day_of(rest.number(4)?, rest.number(2)?, rest.number(2)?)?;
    if rest.0.is_empty() {
        return Some(date);
    }
    rest.eat(b"Tt");
    let (hour, minute) = (rest.number(2)?, rest.number(2)?);
    let has_seconds = rest.0.first().is_some_and(u8::is_ascii_digit);
    let second = if has_seconds { rest.number(2)? } else { 0 };
    let possible = hour < 24 && minute < 60 && second <= 60;
    let time = possible.then_some(((hour * 60 + minute) * 60 + second) as i64 * 1000)?;
    Some(date + time - rest.zone()?)
}

/// As web servers write it, with its brackets or without. A bracket that is not closed was cut off, and the
/// zone with it: that is no moment.
fn logged(text: &[u8]) -> Option<i64> {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let mut rest = Cursor(match text.strip_prefix(b"[") {
        Some(text) => text.strip_suffix(b"]")?,
        None => text,
    });
    let day = rest.number(2)?;
    let name = rest.eat(b"/").then(|| rest.0.get(..3))??;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    rest.0 = &rest.0[3..];
    let year = rest.eat(b"/").then(|| rest.number(4))??;
    let time = rest.eat(b":").then(|| rest.time_of_day())??;
    Some(day_of(year, month, day)? + time - rest.zone()?)
}

/// A moment for people, in UTC, to the second: `2026-11-15T12:34:56Z`.
pub fn stamp(millis: i64) -> String {
    let seconds = millis.div_euclid(1000);
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Milliseconds since 1970 of a moment of this machine's clock.
pub fn millis(moment: SystemTime) -> i64 {
    let whole = |since: std::time::Duration| i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    match moment.duration_since(UNIX_EPOCH) {
        Ok(since) => whole(since),
        Err(before) => -whole(before.duration()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_day_is_that_of_utc() {
        assert_eq!(day(UNIX_EPOCH), "1970-01-01");
        assert_eq!(day(UNIX_EPOCH + Duration::from_secs(951_868_799)), "2000-02-29");
        assert_eq!(day(UNIX_EPOCH + Duration::from_secs(951_868_800)), "2000-03-01");
    }

    #[test]
    fn moments_are_read_in_the_forms_that_programs_write() {
        let noon = 1_794_746_096_000; // 2026-11-15T12:34:56Z
        for text in [
            "2026-11-15T12:34:56Z",
            "2026-11-15t12:34:56z",
            "2026-11-15 12:34:56",
            "2026-11-15 12:34:56 UTC",
            " 2026-11-15T13:34:56+01:00 ",
            "2026-11-15T05:04:56-0730",
            "2026-11-15T13:34:56 +01",
            "2026-11-15T12:34:56.0009Z",
            "1794746096",
            "1794746096.0005",
            "1794746096000",
            "1794746096000999",
            "1794746096000999999",
            "[15/Nov/2026:12:34:56]",
            "[15/Nov/2026:13:34:56 +0100]",
            "15/Nov/2026:13:34:56 +0100",
            "15/Nov/2026:05:04:56 -0730",
            "15/Nov/2026:12:34:56",
            "20261115123456",
            "20261115T123456Z",
            "20261115T133456+0100",
        ] {
            assert_eq!(moment(text.as_bytes(), None), Some(noon), "{text}");
        }
        let day = moment(b"2025-10-01", None);
        assert_eq!((moment(b"20251001", None), moment(b" 20251001.0 ", None)), (day, day));
        assert_eq!(moment(b"20251001", Some(Unit::Seconds)), Some(20_251_001_000));
        assert_eq!(moment(b"99999999999999", None), Some(99_999_999_999_999), "no day: milliseconds");
        assert_eq!(moment(b"2026-11-15T12:34:56.789Z", None), Some(noon + 789));
        assert_eq!(moment(b"2026-11-15T12:34:56,7", None), Some(noon + 700));
        assert_eq!(moment(b"1794746096.789123", None), Some(noon + 789));
        assert_eq!(moment(b"2026-11-15 12:34", None), Some(noon - 56_000));
        assert_eq!(moment(b"2026-11-15", None), Some(noon - (12 * 3600 + 34 * 60 + 56) * 1000));
        assert_eq!(moment(b"2016-12-31T23:59:60Z", None), moment(b"2017-01-01T00:00:00Z", None));
        assert_eq!(moment(b"-1.5", None), Some(-1500));
        assert_eq!(moment(b"0", Some(Unit::Seconds)), Some(0));
        for minute in ["202611151234", "20261115T1234", "20261115T1334+0100"] {
            assert_eq!(moment(minute.as_bytes(), None), Some(noon - 56_000), "{minute}");
        }
        assert_eq!(moment(b"202613011255", None), Some(202_613_011_255), "no day: milliseconds");
        assert_eq!(moment(b"100000000", None), Some(100_000_000_000));
    }

    #[test]
    fn a_unit_that_is_given_is_that_of_the_number() {
        let read = |unit| moment(b"86400000", Some(unit));
        assert_eq!(read(Unit::Millis), Some(86_400_000));
        assert_eq!(read(Unit::Micros), Some(86_400));
        assert_eq!(read(Unit::Nanos), Some(86));
        assert_eq!(read(Unit::Seconds), Some(86_400_000_000));
        assert_eq!(moment(b"2026-11-15", Some(Unit::Millis)), None);
        assert_eq!(Unit::of("us"), Some(Unit::Micros));
        assert_eq!(Unit::of("min"), None);
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            " ",
            "-",
            ".",
            "1.2.3",
            "1e9",
            "yesterday",
            "12:34",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "2026-11-15T",
            "2026-11-15T24:00",
            "2026-11-15T12",
            "2026-11-15T12:60",
            "2026-11-15T12:34:56.Z",
            "2026-11-15T12:34:56Q",
            "2026-11-15T12:34:56+",
            "2026-11-15T12:34:56+1",
            "2026-11-15T12:34:56+25:00",
            "2026-11-15T12:34:56Z ago",
            "99999999999999999999",
            "20250230",
            "20251301",
            "10000000",
            "20251001T",
            "20251001T246000",
            "20251001T123",
            "0",
            "2025",
            "202510",
            "2025274",
            "2025274.0",
            "20251001.5",
            "15/Nov/2026",
            "[15/Nov/2026:12:34:56",
            "[15/Nov/2026:12:34:56 +0100",
            "15/Nov/2026:12:34:56 +0100]",
            "15/Foo/2026:12:34:56",
            "31/Feb/2026:12:34:56",
            "-2026-11-15",
            "+5",
            "1794746096s",
            "\u{661}\u{662}",
        ] {
            assert_eq!(moment(text.as_bytes(), None), None, "{text}");
        }
        assert_eq!(moment(b"18446744073709551615", Some(Unit::Seconds)), None);
        assert_eq!(moment(b"18446744073709551615", Some(Unit::Millis)), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(seconds in -62_000_000_000i64..250_000_000_000) {
            let text = stamp(seconds * 1000);
            prop_assert_eq!(moment(text.as_bytes(), None), Some(seconds * 1000), "{}", text);
        }

        #[test]
        fn no_bytes_are_too_much(bytes: Vec<u8>) {
            moment(&bytes, None);
            moment(&bytes, Some(Unit::Seconds));
        }
    }
}
