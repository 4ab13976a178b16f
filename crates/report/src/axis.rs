//! Axes: from values to places between 0 and 1, with ticks at numbers that people like.
//!
//! Linear ticks stand at 1, 2 or 5 times a power of ten. Logarithmic ticks stand at the powers of
//! ten, and at 2 and 5 times these where the decades are few. All ticks are made from decimal
//! digits, so that each is the very number its label says.

use tamis_make::number;

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is measured along it.
    pub label: String,
    /// How values are placed along it.
    pub scale: Scale,
    /// How its values are written.
    pub format: Format,
}

/// How values are placed along an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Equal differences, equal distances.
    Linear,
    /// Equal ratios, equal distances. What is not positive cannot be shown; the chart says so.
    Log,
    /// One place for each name; a mark's x is the index of a name. For the x axis only.
    Category(Vec<String>),
}

/// How the values of an axis are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As a number: `0.0101`.
    Plain,
    /// A rate, in the notation of its report.
    Rate(number::Rates),
    /// A part of the whole, as percent: 0.5 is `50 %`.
    Percent,
    /// A size in bytes: `1.5 MB`.
    Bytes,
    /// A duration in seconds: `24 ms`.
    Seconds,
    /// How many there are: `950`, `12.6k`, `1.26M`. Its ticks are integers.
    Count,
}

impl Axis {
    /// An axis of equal differences.
    pub fn linear(label: impl Into<String>, format: Format) -> Axis {
        Axis { label: label.into(), scale: Scale::Linear, format }
    }

    /// An axis of equal ratios.
    pub fn log(label: impl Into<String>, format: Format) -> Axis {
        Axis { label: label.into(), scale: Scale::Log, format }
    }

    /// An axis of names.
    pub fn categories(label: impl Into<String>, names: Vec<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Category(names), format: Format::Plain }
    }
}

impl Format {
    /// A value in full, as a tooltip has it.
    pub fn value(self, value: f64) -> String {
        match self {
            Format::Plain => number::rate(value),
            Format::Rate(rates) => rates.text(value),
            Format::Percent => number::percent(value),
            Format::Bytes => number::bytes_of(value),
            Format::Seconds => number::seconds(value),
            // All digits of a count stand, as long as a double holds them all.
            Format::Count if value.abs() < 9e15 => number::fixed(value, 3, true),
            Format::Count => number::short(value),
        }
    }

    fn is_whole(self) -> bool {
        matches!(self, Format::Count | Format::Bytes)
    }

    /// A value as briefly as a tick or a bar of a chart wants it.
    pub(super) fn brief(self, value: f64) -> String {
        match self {
            Format::Count => number::short(value),
            other => other.value(value),
        }
    }

    /// The labels of linear ticks: one unit for all, and the decimals that tell them apart.
    fn labels(self, ticks: &[f64], step: Step) -> Vec<String> {
        let largest = ticks.iter().fold(0.0f64, |most, tick| most.max(tick.abs()));
        let (unit, name) = match self {
            Format::Plain | Format::Rate(_) => (0, ""),
            Format::Percent => (-2, " %"),
            Format::Bytes => thousands(largest, &[" B", " kB", " MB", " GB", " TB", " PB"]),
            Format::Count if largest < 10_000.0 => (0, ""),
            Format::Count => thousands(largest, &["", "k", "M", "G", "T", "P"]),
            Format::Seconds if largest >= 1.0 => (0, " s"),
            Format::Seconds if largest >= 1e-3 => (-3, " ms"),
            Format::Seconds if largest >= 1e-6 => (-6, " µs"),
            Format::Seconds => (-9, " ns"),
        };
        let decimals = (unit - step.exponent).max(0);
        let size = power(1, unit);
        let long = match self {
            Format::Rate(rates) => rates == number::Rates::Scientific,
            _ => decimals > 6,
        } || largest / size >= 1e15;
        let digits = (largest / step.size()).log10().floor().clamp(0.0, 15.0) as usize + 2;
        let write = |&tick: &f64| match tick {
            // A unit that stands apart is kept; 0k would be odd.
            0.0 => {
                if name.starts_with(' ') {
                    format!("0{name}")
                } else {
                    "0".to_owned()
                }
            }
            tick if long => format!("{}{name}", number::significant(tick / size, digits)),
            tick => format!("{}{name}", number::fixed(tick / size, decimals as usize, false)),
        };
        ticks.iter().map(write).collect()
    }
}

