//! What a test found, as a page.

use std::time::Duration;

use tamis::params::Common;
use tamis_jobs::check::{FilterResult, GroupResult, Report};
use tamis_make::number::{self, Rates};
use tamis_make::text::group_name;
use tamis_read::refusal::Voice;

use super::{findings, notation, overfull, table_of};
use crate::{Axis, Chart, Column, Figure, Format, Gravity, Mark, Page, Section, Source, Table, sources};

/// The most groups that are listed because something is wrong with them.
const LISTED: usize = 50;

/// How long the phases of a job took.
type Phases = [(&'static str, Duration)];

/// A page of its own. `earlier` are phases of other jobs that belong to the story.
pub fn page(
    report: &Report,
    title: &str,
    subtitle: &str,
    sources: &[Source],
    earlier: &Phases,
    voice: &dyn Voice,
) -> Page {
    let rates = notation(&report.groups);
    let filtered: Vec<(&GroupResult, &FilterResult)> =
        report.groups.iter().filter_map(|group| Some((group, group.filter.as_ref()?))).collect();
    let phases: Vec<(&'static str, Duration)> = earlier.iter().chain(&report.phases).copied().collect();
    let above = above_target(&filtered);
    let Common { kind, hash, recipe } = &report.filters;
    let mut sections = vec![
        Section::Figures(figures(report, &filtered, above.len(), rates)),
        Section::Text(format!("Kind {kind}, hash {hash}; {recipe}.")),
    ];
    sections.extend(findings(report, voice).into_iter().map(|(kind, line)| Section::Note(kind, line)));
    sections.extend(overfull(report).take(20).map(|text| Section::Note(Gravity::Warning, text)));
    match &above[..] {
        [] => {}
        [(_, only)] if filtered.len() == 1 => {
            let text = format!(
                "The rate is above the target of {}: its whole 95 % interval, {}, is.",
                rates.brief(only.target),
                rates.interval(only.interval())
            );
            sections.push(Section::Note(Gravity::Warning, text));
        }
        _ => {
            sections.push(Section::Heading("Groups above target".into()));
            sections.push(Section::Table(above_table(&above, filtered.len(), rates)));
        }
    }
    let mut missing: Vec<&GroupResult> = report
        .groups
        .iter()
        .filter(|group| group.false_negatives > group.lost.map_or(0, |lost| lost.keys))
        .collect();
    if !missing.is_empty() && report.groups.len() > 1 {
        missing.sort_by_key(|group| std::cmp::Reverse(group.false_negatives));
        sections.push(Section::Heading("Groups with false negatives".into()));
        let notes = most(missing.len());
        missing.truncate(LISTED);
        sections.push(Section::Table(Table { notes, ..table_of(missing) }));
    }
    sections.push(Section::Charts(charts(&filtered, &phases, rates)));
    sections
        .push(Section::Heading(if report.groups.len() == 1 { "The filter" } else { "Every group" }.into()));
    if report.groups.is_empty() {
        sections.push(Section::Text("The file has no filters, and the data no groups.".into()));
    } else {
        let notes = vec![
            "Expected rate: from the bits that are set in just this filter. Measured rate: false positives / \
             negatives, where the negatives of a group are the distinct keys that do not belong to it; its \
             interval is Wilson's."
                .into(),
        ];
        sections.push(Section::Table(Table { notes, ..table_of(&report.groups) }));
    }
    sections.push(Section::Heading("What was tested".into()));
    sections.push(Section::Table(sources::table(sources)));
    sections.push(Section::Text(effort(report.rows, &phases)));
    Page { title: title.into(), subtitle: subtitle.into(), sections }
}

/// The numbers that matter most.
fn figures(
    report: &Report,
    filtered: &[(&GroupResult, &FilterResult)],
    above: usize,
    rates: Rates,
) -> Vec<Figure> {
    let (hits, negatives) = report.false_positives();
    let rate = if negatives == 0 { "–".into() } else { rates.brief(hits as f64 / negatives as f64) };
    let mut figures = vec![
        Figure::new("verdict", if report.passed() { "passed" } else { "FAILED" }),
        Figure::new("distinct keys", number::count(report.keys)),
        // Of one filter there is no chart of the fill.
        match filtered {
            [(_, only)] => Figure::new("fill", number::percent(only.health.fill)).note("bits that are set"),
            _ => Figure::new("groups", number::count(report.groups.len() as u64))
                .note(format!("{} above target", number::count(above as u64))),
        },
        Figure::new("false negatives", number::count(report.false_negatives())).note(match report.lost() {
            Some((_, expected)) => format!("{} expected", number::count(expected.round() as u64)),
            None => "must be 0".into(),
        }),
        Figure::new("false positives", number::count(hits))
            .note(format!("{} expected", number::count(report.expected_false_positives.round() as u64))),
        Figure::new("overall rate", rate),
    ];
    if let Some((attacked, honest, _)) = report.attacked() {
        figures.push(
            Figure::new("of keys made for the file", rates.brief(attacked.rate()))
                .note(format!("{} of honest keys", rates.brief(honest))),
        );
    }
    figures
}

/// The filters whose rate is above its target, and not by a little: the whole interval is. The farthest first. The
/// target of a layered filter is that of one layer, so it is not compared.
fn above_target<'a>(
    filtered: &[(&'a GroupResult, &'a FilterResult)],
) -> Vec<(&'a GroupResult, &'a FilterResult)> {
    let mut above: Vec<_> = filtered
        .iter()
        .filter(|(_, filter)| filter.negatives > 0 && filter.health.whole.is_none())
        .filter(|(_, filter)| filter.interval().0 > filter.target)
        .copied()
        .collect();
    above.sort_by(|(_, a), (_, b)| (b.rate() / b.target).total_cmp(&(a.rate() / a.target)));
    above
}

fn above_table(above: &[(&GroupResult, &FilterResult)], of: usize, rates: Rates) -> Table {
    let mut columns = vec![Column::left("group")];
    let names =
        ["keys", "sized for", "fill", "target", "measured rate", "95 % interval", "measured / target"];
    columns.extend(names.map(Column::right));
    let row = |(group, filter): &(&GroupResult, &FilterResult)| {
        vec![
            group_name(&group.group),
            number::count(group.keys),
            filter.health.capacity.map_or("–".into(), number::count),
            number::percent(filter.health.fill),
            rates.text(filter.target),
            rates.text(filter.rate()),
            rates.interval(filter.interval()),
            number::significant(filter.rate() / filter.target, 3),
        ]
    };
    let mut notes = most(above.len());
    let by_chance = of / 40;
    if by_chance > 0 {
        notes.push(format!(
            "One interval in forty lies above the true rate: of {} at their target, about {} would be listed here by \
             chance.",
            number::counted(of as u64, "filter"),
            number::count(by_chance as u64)
        ));
    }
    Table { columns, rows: above.iter().take(LISTED).map(row).collect(), notes, ..Table::default() }
}

/// What is said below a list that is longer than what is shown of it.
fn most(all: usize) -> Vec<String> {
    let cut =
        || format!("The first {LISTED} of {}; the CSV and the JSON have all.", number::count(all as u64));
    if all > LISTED { vec![cut()] } else { Vec::new() }
}

/// How many rows were read, and how long it took.
fn effort(rows: u64, phases: &Phases) -> String {
    let times: Vec<String> =
        phases.iter().map(|(name, time)| format!("{name} {}", number::duration(*time))).collect();
    let time = if times.is_empty() { String::new() } else { format!(" Time: {}.", times.join(", ")) };
    format!("Rows read: {}.{time}", number::count(rows))
}

fn charts(filtered: &[(&GroupResult, &FilterResult)], phases: &Phases, rates: Rates) -> Vec<Chart> {
    let names =
        || Axis::categories("group", filtered.iter().map(|(group, _)| group_name(&group.group)).collect());
    let numbered = || filtered.iter().enumerate().map(|(i, (_, filter))| (i as f64, *filter));
    let whisker = |(i, filter): (f64, &FilterResult)| {
        let (low, high) = filter.interval();
        (filter.negatives > 0).then(|| (i, low, filter.rate(), high))
    };
    let mut marks =
        vec![Mark::Whiskers { name: "measured".into(), points: numbered().filter_map(whisker).collect() }];
    match filtered.first() {
        Some((_, first)) if filtered.iter().all(|(_, filter)| filter.target == first.target) => {
            marks.push(Mark::rule("target", first.target));
        }
        _ => marks.push(Mark::Points {
            name: "target".into(),
            points: numbered().map(|(i, filter)| (i, filter.target)).collect(),
        }),
    }
    vec![
        Chart {
            title: "Measured rate of false positives".into(),
            x: names(),
            y: Axis::linear("rate, with its 95 % interval", Format::Rate(rates)),
            marks,
        },
        Chart {
            title: "Keys per group".into(),
            x: names(),
            y: Axis::linear("distinct keys", Format::Count),
            marks: vec![Mark::bars("keys", filtered.iter().map(|(group, _)| group.keys as f64))],
        },
        Chart {
            title: "Fill of each filter".into(),
            x: names(),
            y: Axis::linear("bits that are set", Format::Percent),
            marks: vec![Mark::bars("fill", filtered.iter().map(|(_, filter)| filter.health.fill))],
        },
        Chart {
            title: "Time per phase".into(),
            x: Axis::categories("phase", phases.iter().map(|(name, _)| (*name).to_owned()).collect()),
            y: Axis::linear("time", Format::Seconds),
            marks: vec![Mark::bars("time", phases.iter().map(|(_, time)| time.as_secs_f64()))],
        },
    ]
}
