//! How numbers are written for people.
//!
//! Decimal units, thousands separated by commas, no more digits than can be read, and no digit
//! that hides a difference that matters: `100 %` is said of the whole only.
//!
//! Small numbers have one notation, alone and in a table: decimals down to `SMALLEST`, exponents below
//! it. So a rate reads the same wherever it is told.

use std::time::Duration;

/// A count, with its thousands set apart: `1,260,817`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A product of counts, in the same way.
pub fn product(n: u128) -> String {
    grouped(&n.to_string())
}

/// This many of something: `1 row`, `1,260,817 rows`.
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// The exponent of the smallest numbers without one: 0.00001. People can count the zeros of these, and with four
/// significant digits they have eight decimals.
const SMALLEST: i32 = -5;

/// A rate or any other plain number, to four significant digits: `0.0101`, `0.00005543`, `9.8e-7`, `12,346`.
pub fn rate(value: f64) -> String {
    significant(value, 4)
}

/// A rate of two digits that is at most this one.
pub fn rounded_down(value: f64) -> String {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    significant((value / unit).floor() * unit, 2)
}

/// How the rates of one report are written: all with the same decimals, or all with exponents, so that they can be
/// compared by eye.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rates {
    /// With this many decimals: `0.00005543`.
    Fixed(usize),
    /// With exponents: `5.543e-9`.
    Scientific,
}

impl Rates {
    /// The most decimals: those of the smallest number, with four digits.
    const MOST: f64 = (3 - SMALLEST) as f64;

    /// The notation for these: four significant digits of the median, and two of each that is not below a thousandth
    /// of it, if that is not too many decimals. What is far below most is only said to be less than can be written.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Rates {
        let mut counted: Vec<f64> =
            values.into_iter().map(f64::abs).filter(|&value| value > 0.0 && value < 1e15).collect();
        counted.sort_by(f64::total_cmp);
        let Some(&median) = counted.get(counted.len() / 2) else { return Rates::Fixed(0) };
        let least = counted.iter().copied().find(|&value| value >= median / 1000.0).unwrap_or(median);
        // A value just below a power of ten is written as that power.
        let decimals = |value: f64, digits: f64| digits - 1.0 - (value * (1.0 + 1e-12)).log10().floor();
        let decimals = decimals(median, 4.0).max(decimals(least, 2.0)).max(0.0);
        if decimals <= Rates::MOST { Rates::Fixed(decimals as usize) } else { Rates::Scientific }
    }

    /// One of the rates; none at all is `0` in either notation.
    pub fn text(self, value: f64) -> String {
        match self {
            Rates::Fixed(decimals) if value != 0.0 && value.abs() < 1e15 => {
                let unit = 10f64.powi(-(decimals as i32));
                match value.abs() < unit / 2.0 {
                    true => format!("<{}", fixed(unit, decimals, false)),
                    false => fixed(value, decimals, false),
                }
            }
            Rates::Scientific if value != 0.0 && value.is_finite() => {
                let written = format!("{value:.3e}");
                let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
                let mantissa = trimmed(mantissa);
                if exponent == "0" { mantissa.into() } else { format!("{mantissa}e{exponent}") }
            }
            _ => significant(value, 4),
        }
    }

    /// The same without zeros at the end, for a sentence.
    pub fn brief(self, value: f64) -> String {
        let text = self.text(value);
        if text.contains('e') { text } else { trimmed(&text).to_owned() }
    }

    /// Both ends of an interval: `0.00984–0.01019`. A lower end that is less than can be written is 0.
    pub fn interval(self, (low, high): (f64, f64)) -> String {
        let low = self.text(low);
        format!("{}–{}", if low.starts_with('<') { "0" } else { &low }, self.text(high))
    }
}

/// A part of a whole (0.5), as percent (`50 %`). Only the whole is `100 %`.
pub fn percent(part: f64) -> String {
    if part < 1.0 && part > 0.99995 {
        return ">99.99 %".to_owned();
    }
    let hundredths = part * 100.0;
    let hundredths = if part.is_finite() { hundredths.clamp(f64::MIN, f64::MAX) } else { hundredths };
    with_unit(significant(hundredths, 4), "%")
}

/// A size in decimal units, to three significant digits: `1.5 MB`.
pub fn bytes(n: u64) -> String {
    bytes_of(n as f64)
}

/// A size that is at least this one, as an option takes it.
pub fn megabytes(n: u64) -> String {
    format!("{}MB", n.div_ceil(1_000_000))
}

/// A duration: `24 ms`, `1.2 s`, `3 min 20 s`.
pub fn duration(time: Duration) -> String {
    seconds(time.as_secs_f64())
}