fn thousands(largest: f64, names: &[&'static str]) -> (i32, &'static str) {
    let steps = (largest.max(1.0).log10() / 3.0 + 1e-9).floor() as usize;
    let steps = steps.min(names.len() - 1);
    (3 * steps as i32, names[steps])
}

/// A place along an axis, with its label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub at: f64,
    pub label: String,
}

/// What an axis of numbers spans, and its ticks. Both ends are finite, and `lo < hi`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Range {
    pub lo: f64,
    pub hi: f64,
    pub log: bool,
    pub ticks: Vec<Tick>,
}

impl Range {
    /// A range with room for both numbers and about `want` ticks. Where `snap`, it ends at ticks.
    ///
    /// Both numbers are [`usable`]; they may be equal.
    pub fn new(lo: f64, hi: f64, log: bool, format: Format, want: usize, snap: bool) -> Range {
        let (lo, hi) = if lo <= hi { (lo, hi) } else { (hi, lo) };
        if log { Range::log(lo, hi, format, want, snap) } else { Range::linear(lo, hi, format, want, snap) }
    }

    fn linear(lo: f64, hi: f64, format: Format, want: usize, snap: bool) -> Range {
        let (mut lo, mut hi) = widened(lo, hi);
        if format.is_whole() && hi - lo < 1.0 {
            (lo, hi) = (lo.floor(), lo.floor() + 1.0);
        }
        let step = Step::of((hi - lo) / want.max(1) as f64, format.is_whole());
        if snap {
            let below = near(lo / step.size()).floor();
            let above = near(hi / step.size()).ceil();
            (lo, hi) = (step.times(below as i64), step.times(above as i64));
        }
        let at = multiples(lo, hi, step);
        let labels = format.labels(&at, step);
        let ticks = at.into_iter().zip(labels).map(|(at, label)| Tick { at, label }).collect();
        Range { lo, hi, log: false, ticks }
    }

    fn log(lo: f64, hi: f64, format: Format, want: usize, snap: bool) -> Range {
        let (mut lo, mut hi) = (lo, hi);
        if snap || hi / lo < 1.001 {
            let (below, above) = (below(lo), above(hi));
            (lo, hi) = if below < above { (below, above) } else { (below * 0.5, above * 2.0) };
        }
        let at = log_ticks(lo, hi, want);
        let ticks = at.into_iter().map(|at| Tick { at, label: format.brief(at) }).collect();
        Range { lo, hi, log: true, ticks }
    }

    /// Where the value stands, from 0 to 1.
    pub fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value / self.lo).ln() / (self.hi / self.lo).ln()
        } else {
            (value - self.lo) / (self.hi - self.lo)
        };
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// A value that can be placed: finite, positive where the axis is logarithmic, and drawn in to
/// where differences and ratios of any two values are finite as well.
pub(super) fn usable(value: f64, log: bool) -> Option<f64> {
    const FAR: f64 = 1e150;
    match value {
        v if !v.is_finite() || (log && v <= 0.0) => None,
        v if log => Some(v.clamp(1.0 / FAR, FAR)),
        v if v.abs() < 1.0 / FAR => Some(0.0),
        v => Some(v.clamp(-FAR, FAR)),
    }
}

/// Ends far enough apart for ticks between them to be told apart.
fn widened(lo: f64, hi: f64) -> (f64, f64) {
    let size = lo.abs().max(hi.abs());
    if size == 0.0 {
        (0.0, 1.0)
    } else if hi - lo < size * 1e-9 {
        (lo - size / 2.0, hi + size / 2.0)
    } else {
        (lo, hi)
    }
}

