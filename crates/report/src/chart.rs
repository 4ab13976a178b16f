//! A chart as plain data.
//!
//! What cannot be placed (not finite, or not positive along a logarithmic axis) is left out, and
//! the chart says how many values that were; a chart with nothing to show says that.
//!
//! A chart over names stays readable however many there are: labels turn, then thin out; above
//! [`CROWD`] names the chart becomes the distribution of the values.

use super::axis::{Axis, Range, Scale, usable};
use super::{crowd, svg};

/// The most names that a chart shows one by one: with more, it shows how their values are
/// distributed.
pub const CROWD: usize = 250;

/// A chart.
///
/// ```
/// use tamis_report::{Axis, Chart, Format, Mark};
///
/// let rate = |k: f64| (1.0 - (-k / 8.0).exp()).powf(k);
/// let chart = Chart {
///     title: "8 bits per key".into(),
///     x: Axis::linear("hash functions", Format::Count),
///     y: Axis::log("false-positive rate", Format::Plain),
///     marks: vec![
///         Mark::line("expected", (1..=16).map(|k| (f64::from(k), rate(f64::from(k))))),
///         Mark::Highlight { x: 6.0, y: rate(6.0), label: "k = 6".into() },
///     ],
/// };
/// assert!(chart.standalone_svg().starts_with("<svg "));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, in series of one colour each.
    pub marks: Vec<Mark>,
}

/// Something drawn in a chart. Along an axis of names, x is the index of a name.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points, in this order; a value that cannot be placed breaks it.
    Line {
        /// What the legend says.
        name: String,
        /// x and y.
        points: Vec<(f64, f64)>,
    },
    /// Separate points.
    Points {
        /// What the legend says.
        name: String,
        /// x and y.
        points: Vec<(f64, f64)>,
    },
    /// A bar for each name; several series stand side by side.
    Bars {
        /// What the legend says.
        name: String,
        /// The value for each name.
        values: Vec<f64>,
    },
    /// Values with an interval around each.
    Whiskers {
        /// What the legend says.
        name: String,
        /// x, lower end, value, upper end.
        points: Vec<(f64, f64, f64, f64)>,
    },
    /// Bars of given width: how many values lie between two numbers.
    Histogram {
        /// What the legend says.
        name: String,
        /// From, to, and how many.
        bins: Vec<(f64, f64, f64)>,
    },
    /// A dashed horizontal line, such as a target.
    Rule {
        /// What the legend says.
        name: String,
        /// Where it stands.
        y: f64,
    },
    /// A dashed vertical line.
    VerticalRule {
        /// What the legend says.
        name: String,
        /// Where it stands.
        x: f64,
    },
    /// One point picked out, such as the best.
    Highlight {
        /// Where it stands, horizontally.
        x: f64,
        /// And vertically.
        y: f64,
        /// What is written beside it.
        label: String,
    },
}

impl Mark {
    /// A line through points.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Mark {
        Mark::Line { name: name.into(), points: points.into_iter().collect() }
    }

    /// A bar for each name.
    pub fn bars(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Mark {
        Mark::Bars { name: name.into(), values: values.into_iter().collect() }
    }

    /// A dashed horizontal line.
    pub fn rule(name: impl Into<String>, y: f64) -> Mark {
        Mark::Rule { name: name.into(), y }
    }

    /// What the legend says of it; a highlight has its own label instead.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Mark::Line { name, .. }
            | Mark::Points { name, .. }
            | Mark::Bars { name, .. }
            | Mark::Whiskers { name, .. }
            | Mark::Histogram { name, .. }
            | Mark::Rule { name, .. }
            | Mark::VerticalRule { name, .. } => {
                Some(name).filter(|name| !name.is_empty()).map(|n| n.as_str())
            }
            Mark::Highlight { .. } => None,
        }
    }

    /// Whether it has a colour of its own.
    pub(super) fn is_series(&self) -> bool {
        !matches!(self, Mark::Rule { .. } | Mark::VerticalRule { .. } | Mark::Highlight { .. })
    }
}

impl Chart {
    /// The chart as an `<svg>` element for a page that has [`STYLE`](super::STYLE), as
    /// [`Page`](super::Page) has.
    pub fn svg(&self) -> String {
        svg::draw(&self.shown(), false)
    }

    /// The chart as an SVG file of its own, for light and dark.
    pub fn standalone_svg(&self) -> String {
        svg::draw(&self.shown(), true)
    }

    /// Whether it compares anything: one bar says no more than its number, which a page has in its table.
    pub(super) fn compares(&self) -> bool {
        self.names().is_none_or(|names| names.len() > 1)
    }

