//! A test's findings as a table, as JSON, and as a page.

mod page;
#[cfg(test)]
mod tests;

pub use page::page;

use serde_json::{Value, json};
use tamis::hash::Scheme;
use tamis_jobs::check::{Attacked, FilterResult, GroupResult, IMPROBABLE, Lost, Report};
use tamis_make::number::{self, Rates};
use tamis_make::text::group_name;
use tamis_make::{build, opt};
use tamis_read::refusal::{Help, Voice, advice};

use crate::health::overfull_text;
use crate::{Column, Csv, Gravity, Table, cells};

/// The notation of all rates of these groups. The lower end of an interval may be far below all rates, and tells
/// nothing then: it does not count.
fn notation<'a>(groups: impl IntoIterator<Item = &'a GroupResult>) -> Rates {
    Rates::of(groups.into_iter().flat_map(|group| {
        let filter = group.filter.as_ref().map(|filter| {
            let measured = (filter.negatives > 0).then(|| [filter.rate(), filter.interval().1]);
            [filter.expected, filter.target].into_iter().chain(measured.into_iter().flatten())
        });
        let lost = group.lost.filter(|lost| lost.of > 0).map(|lost| [lost.rate(), lost.interval().1]);
        filter.into_iter().flatten().chain(lost.into_iter().flatten())
    }))
}

/// One row for each of these groups.
pub fn table_of<'a>(groups: impl IntoIterator<Item = &'a GroupResult>) -> Table {
    let groups: Vec<&GroupResult> = groups.into_iter().collect();
    let rates = notation(groups.iter().copied());
    let mut columns = vec![Column::left("group")];
    let names = [
        "keys",
        "bits",
        "k",
        "bits/key",
        "expected rate",
        "false positives",
        "negatives",
        "measured rate",
        "95 % interval",
        "false negatives",
    ];
    columns.extend(names.map(Column::right));
    let pair = groups.iter().any(|group| group.lost.is_some());
    if pair {
        columns.extend(["taken for removed", "expected", "rate, 95 % interval"].map(Column::right));
    }
    let row = |group: &GroupResult| {
        let mut row = vec![group_name(&group.group), number::count(group.keys)];
        match &group.filter {
            Some(filter) => {
                row.extend([
                    number::count(filter.bits),
                    filter.hashes.to_string(),
                    if group.keys == 0 {
                        "-".into()
                    } else {
                        format!("{:.2}", filter.bits as f64 / group.keys as f64)
                    },
                    rates.text(filter.expected),
                    number::count(filter.false_positives),
                    number::count(filter.negatives),
                    if filter.negatives == 0 { "-".into() } else { rates.text(filter.rate()) },
                    if filter.negatives == 0 { "-".into() } else { rates.interval(filter.interval()) },
                ]);
            }
            None => row.extend(vec!["no filter".into(); 1].into_iter().chain(vec![String::new(); 7])),
        }
        row.push(number::count(group.false_negatives));
        match &group.lost {
            Some(lost) => row.extend([
                number::count(lost.keys),
                number::count((lost.of as f64 * lost.expected).round() as u64),
                if lost.of == 0 { "-".into() } else { rates.interval(lost.interval()) },
            ]),
            None if pair => row.extend(vec![String::new(); 3]),
            None => {}
        }
        row
    };
    let rows = groups.into_iter().map(row).collect();
    Table { columns, rows, ..Table::default() }
}

/// What is to be said of all groups together, in one line each, with options in this voice.
pub fn verdict(report: &Report, voice: &dyn Voice) -> Vec<String> {
    findings(report, voice).into_iter().map(|(_, line)| line).collect()
}

/// Of which records the expectation of a layered filter is: a record of few keywords is asked for in few layers, and
/// members' keywords pass where they are.
const UNJUDGED: &str = " of random records with a keyword in each layer; those with fewer keywords pass more often, as \
do those that share keywords with members";