/// A distance of 1, 2 or 5 times a power of ten.
#[derive(Debug, Clone, Copy)]
struct Step {
    digit: i64,
    exponent: i32,
}

impl Step {
    /// The smallest that is not below this; 1 at least, where it must be whole.
    fn of(distance: f64, whole: bool) -> Step {
        let exponent = distance.log10().floor() as i32;
        let step = [(1, 0), (2, 0), (5, 0), (1, 1), (2, 1)]
            .map(|(digit, up)| Step { digit, exponent: exponent + up })
            .into_iter()
            .find(|step| step.size() >= distance * (1.0 - 1e-12))
            .unwrap_or(Step { digit: 1, exponent: exponent + 1 });
        if whole && step.exponent < 0 { Step { digit: 1, exponent: 0 } } else { step }
    }

    fn size(self) -> f64 {
        power(self.digit, self.exponent)
    }

    fn times(self, n: i64) -> f64 {
        power(n.saturating_mul(self.digit), self.exponent)
    }
}

/// The double nearest to `digits · 10^exponent`: multiplication would miss it by a bit.
fn power(digits: i64, exponent: i32) -> f64 {
    format!("{digits}e{exponent}").parse().unwrap_or(0.0)
}

/// An integer, where rounding alone keeps it from being one.
fn near(value: f64) -> f64 {
    if (value - value.round()).abs() < 1e-9 { value.round() } else { value }
}

/// The multiples of a step between two numbers.
fn multiples(lo: f64, hi: f64, step: Step) -> Vec<f64> {
    let first = (lo / step.size()).floor() as i64;
    let last = (hi / step.size()).ceil() as i64;
    (first..=last).map(|n| step.times(n)).filter(|at| (lo..=hi).contains(at)).collect()
}

/// The ticks of a logarithmic axis: decades, or more or fewer as there is room.
fn log_ticks(lo: f64, hi: f64, want: usize) -> Vec<f64> {
    if hi / lo < 5.0 {
        return multiples(lo, hi, Step::of((hi - lo) / want.max(1) as f64, false));
    }
    let (first, last) = (lo.log10().floor() as i32 - 1, hi.log10().ceil() as i32 + 1);
    let decades = (hi / lo).log10();
    let inside = |at: &f64| (lo..=hi).contains(at);
    if decades * 3.0 <= want.max(3) as f64 + 1.0 {
        let digits = |exponent| [1, 2, 5].map(|digit| power(digit, exponent));
        return (first..=last).flat_map(digits).filter(inside).collect();
    }
    let every = [1, 2, 5, 10, 20, 50, 100, 200]
        .into_iter()
        .find(|&every| decades / f64::from(every) <= want.max(1) as f64)
        .unwrap_or(500);
    (first..=last).filter(|exponent| exponent % every == 0).map(|e| power(1, e)).filter(inside).collect()
}

/// The largest of 1, 2 and 5 times a power of ten that is not above.
fn below(value: f64) -> f64 {
    round_numbers(value).into_iter().rfind(|&at| at <= value).unwrap_or(value)
}

/// The smallest that is not below.
fn above(value: f64) -> f64 {
    round_numbers(value).into_iter().find(|&at| at >= value).unwrap_or(value)
}

