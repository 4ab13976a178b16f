//! Days as people write them.

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_day_is_that_of_utc() {
        assert_eq!(day(UNIX_EPOCH), "1970-01-01");
        assert_eq!(day(UNIX_EPOCH + Duration::from_secs(951_868_799)), "2000-02-29");
        assert_eq!(day(UNIX_EPOCH + Duration::from_secs(951_868_800)), "2000-03-01");
    }
}
