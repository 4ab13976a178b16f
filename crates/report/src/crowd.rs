//! What a chart over very many names shows instead: how their values are distributed.

use tamis_make::number;

use super::axis::{Axis, Format, Range, Scale, usable};
use super::chart::{Chart, Mark, Shown};

/// About how many bars the distribution has.
const BINS: usize = 32;

/// The distribution of a chart's values: their axis lies down, rules stand up.
pub(super) fn distribution(chart: &Chart, names: usize) -> Shown {
    let log = matches!(chart.y.scale, Scale::Log);
    let series: Vec<(&str, Vec<f64>)> = chart
        .marks
        .iter()
        .filter(|mark| mark.is_series())
        .map(|mark| (mark.name().unwrap_or_default(), values(mark)))
        .collect();
    let given: usize = series.iter().map(|(_, values)| values.len()).sum();
    let mut series: Vec<(&str, Vec<f64>)> = series
        .into_iter()
        .map(|(name, values)| (name, values.into_iter().filter_map(|v| usable(v, log)).collect()))
        .collect();
    let omitted = given - series.iter().map(|(_, values)| values.len()).sum::<usize>();
    for (_, values) in &mut series {
        values.sort_by(f64::total_cmp);
    }

    let low = series.iter().filter_map(|(_, values)| values.first()).copied().reduce(f64::min);
    let high = series.iter().filter_map(|(_, values)| values.last()).copied().reduce(f64::max);
    // Values of very different sizes would all stand in the first bar.
    let log = log || low.zip(high).is_some_and(|(low, high)| low > 0.0 && high / low > 300.0);
    // Rules belong to what is shown: bars narrower than their distance from it would not be seen.
    let rules = chart.marks.iter().filter_map(|mark| match mark {
        Mark::Rule { y, .. } | Mark::Highlight { y, .. } => usable(*y, log),
        _ => None,
    });
    let ends = low.zip(high).map(|ends| rules.fold(ends, |(low, high), y| (low.min(y), high.max(y))));
    let edges = ends.map_or(Vec::new(), |(low, high)| edges(low, high, log, chart.y.format));
    let mut marks: Vec<Mark> =
        series.iter().map(|(name, values)| histogram((*name).to_owned(), values, &edges)).collect();
    marks.extend(chart.marks.iter().filter_map(|mark| match mark {
        Mark::Rule { name, y } => Some(Mark::VerticalRule { name: name.clone(), x: *y }),
        Mark::Highlight { label, y, .. } => Some(Mark::VerticalRule { name: label.clone(), x: *y }),
        _ => None,
    }));

    let many = number::count(names as u64);
    let note = match series.as_slice() {
        [(_, values)] if !values.is_empty() => {
            let at =
                |part: f64| chart.y.format.brief(values[((values.len() - 1) as f64 * part).round() as usize]);
            format!(
                "All {many}: median {}, 95 % between {} and {}, smallest {}, largest {}",
                at(0.5),
                at(0.025),
                at(0.975),
                at(0.0),
                at(1.0)
            )
        }
        _ => format!("How the values of all {many} are distributed"),
    };
    let x = Axis {
        label: chart.y.label.clone(),
        scale: if log { Scale::Log } else { Scale::Linear },
        format: chart.y.format,
    };
    let label =
        if chart.x.label.is_empty() { "how many".into() } else { format!("how many ({})", chart.x.label) };
    let chart = Chart { title: chart.title.clone(), x, y: Axis::linear(label, Format::Count), marks };
    Shown { chart, note, omitted }
}

/// The values of a series, without their places.
fn values(mark: &Mark) -> Vec<f64> {
    match mark {
        Mark::Line { points, .. } | Mark::Points { points, .. } => {
            points.iter().map(|point| point.1).collect()
        }
        Mark::Bars { values, .. } => values.clone(),
        Mark::Whiskers { points, .. } => points.iter().map(|point| point.2).collect(),
        Mark::Histogram { .. } | Mark::Rule { .. } | Mark::VerticalRule { .. } | Mark::Highlight { .. } => {
            Vec::new()
        }
    }
}

/// Where bars begin and end: at round numbers, or at equal ratios. Ascending, two at least.
fn edges(low: f64, high: f64, log: bool, format: Format) -> Vec<f64> {
    if !log {
        return Range::new(low, high, false, format, BINS, true)
            .ticks
            .into_iter()
            .map(|tick| tick.at)
            .collect();
    }
    let range = Range::new(low, high, true, format, BINS, true);
    let ratio = range.hi / range.lo;
    let edge = |i: usize| range.lo * ratio.powf(i as f64 / BINS as f64);
    (0..BINS).map(edge).chain([range.hi]).collect()
}

/// Counts sorted values between the edges. A value on an edge belongs to the bar that begins there.
fn histogram(name: String, values: &[f64], edges: &[f64]) -> Mark {
    let until = |edge: f64| values.partition_point(|&v| v < edge);
    let bins = edges.windows(2).enumerate().map(|(i, pair)| {
        let from = if i == 0 { 0 } else { until(pair[0]) };
        let to = if i + 2 == edges.len() { values.len() } else { until(pair[1]) };
        (pair[0], pair[1], (to - from) as f64)
    });
    Mark::Histogram { name, bins: bins.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(mark: &Mark) -> f64 {
        match mark {
            Mark::Histogram { bins, .. } => bins.iter().map(|bin| bin.2).sum(),
            _ => 0.0,
        }
    }

    fn crowd(values: Vec<f64>, y: Axis) -> Shown {
        let names = values.len();
        let marks = vec![Mark::bars("keys", values), Mark::rule("target", 0.5)];
        let x = Axis::categories("group", Vec::new());
        distribution(&Chart { title: "Keys".into(), x, y, marks }, names)
    }

    #[test]
    fn rules_stand_up_and_the_note_sums_up() {
        let values = (0..=1000).map(|i| f64::from(i) / 1000.0).collect();
        let shown = crowd(values, Axis::linear("fill", Format::Percent));
        assert_eq!(shown.chart.marks[1], Mark::VerticalRule { name: "target".into(), x: 0.5 });
        assert_eq!(
            shown.note,
            "All 1,001: median 50 %, 95 % between 2.5 % and 97.5 %, smallest 0 %, largest 100 %"
        );
    }

    #[test]
    fn values_of_very_different_sizes_are_counted_by_ratio() {
        let values = (0..1000).map(|i| f64::from(i % 7 * 2).exp2()).collect();
        let shown = crowd(values, Axis::linear("keys", Format::Count));
        assert_eq!(shown.chart.x.scale, Scale::Log);
    }

    proptest! {
        #[test]
        fn every_value_is_counted_once_or_omitted(values: Vec<f64>, log: bool) {
            let all = values.len();
            let y = if log { Axis::log("", Format::Plain) } else { Axis::linear("", Format::Plain) };
            let shown = crowd(values, y);
            prop_assert_eq!(counts(&shown.chart.marks[0]) as usize + shown.omitted, all);
        }
    }
}