fn round_numbers(value: f64) -> Vec<f64> {
    let exponent = value.log10().floor() as i32;
    (exponent - 1..=exponent + 1).flat_map(|e| [1, 2, 5].map(|digit| power(digit, e))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(range: &Range) -> Vec<&str> {
        range.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_their_labels_exact() {
        let range = Range::new(0.0, 0.3, false, Format::Plain, 4, true);
        assert_eq!(labels(&range), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(range.ticks[3].at, 0.3);
        let range = Range::new(0.0, 0.53, false, Format::Percent, 5, true);
        assert_eq!(labels(&range), ["0 %", "20 %", "40 %", "60 %"]);
    }

    #[test]
    fn units_are_the_same_for_all_ticks_of_an_axis() {
        let range = Range::new(0.0, 370_225.0, false, Format::Count, 5, true);
        assert_eq!(labels(&range), ["0", "100k", "200k", "300k", "400k"]);
        let range = Range::new(0.0, 0.024, false, Format::Seconds, 5, true);
        assert_eq!(labels(&range), ["0 ms", "5 ms", "10 ms", "15 ms", "20 ms", "25 ms"]);
        let range = Range::new(0.0, 1.4e6, false, Format::Bytes, 3, true);
        assert_eq!(labels(&range), ["0 MB", "0.5 MB", "1.0 MB", "1.5 MB"]);
    }

    #[test]
    fn counts_have_whole_ticks() {
        let range = Range::new(0.0, 2.0, false, Format::Count, 10, true);
        assert_eq!(labels(&range), ["0", "1", "2"]);
        let range = Range::new(0.2, 0.3, false, Format::Count, 10, true);
        assert_eq!(labels(&range), ["0", "1"]);
    }

    #[test]
    fn few_decades_have_ticks_between() {
        let range = Range::new(0.02, 0.12, true, Format::Plain, 6, true);
        assert_eq!(labels(&range), ["0.02", "0.05", "0.1", "0.2"]);
        let range = Range::new(1e-7, 1.0, true, Format::Plain, 8, true);
        assert_eq!(labels(&range), ["1e-7", "1e-6", "0.00001", "0.0001", "0.001", "0.01", "0.1", "1"]);
        let range = Range::new(1e-60, 1.0, true, Format::Plain, 6, true);
        assert_eq!(labels(&range), ["1e-60", "1e-50", "1e-40", "1e-30", "1e-20", "1e-10", "1"]);
    }

    fn any_number() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            -1e3..1e3f64,
            (1i64..100).prop_map(|n| n as f64),
            Just(0.0),
            Just(1e16),
            Just(1e16 + 2.0),
            Just(f64::MAX),
            Just(f64::MIN_POSITIVE / 4.0),
        ]
    }

    fn any_format() -> impl Strategy<Value = Format> {
        use Format::*;
        prop_oneof![Just(Plain), Just(Percent), Just(Bytes), Just(Seconds), Just(Count)]
    }

    proptest! {
        #[test]
        fn ticks_are_within_the_range_ascending_and_neither_none_nor_many(
            a in any_number(), b in any_number(), log: bool, snap: bool,
            format in any_format(), want in 5usize..12,
        ) {
            let (Some(a), Some(b)) = (usable(a, log), usable(b, log)) else { return Ok(()) };
            let range = Range::new(a, b, log, format, want, snap);
            prop_assert!(range.lo < range.hi && range.lo.is_finite() && range.hi.is_finite());
            prop_assert!(range.ticks.iter().all(|tick| (range.lo..=range.hi).contains(&tick.at)));
            prop_assert!(range.ticks.windows(2).all(|pair| pair[0].at < pair[1].at));
            prop_assert!(range.ticks.len() <= want + 3, "{} ticks", range.ticks.len());
            if !log && (snap || !format.is_whole()) {
                prop_assert!(range.ticks.len() >= 2, "{:?}", range);
            }
            if snap {
                prop_assert!(!range.ticks.is_empty(), "{:?}", range);
            }
            for value in [a, b] {
                prop_assert!((0.0..=1.0).contains(&range.at(value)));
            }
            prop_assert!(range.at(a.min(b)) <= range.at(a.max(b)));
        }

        #[test]
        fn labels_of_linear_ticks_differ(a in any_number(), b in any_number(), format in any_format()) {
            let (Some(a), Some(b)) = (usable(a, false), usable(b, false)) else { return Ok(()) };
            let range = Range::new(a, b, false, format, 6, true);
            prop_assert!(
                range.ticks.windows(2).all(|pair| pair[0].label != pair[1].label), "{:?}", range.ticks
            );
        }
    }
}