/// The same, each with its gravity.
fn findings(report: &Report, voice: &dyn Voice) -> Vec<(Gravity, String)> {
    let rates = notation(&report.groups);
    let (hits, negatives) = report.false_positives();
    let rate = if negatives == 0 { 0.0 } else { hits as f64 / negatives as f64 };
    let of_positives = if negatives == 0 {
        let keys = Help::GiveOne(vec![opt::RANDOM.with("N"), opt::NEGATIVES.with("FILE")]);
        let advice = advice(&[keys], voice).unwrap_or_default();
        format!("No rate was measured, since there are no keys outside: {advice}.")
    } else {
        format!(
            "{} in {} ({}); {} expected from the bits that are set{}.",
            number::counted(hits, "false positive"),
            number::counted(negatives, "test"),
            rates.text(rate),
            number::count(report.expected_false_positives.round() as u64),
            if report.lost_surprise.is_some() {
                " in the first filters alone; the filters of removed keys take some of them away".into()
            } else if report.unjudged {
                UNJUDGED.into()
            } else if report.surprise < IMPROBABLE {
                format!(
                    ": the difference is less probable than one in a million ({:.1e}), so {}",
                    report.surprise,
                    match report.filters.hash {
                        Scheme::Polynomial { .. } | Scheme::Foreign(_) =>
                            "the positions of this hash are not even",
                        _ => "something is wrong",
                    }
                )
            } else {
                String::new()
            }
        )
    };
    let grave = |fault: bool| if fault { Gravity::Error } else { Gravity::Info };
    let members: u64 = report.groups.iter().map(|group| group.keys).sum();
    let pair = report.lost();
    let taken = pair.map_or(0, |(lost, _)| lost.keys);
    let lost = report.false_negatives() - taken;
    let of_negatives = match lost {
        0 if members == 0 => "False negatives were not checked: no members were given.".into(),
        0 if pair.is_some() => "No false negatives in the first filters.".into(),
        0 => "No false negatives.".into(),
        some => format!(
            "{}: keys of this data that are missing in their own filter; the filters were built from other data, or with another recipe.",
            number::counted(some, "false negative").to_uppercase()
        ),
    };
    let mut findings =
        vec![(grave(report.surprise < IMPROBABLE), of_positives), (grave(lost > 0), of_negatives)];
    if let (Some((lost, expected)), Some(surprise)) = (pair, report.lost_surprise)
        && lost.of > 0
    {
        let line = format!(
            "{} of the pair, in {} ({}, 95 % interval {}): keys that are reported as removed but were not; {} expected from the rate of the filters of removed keys{}.",
            number::counted(lost.keys, "false negative"),
            number::counted(lost.of, "key"),
            rates.text(lost.rate()),
            rates.interval(lost.interval()),
            number::count(expected.round() as u64),
            match surprise < IMPROBABLE {
                false => "",
                true if (lost.keys as f64) > expected => {
                    ": far more than that rate explains; the data contains removed keys (give only the remaining data), or the filters of removed keys hold other keys, too"
                }
                true => ": far fewer than that rate explains, so something is wrong",
            }
        );
        findings.push((grave(surprise < IMPROBABLE), line));
    }
    findings.extend(of_attack(report, voice));
    if report.removed > 0 {
        let keys = number::counted(report.removed, "key");
        let line = format!("Not counted: {keys} both given as negative and in the set.");
        findings.push((Gravity::Info, line));
    }
    if report.skipped > 0 {
        let rows = number::counted(report.skipped, "bad row");
        findings.push((Gravity::Info, format!("Left out: {rows}.")));
    }
    findings
}

/// What keys did that were made for the filters.
fn of_attack(report: &Report, voice: &dyn Voice) -> Vec<(Gravity, String)> {
    let Some((attacked, honest, unfound)) = report.attacked() else { return Vec::new() };
    let rates = notation(&report.groups);
    let mut findings = Vec::new();
    if attacked.keys > 0 {
        let all = number::counted(attacked.keys, "key");
        let mut line = format!(
            "Of {all} made for this file by the published attack, {} pass (rate {}); the rate of honest keys is {}.",
            number::count(attacked.passed),
            rates.brief(attacked.rate()),
            rates.brief(honest)
        );
        let forged = attacked.rate() > FORGED.max(2.0 * honest);
        if forged {
            let key = Help::BuildWith(vec![opt::HASH.with("siphash"), opt::HASH_KEY.with("FILE")]);
            let mut help = vec![key];
            if build::refuse_exact(true, report.filters.kind).is_ok() {
                help.push(Help::DoWith("filter", vec![opt::STRICT.into()]));
            }
            if let Some(advice) = advice(&help, voice) {
                line.push_str(&format!(" Where strangers choose keys, {advice}."));
            }
        }
        findings.push((if forged { Gravity::Warning } else { Gravity::Info }, line));
    }
    if unfound > 0 {
        findings.push((
            Gravity::Info,
            format!(
                "For {} no key that passes was found by trying, to make others from{}.",
                number::counted(unfound as u64, "group"),
                // Keys that collide in a hash of bytes have a form of their own, which no key of the data has.
                if report.filters.hash.by_bytes().is_some() { "" } else { ": give the data" }
            ),
        ));
    }
    findings
}

/// A greater share of the keys that were made for a file does not pass by chance.
const FORGED: f64 = 0.001;

/// A warning for each filter that holds more keys than its target rate allows.
pub fn overfull(report: &Report) -> impl Iterator<Item = String> {
    let filters = report.groups.iter().filter_map(|group| Some((group, group.filter.as_ref()?)));
    filters.filter(|(_, filter)| filter.health.overfull).map(|(group, filter)| {
        // Of a layered filter the target is that of a layer.
        let rate = filter.health.whole.map_or(filter.expected, |_| filter.health.rate);
        overfull_text(&filter.health, &group.group, filter.target, rate)
    })
}