/// A duration in seconds, in the same way.
pub fn seconds(time: f64) -> String {
    if time < 0.0 {
        return format!("-{}", seconds(-time));
    }
    let pair = |whole: f64, unit: &str, rest: f64, small: &str| {
        let (whole, rest) = (significant(whole, 4), if whole < 1e6 { rest } else { 0.0 });
        if rest == 0.0 { format!("{whole} {unit}") } else { format!("{whole} {unit} {rest} {small}") }
    };
    if !time.is_finite() || time == 0.0 {
        with_unit(significant(time, 3), "s")
    } else if time < 59.95 {
        let unit = [(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms")]
            .into_iter()
            .find(|(size, _)| time / size < 999.5)
            .unwrap_or((1.0, "s"));
        with_unit(significant(time / unit.0, 3), unit.1)
    } else if time < 3599.5 {
        let time = time.round();
        pair((time / 60.0).floor(), "min", time % 60.0, "s")
    } else if time < 86_370.0 {
        let minutes = (time / 60.0).round();
        pair((minutes / 60.0).floor(), "h", minutes % 60.0, "min")
    } else {
        let hours = (time / 3600.0).round();
        pair((hours / 24.0).floor(), "d", hours % 24.0, "h")
    }
}

/// A count in few characters: `950`, `1,260`, `12.6k`, `1.26M`.
pub fn short(value: f64) -> String {
    if value.abs() < 9_999.5 {
        return significant(value, 4);
    }
    scaled(value, &["", "k", "M", "G", "T", "P", "E"]).concat()
}

/// A number of bytes with its unit, in powers of 1000.
pub fn bytes_of(value: f64) -> String {
    let [number, unit] = scaled(value, &["B", "kB", "MB", "GB", "TB", "PB", "EB"]);
    with_unit(number, &unit)
}

/// The number and the unit, the smallest of the steps of a thousand that gives three digits.
fn scaled(value: f64, units: &[&str]) -> [String; 2] {
    let mut value = value;
    let mut unit = 0;
    while value.is_finite() && value.abs() >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    [significant(value, 3), units[unit].to_owned()]
}

fn with_unit(number: String, unit: &str) -> String {
    if number == "–" { number } else { format!("{number} {unit}") }
}

/// A number to this many significant digits, without trailing zeros; the digits of the integer part
/// all stand. Those below 0.00001 and very large ones are written as `9.8e-7`, what is not a number as a dash.
pub fn significant(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = digits.max(1);
    // Rounded first: the exponent is that of the number as written.
    let written = format!("{:.*e}", digits - 1, value);
    let Some((mantissa, exponent)) = written.split_once('e') else { return written };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(SMALLEST..15).contains(&exponent) {
        return format!("{}e{exponent}", trimmed(mantissa));
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    fixed(value, decimals, true)
}

/// A number with this many decimals, thousands set apart.
pub fn fixed(value: f64, decimals: usize, trim: bool) -> String {
    let written = format!("{value:.decimals$}");
    let text = grouped(if trim { trimmed(&written) } else { &written });
    // Rounded to nothing, a negative number has no sign.
    if text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) { text.replace('-', "") } else { text }
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_have_their_thousands_set_apart() {
        let written: Vec<String> = [0, 7, 999, 1000, 1_260_817].map(count).into();
        assert_eq!(written, ["0", "7", "999", "1,000", "1,260,817"]);
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(product(u128::from(u64::MAX) + 1), "18,446,744,073,709,551,616");
    }

    #[test]
    fn rates_have_four_significant_digits() {
        let written: Vec<String> =
            [0.0101, 9.8e-7, 0.100_712, 0.0001, 0.000_099_999_9, 1.0, 0.0, -0.25, 12_345.6, 1e18]
                .map(rate)
                .into();
        assert_eq!(
            written,
            ["0.0101", "9.8e-7", "0.1007", "0.0001", "0.0001", "1", "0", "-0.25", "12,346", "1e18"]
        );
    }

    #[test]
    fn a_rate_alone_has_the_notation_of_a_report() {
        let written: Vec<String> = [0.000_066_63, 0.000_05, 0.000_010_01, 0.00001, 9.999e-6].map(rate).into();
        assert_eq!(written, ["0.00006663", "0.00005", "0.00001001", "0.00001", "9.999e-6"]);
        for value in [0.25, 0.01, 0.000_066_63, 0.000_010_01, 0.00001, 9.999e-6, 5.543e-9, 1e-15] {
            assert_eq!(rate(value), Rates::of([value]).brief(value));
        }
    }

    #[test]
    fn the_rates_of_a_report_have_one_notation() {
        let written = |values: &[f64]| {
            let rates = Rates::of(values.iter().copied());
            values.iter().map(|&value| rates.text(value)).collect::<Vec<_>>()
        };
        assert_eq!(written(&[0.010_17, 0.009_854, 0.01, 0.0]), ["0.01017", "0.00985", "0.01000", "0"]);
        assert_eq!(
            written(&[0.000_055_43, 0.000_046_29, 0.000_066_38]),
            ["0.00005543", "0.00004629", "0.00006638"]
        );
        assert_eq!(written(&[0.01, 0.000_055_43]), ["0.010000", "0.000055"]);
        assert_eq!(written(&[0.01, 0.02, 3e-15, 0.46]), ["0.01000", "0.02000", "<0.00001", "0.46000"]);
        assert_eq!(written(&[1e-9, 9.8e-9, f64::NAN, 0.0, 1.0]), ["1e-9", "9.8e-9", "–", "0", "1"]);
        assert_eq!(written(&[12_345.6, 1.0]), ["12,346", "1"]);
        assert_eq!(written(&[]), Vec::<String>::new());
        assert_eq!(Rates::of([0.010_19]).interval((0.009_839, 0.010_19)), "0.00984–0.01019");
        assert_eq!([0.01, 0.034_51].map(|rate| Rates::of([0.01, 0.034_51]).brief(rate)), ["0.01", "0.03451"]);
        assert_eq!(Rates::of([1e-12]).interval((0.0, 1.5e-12)), "0–1.5e-12");
        assert_eq!(Rates::of([0.01]).interval((1e-9, 0.01)), "0–0.01000");
    }

    #[test]
    fn what_is_no_number_is_a_dash() {
        assert_eq!(rate(f64::NAN), "–");
        assert_eq!(percent(f64::NAN), "–");
        assert_eq!(seconds(f64::NAN), "–");
        assert_eq!(rate(f64::INFINITY), "∞");
    }

    #[test]
    fn percents_are_of_the_whole_only_at_a_hundred() {
        let written: Vec<String> = [0.0, 0.0101, 0.5, 0.50234, 0.999_99, 1.0, 1.5].map(percent).into();
        assert_eq!(written, ["0 %", "1.01 %", "50 %", "50.23 %", ">99.99 %", "100 %", "150 %"]);
    }

    #[test]
    fn sizes_have_decimal_units() {
        let written: Vec<String> =
            [0, 999, 1000, 1_500_000, 999_999, 1_260_817_000, u64::MAX].map(bytes).into();
        assert_eq!(written, ["0 B", "999 B", "1 kB", "1.5 MB", "1 MB", "1.26 GB", "18.4 EB"]);
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let written: Vec<String> =
            [0.0, 3e-8, 0.000_5, 0.024, 0.9999, 1.2, 60.0, 200.0, 3599.9, 7500.0, 90_000.0, -0.024]
                .map(seconds)
                .into();
        assert_eq!(
            written,
            [
                "0 s",
                "30 ns",
                "500 µs",
                "24 ms",
                "1 s",
                "1.2 s",
                "1 min",
                "3 min 20 s",
                "1 h",
                "2 h 5 min",
                "1 d 1 h",
                "-24 ms"
            ]
        );
        assert_eq!(duration(Duration::from_millis(24)), "24 ms");
    }

    #[test]
    fn short_counts_fit_beside_an_axis() {
        let written: Vec<String> = [950.0, 1260.0, 12_600.0, 1_260_817.0, 2e9].map(short).into();
        assert_eq!(written, ["950", "1,260", "12.6k", "1.26M", "2G"]);
    }

    proptest! {
        #[test]
        fn a_written_count_reads_back(n: u64) {
            prop_assert_eq!(count(n).replace(',', "").parse::<u64>().unwrap(), n);
        }

        #[test]
        fn a_written_rate_is_within_half_a_unit_of_its_fourth_digit(value in -1e12f64..1e12, down in 0i32..30) {
            let value = value / 10f64.powi(down);
            let read: f64 = rate(value).replace(',', "").parse().unwrap();
            prop_assert!((read - value).abs() <= value.abs() * 0.000_500_1);
        }

        #[test]
        fn no_number_of_any_kind_is_written_at_length(value: f64) {
            for text in [Rates::of([value, 1.0]).text(value), rate(value), percent(value), short(value), bytes_of(value), seconds(value)] {
                prop_assert!(text.chars().count() <= 24, "{}", text);
            }
        }
    }
}
