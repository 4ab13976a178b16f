//! Numbers inside of sentences and formulas.

use tamis_make::number;

/// `one in 46`; of what always or never happens, that.
pub fn one_in(rate: f64) -> String {
    if rate >= 0.5 {
        return format!("{} of all", number::percent(rate));
    }
    if rate <= 0.0 {
        return "none".to_owned();
    }
    // No more digits than can be meant: one in 46, one in 1,230.
    let others = 1.0 / rate;
    let digits = if others < 99.5 { 2 } else { 3 };
    let unit = 10f64.powf(others.log10().floor() - f64::from(digits - 1));
    format!("one in {}", number::significant((others / unit).round() * unit, 3))
}

/// `⁶`: an exponent.
pub fn raised(exponent: u32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    exponent.to_string().bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect()
}

/// How far an exact number is above (or below) an approximation of it, in per cent.
pub fn apart(exact: f64, approximation: f64) -> String {
    let part = exact / approximation - 1.0;
    if !part.is_finite() {
        return "–".to_owned();
    }
    if part.abs() < 1e-13 {
        return "0 %".to_owned(); // less than such numbers can tell
    }
    let sign = if part > 0.0 { "+" } else { "" };
    format!("{sign}{} %", number::significant(part * 100.0, 3))
}

/// A plain number of some digits.
pub fn plain(value: f64) -> String {
    number::significant(value, 4)
}

/// `1 hash function`, `6 hash functions`.
pub fn functions(hashes: u32) -> String {
    number::counted(u64::from(hashes), "hash function")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well_inside_of_sentences() {
        assert_eq!((one_in(0.0216).as_str(), one_in(1e-6).as_str()), ("one in 46", "one in 1,000,000"));
        assert_eq!((one_in(3.6e-6).as_str(), one_in(0.3).as_str()), ("one in 278,000", "one in 3.3"));
        assert_eq!((one_in(0.75).as_str(), one_in(0.0).as_str()), ("75 % of all", "none"));
        assert_eq!(raised(16), "¹⁶");
        assert_eq!(apart(0.011, 0.010), "+10 %");
        assert_eq!((apart(1.0, 1.0).as_str(), apart(1.0, 0.0).as_str()), ("0 %", "–"));
        assert_eq!(apart(0.99, 1.0), "-1 %");
    }
}
