//! Estimates against exact counts, as a table, as JSON, and as a chart of the error by rank.

use serde_json::{Value, json};
use tamis_make::count_min::rank::{GroupResult, Rank, Report};
use tamis_make::number;
use tamis_make::text::group_name;

use crate::{Axis, Chart, Column, Csv, Format, Mark, Page, Section, Source, Table, cells, sources};

/// The error against the rank, of one sketch or several of the same data, beside the true weights
/// and the bound.
pub fn errors(title: &str, sketches: &[(&str, &[Rank])], bound: Option<u64>) -> Chart {
    let middle = |rank: &Rank| (rank.ranks.0 as f64 * rank.ranks.1 as f64).sqrt();
    let mut marks = Vec::new();
    if let Some((_, ranks)) = sketches.first() {
        marks.push(Mark::line("true weight", ranks.iter().map(|rank| (middle(rank), rank.truth))));
    }
    for (name, ranks) in sketches {
        // A logarithmic axis has no place for "no error at all".
        let seen = |value: f64| value.max(0.1);
        let mean = ranks.iter().filter_map(|rank| Some((middle(rank), seen(rank.error?))));
        marks.push(Mark::line(format!("mean error{name}"), mean));
        let known = ranks.iter().filter(|rank| rank.error.is_some());
        let largest = known.map(|rank| (middle(rank), seen(rank.largest as f64)));
        marks.push(Mark::line(format!("largest error{name}"), largest));
    }
    marks.extend(bound.map(|bound| Mark::rule("bound εN", bound as f64)));
    Chart {
        title: title.into(),
        x: Axis::log("rank of the key", Format::Count),
        y: Axis::log("weight (0.1 means none)", Format::Plain),
        marks,
    }
}

/// The error against the rank.
pub fn chart(report: &Report) -> Chart {
    let bound = match &report.groups[..] {
        [only] if !only.promise.total_is_full() => Some(only.promise.bound()),
        _ => None,
    };
    errors("Error against rank", &[("", &report.ranks)], bound)
}

/// The findings for people.
pub fn verdict(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let sum = |of: fn(&GroupResult) -> u64| report.groups.iter().map(of).sum::<u64>();
    let (below, full, keys) = (sum(|group| group.below), sum(|group| group.full), sum(|group| group.keys));
    if full > 0 {
        lines.push(format!(
            "{} of {} have only full counters: they have no estimate, and are not compared.",
            number::count(full),
            number::counted(keys, "key")
        ));
    }
    lines.push(match below {
        0 if full > 0 && full == keys => "There is no estimate.".into(),
        0 => "No estimate is below the truth.".into(),
        below => {
            format!("FAILED: the estimates of {} are below the truth.", number::counted(below, "key"))
        }
    });
    for group in &report.groups {
        let of = if group.group.0.is_empty() {
            String::new()
        } else {
            format!("Group {}: ", group_name(&group.group))
        };
        if group.promise.total_is_full() {
            lines.push(format!(
                "{of}the total weight ran full: it is at least {}, and no bound is known.",
                number::count(group.promise.total)
            ));
        } else if group.weight != group.promise.total {
            lines.push(format!(
                "{of}the data has a weight of {}, the sketch was given {}: it was built from other rows.",
                number::count(group.weight),
                number::count(group.promise.total)
            ));
        }
        if group.below == 0 && !group.passed() {
            lines.push(format!(
                "{of}FAILED: {} of {} are above the bound; at most {:.1} are expected.",
                number::count(group.over),
                number::counted(group.keys, "key"),
                group.keys as f64 * group.promise.delta
            ));
        }
    }
    lines
}

/// A table of these groups.
pub fn table_of(groups: &[&GroupResult]) -> Table {
    let mut columns = vec![Column::left("group")];
    let names = [
        "keys",
        "full",
        "total weight",
        "below",
        "over the bound",
        "promised at most",
        "bound",
        "mean error",
        "largest error",
    ];
    columns.extend(names.map(Column::right));
    let none = || String::from("–");
    let row = |group: &&GroupResult| {
        vec![
            group_name(&group.group),
            number::count(group.keys),
            number::count(group.full),
            number::count(group.weight),
            number::count(group.below),
            number::percent(group.over as f64 / (group.keys as f64).max(1.0)),
            number::percent(group.promise.delta),
            if group.promise.total_is_full() {
                "unknown".into()
            } else {
                number::count(group.promise.bound())
            },
            group.mean_error.map_or(none(), |error| number::fixed(error, 1, false)),
            group.largest_error.map_or(none(), number::count),
        ]
    };
    Table { columns, rows: groups.iter().map(row).collect(), ..Table::default() }
}

/// A page of all of it.
pub fn page(report: &Report, title: &str, subtitle: &str, sources: &[Source]) -> Page {
    let groups: Vec<&GroupResult> = report.groups.iter().collect();
    let mut sections: Vec<Section> = verdict(report).into_iter().map(Section::Text).collect();
    sections.push(Section::Table(table_of(&groups)));
    sections.push(Section::Charts(vec![chart(report)]));
    sections.push(Section::Heading("What was tested".into()));
    sections.push(Section::Table(sources::table(sources)));
    Page { title: title.into(), subtitle: subtitle.into(), sections }
}

/// One line per group, with the fields of [`json()`].
pub fn csv(report: &Report) -> Csv<'_> {
    let columns = [
        "group",
        "keys",
        "full",
        "weight",
        "total",
        "below",
        "over",
        "epsilon",
        "delta",
        "bound",
        "mean_error",
        "largest_error",
        "passed",
    ];
    let row = |group: &GroupResult| {
        cells![
            &group.group,
            group.keys,
            group.full,
            group.weight,
            group.promise.total,
            group.below,
            group.over,
            group.promise.epsilon,
            group.promise.delta,
            (!group.promise.total_is_full()).then(|| group.promise.bound()),
            group.mean_error,
            group.largest_error,
            group.passed(),
        ]
    };
    Csv::new(columns, report.groups.iter().map(row))
}

/// All of it for programs.
pub fn json(report: &Report) -> Value {
    let group = |group: &GroupResult| {
        json!({
            "group": group.group, "keys": group.keys, "full": group.full, "weight": group.weight,
            "total": group.promise.total, "total_full": group.promise.total_is_full(),
            "below": group.below, "over": group.over, "epsilon": group.promise.epsilon,
            "delta": group.promise.delta,
            "bound": (!group.promise.total_is_full()).then(|| group.promise.bound()),
            "mean_error": group.mean_error, "largest_error": group.largest_error,
            "passed": group.passed(),
        })
    };
    let rank = |rank: &Rank| {
        json!({
            "first": rank.ranks.0, "last": rank.ranks.1, "truth": rank.truth,
            "mean_error": rank.error, "largest_error": rank.largest,
        })
    };
    json!({
        "kind": report.common.kind, "passed": report.passed(), "skipped": report.skipped,
        "groups": report.groups.iter().map(group).collect::<Vec<_>>(),
        "ranks": report.ranks.iter().map(rank).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_names_the_rank_and_leaves_out_ranks_without_an_estimate() {
        let rank = |rank: u64, error| Rank { ranks: (rank, rank), truth: 9.0, error, largest: 4 };
        let chart = errors("Errors", &[("", &[rank(1, Some(4.0)), rank(2, None)])], Some(7));
        assert!(chart.svg().contains("rank of the key"));
        let Mark::Line { points, .. } = &chart.marks[1] else { panic!("the mean error is a line") };
        assert_eq!(points, &[(1.0, 4.0)]);
    }
}