    /// The chart as it is drawn: itself, or the distribution of its values.
    pub(super) fn shown(&self) -> Shown {
        match self.names() {
            Some(names) if names.len() > CROWD => crowd::distribution(self, names.len()),
            _ => Shown { chart: self.clone(), note: String::new(), omitted: 0 },
        }
    }

    /// The names along the x axis, numbers where they are missing; `None` along an axis of numbers.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let bars = self.marks.iter().map(|mark| match mark {
            Mark::Bars { values, .. } => values.len(),
            _ => 0,
        });
        let most = bars.max().unwrap_or(0);
        let given = match &self.x.scale {
            Scale::Category(names) => names.as_slice(),
            _ if most > 0 => &[],
            _ => return None,
        };
        Some(
            (0..most.max(given.len()))
                .map(|i| given.get(i).cloned().unwrap_or((i + 1).to_string()))
                .collect(),
        )
    }

    /// Where things stand; `None` where there is nothing to show.
    ///
    /// Asks for about this many ticks.
    pub(super) fn frame(&self, x_ticks: usize, y_ticks: usize) -> Option<Frame> {
        let names = self.names();
        let x_log = matches!(self.x.scale, Scale::Log) && names.is_none();
        let y_log = matches!(self.y.scale, Scale::Log);
        let count = names.as_ref().map_or(0, Vec::len) as f64;
        let placed = |x: f64| match names {
            Some(_) => usable(x, false).filter(|x| (0.0..count).contains(x)),
            None => usable(x, x_log),
        };
        let mut seen = Seen::default();
        for mark in &self.marks {
            match mark {
                Mark::Line { points, .. } | Mark::Points { points, .. } => {
                    for &(x, y) in points {
                        seen.add(placed(x).zip(usable(y, y_log)));
                    }
                }
                Mark::Bars { values, .. } => {
                    for (i, &value) in values.iter().enumerate() {
                        seen.add(placed(i as f64).zip(usable(value, y_log)));
                    }
                    seen.based = true;
                }
                Mark::Whiskers { points, .. } => {
                    for &point in points {
                        let whisker = placed(point.0).zip(whisker(point, y_log));
                        seen.add(whisker.map(|(x, whisker)| (x, whisker.high)));
                        let low = whisker.and_then(|(_, whisker)| whisker.low.or(whisker.mid));
                        seen.y.extend(low);
                    }
                }
                Mark::Histogram { bins, .. } => {
                    for &(from, to, n) in bins {
                        let ends = placed(from).zip(placed(to));
                        seen.add(ends.zip(usable(n, y_log)).map(|((from, _), n)| (from, n)));
                        seen.x.extend(ends.map(|(_, to)| to));
                    }
                    seen.based = true;
                }
                Mark::Rule { y, .. } => seen.y.extend(usable(*y, y_log)),
                Mark::VerticalRule { x, .. } => seen.x.extend(placed(*x)),
                Mark::Highlight { x, y, .. } => seen.add(placed(*x).zip(usable(*y, y_log))),
            }
        }
        if seen.data == 0 {
            return None;
        }
        let (mut low, high) = ends(&seen.y)?;
        if seen.based && y_log {
            low /= 2.0; // the smallest bar has a height
        }
        // Bars start at zero; other marks do where that costs them little room.
        let (low, high) = match y_log {
            false if seen.based || (low > 0.0 && low < 0.4 * high) => (low.min(0.0), high.max(0.0)),
            _ => (low, high),
        };
        let y = Range::new(low, high, y_log, self.y.format, y_ticks, true);
        let along = match names {
            Some(names) => Along::Names(names),
            None => {
                let (low, high) = ends(&seen.x)?;
                Along::Numbers(Range::new(low, high, x_log, self.x.format, x_ticks, false))
            }
        };
        Some(Frame { along, y, omitted: seen.omitted })
    }
}

/// A chart ready to be drawn, a line to stand below its title, and how many values it lacks.
pub(super) struct Shown {
    pub chart: Chart,
    pub note: String,
    pub omitted: usize,
}

/// Where the things of a chart stand.
#[derive(Debug)]
pub(super) struct Frame {
    pub along: Along,
    pub y: Range,
    pub omitted: usize,
}

/// What stands along the x axis.
#[derive(Debug)]
pub(super) enum Along {
    Names(Vec<String>),
    Numbers(Range),
}