/// One line per group, with the fields of [`json()`].
pub fn csv(report: &Report) -> Csv<'_> {
    let columns = [
        "group",
        "keys",
        "bits",
        "hashes",
        "ones",
        "false_positives",
        "negatives",
        "fpr",
        "fpr_low",
        "fpr_high",
        "expected_fpr",
        "target_fpr",
        "overfull",
        "false_negatives",
        "taken_for_removed",
        "expected_taken_for_removed",
        "adversary_keys",
        "adversary_passed",
    ];
    let row = |group: &GroupResult| {
        let filter = group.filter.as_ref();
        let measured = filter.filter(|filter| filter.negatives > 0);
        let attacked = filter.and_then(|filter| filter.attacked);
        cells![
            &group.group,
            group.keys,
            filter.map(|filter| filter.bits),
            filter.map(|filter| filter.hashes),
            filter.map(|filter| filter.ones),
            filter.map(|filter| filter.false_positives),
            filter.map(|filter| filter.negatives),
            measured.map(FilterResult::rate),
            measured.map(|filter| filter.interval().0),
            measured.map(|filter| filter.interval().1),
            filter.map(|filter| filter.expected),
            filter.map(|filter| filter.target),
            filter.map(|filter| filter.health.overfull),
            group.false_negatives,
            group.lost.as_ref().map(|lost| lost.keys),
            group.lost.as_ref().map(|lost| lost.mean().0),
            attacked.map(|attacked| attacked.keys),
            attacked.map(|attacked| attacked.passed),
        ]
    };
    Csv::new(columns, report.groups.iter().map(row))
}

/// Everything, for programs.
pub fn json(report: &Report) -> Value {
    let group = |group: &GroupResult| {
        let mut value = json!({
            "group": group.group, "keys": group.keys, "false_negatives": group.false_negatives,
        });
        if let Some(lost) = &group.lost {
            value["taken_for_removed"] = lost_json(lost, lost.mean().0);
        }
        if let (Some(filter), Some(object)) = (&group.filter, value.as_object_mut()) {
            let (low, high) = filter.interval();
            let more = json!({
                "bits": filter.bits, "hashes": filter.hashes, "ones": filter.ones,
                "false_positives": filter.false_positives, "negatives": filter.negatives,
                "fpr": (filter.negatives > 0).then(|| filter.rate()), "fpr_low": low, "fpr_high": high,
                "expected_fpr": filter.expected, "target_fpr": filter.target, "overfull": filter.health.overfull,
            });
            object.extend(more.as_object().cloned().unwrap_or_default());
            if let Some(attacked) = filter.attacked {
                object.insert("adversary".into(), attacked_json(attacked, filter.honest));
            }
        }
        value
    };
    let (hits, negatives) = report.false_positives();
    let mut json = json!({
        "groups": report.groups.iter().map(group).collect::<Vec<_>>(),
        "keys": report.keys,
        "rows": report.rows,
        "skipped_rows": report.skipped,
        "removed_negatives": report.removed,
        "false_positives": hits,
        "negatives": negatives,
        "expected_false_positives": report.expected_false_positives,
        "probability": report.surprise,
        "false_negatives": report.false_negatives(),
        "passed": report.passed(),
        "seconds": phases_json(&report.phases),
    });
    if let Some((lost, expected)) = report.lost() {
        json["taken_for_removed"] = lost_json(&lost, expected);
        json["taken_for_removed"]["probability"] = report.lost_surprise.into();
    }
    if let Some((attacked, honest, unfound)) = report.attacked() {
        json["adversary"] = attacked_json(attacked, honest);
        json["adversary"]["groups_without_keys"] = unfound.into();
    }
    json
}

/// What keys did that were made for a filter, and the rate of honest ones.
fn attacked_json(attacked: Attacked, honest: f64) -> Value {
    let rate = (attacked.keys > 0).then(|| attacked.rate());
    json!({ "keys": attacked.keys, "passed": attacked.passed, "rate": rate, "honest_rate": honest })
}

/// Members that are mistaken for removed, and the expected number.
fn lost_json(lost: &Lost, expected: f64) -> Value {
    let (low, high) = lost.interval();
    json!({
        "keys": lost.keys, "of": lost.of, "rate": lost.rate(), "rate_low": low, "rate_high": high,
        "expected_keys": expected, "expected_rate": lost.expected,
    })
}

/// Seconds of each phase, by name.
pub fn phases_json(phases: &[(&'static str, std::time::Duration)]) -> Value {
    phases
        .iter()
        .map(|(name, time)| ((*name).to_owned(), Value::from(time.as_secs_f64())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