impl Along {
    /// Where x stands, from 0 to 1: a name stands in the middle of its share.
    pub fn at(&self, x: f64) -> Option<f64> {
        match self {
            Along::Names(names) => {
                let count = names.len() as f64;
                usable(x, false).filter(|x| (0.0..count).contains(x)).map(|x| ((x + 0.5) / count).min(1.0))
            }
            Along::Numbers(range) => usable(x, range.log).map(|x| range.at(x)),
        }
    }
}

impl Frame {
    /// Where a point stands, from the bottom left.
    pub fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.along.at(x)?, self.y.at(usable(y, self.y.log)?)))
    }
}

#[derive(Default)]
struct Seen {
    x: Vec<f64>,
    y: Vec<f64>,
    data: usize,
    omitted: usize,
    /// Something stands on the zero line.
    based: bool,
}

impl Seen {
    fn add(&mut self, point: Option<(f64, f64)>) {
        match point {
            Some((x, y)) => {
                self.x.push(x);
                self.y.push(y);
                self.data += 1;
            }
            None => self.omitted += 1,
        }
    }
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(low, high), &v| (low.min(v), high.max(v))))
}

/// A whisker that can be drawn. Along a logarithmic axis its lower end may lie below all there is,
/// and so may its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whisker {
    pub low: Option<f64>,
    pub mid: Option<f64>,
    pub high: f64,
}

pub(super) fn whisker((_, low, mid, high): (f64, f64, f64, f64), log: bool) -> Option<Whisker> {
    if ![low, mid, high].into_iter().all(f64::is_finite) {
        return None;
    }
    let (low, high) = (low.min(mid).min(high), low.max(mid).max(high));
    Some(Whisker { low: usable(low, log), mid: usable(mid, log), high: usable(high, log)? })
}

#[cfg(test)]
mod tests {
    use super::super::axis::Format;
    use super::*;

    fn chart(y: Axis, marks: Vec<Mark>) -> Chart {
        Chart { title: String::new(), x: Axis::linear("", Format::Plain), y, marks }
    }

    fn plain(marks: Vec<Mark>) -> Chart {
        chart(Axis::linear("", Format::Plain), marks)
    }

    #[test]
    fn a_chart_without_values_has_no_frame() {
        assert!(plain(vec![]).frame(6, 5).is_none());
        assert!(plain(vec![Mark::rule("target", 0.5)]).frame(6, 5).is_none());
        assert!(plain(vec![Mark::line("", [(f64::NAN, 1.0), (1.0, f64::INFINITY)])]).frame(6, 5).is_none());
    }

    #[test]
    fn bars_start_at_zero_and_lines_where_their_values_are() {
        let bars = plain(vec![Mark::bars("", [100.0, 101.0])]).frame(6, 5).unwrap();
        assert_eq!(bars.y.lo, 0.0);
        let line = plain(vec![Mark::line("", [(0.0, 100.0), (1.0, 101.0)])]).frame(6, 5).unwrap();
        assert_eq!((line.y.lo, line.y.hi), (100.0, 101.0));
    }

    #[test]
    fn rules_are_always_in_sight() {
        let frame = plain(vec![Mark::line("", [(0.0, 1.0), (1.0, 2.0)]), Mark::rule("", 9.0)]).frame(6, 5);
        assert!(frame.unwrap().y.hi >= 9.0);
    }

    #[test]
    fn what_cannot_be_placed_is_counted() {
        let chart = chart(
            Axis::log("", Format::Plain),
            vec![Mark::line("", [(1.0, 0.1), (2.0, 0.0), (3.0, -1.0), (4.0, f64::NAN)])],
        );
        assert_eq!(chart.frame(6, 5).unwrap().omitted, 3);
    }

    #[test]
    fn one_bar_compares_nothing() {
        let bars = |values: &[f64]| plain(vec![Mark::bars("", values.iter().copied())]);
        assert!(!bars(&[1.0]).compares());
        assert!(bars(&[1.0, 2.0]).compares());
        assert!(plain(vec![Mark::line("", [(1.0, 1.0)])]).compares());
    }

    #[test]
    fn names_are_numbers_where_they_are_missing() {
        let mut chart = plain(vec![Mark::bars("", [1.0, 2.0, 3.0])]);
        assert_eq!(chart.names().unwrap(), ["1", "2", "3"]);
        chart.x = Axis::categories("", vec!["a".into()]);
        assert_eq!(chart.names().unwrap(), ["a", "2", "3"]);
    }

    #[test]
    fn whiskers_may_reach_below_a_logarithmic_axis() {
        let whisker = whisker((0.0, 0.0, 0.0, 0.3), true).unwrap();
        assert_eq!((whisker.low, whisker.mid, whisker.high), (None, None, 0.3));
    }
}
