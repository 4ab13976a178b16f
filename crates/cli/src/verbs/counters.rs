//! How sketches that count are shown.

use std::cmp::Reverse;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use tamis::countmin::{Census, delta_of, shape_by_hand};
use tamis::format::Tally;
use tamis::params::{GroupParams, Name, Params};
use tamis::sizing::Shape;
use tamis::sketch::Sketch;
use tamis_jobs::inspect::{self, shape_json};
pub use tamis_jobs::inspect::{extend, promise_json};
use tamis_jobs::query::Count;
use tamis_make::count_min::Promise;
use tamis_make::files::{self as files, Mapped};
use tamis_make::number;
use tamis_make::text::group_name;
use tamis_make::text::printable;
use tamis_report::{Column, Table};

use super::inspect::{Listed, More};
use crate::show::{FEW, Output, Sheet, few};

/// A group, as it is shown.
struct Group<'a> {
    params: &'a GroupParams,
    tally: &'a Tally,
    promise: Promise,
    census: Census,
    heavy: Option<u64>,
}

/// Shows the state of the groups.
pub fn summary(
    output: &Output,
    path: &Path,
    params: &Params,
    tallies: &[Tally],
    listed: Listed,
    more: More,
) -> Result<ExitCode> {
    let file = files::open_as_is(path)?;
    let mut groups = Vec::new();
    for (group, tally) in params.groups.iter().zip(tallies) {
        let at = file.params().find(&group.group.0).unwrap_or(0);
        let census = match file.sketch(at)? {
            Sketch::CountMin(sketch) => sketch.census(),
            _ => Census::default(),
        };
        let heavy = file.heavy().map(|heavy| heavy.groups[at].len() as u64);
        groups.push(Group {
            params: group,
            tally,
            promise: Promise::of(group, tally.total_weight()),
            census,
            heavy,
        });
    }
    groups.sort_by(|a, b| a.params.group.compare_naturally(&b.params.group));
    let bytes: u64 = groups.iter().map(|group| bytes_of(&group.params.shape)).sum();
    let kind = params.common.kind;
    let mut lines = vec![format!(
        "{}: {kind}, hash {}, {}; {} in {}",
        path.display(),
        params.common.hash,
        params.common.recipe,
        number::bytes(bytes),
        number::counted(groups.len() as u64, "group")
    )];
    if let Some(heavy) = file.heavy() {
        let keys: u64 = groups.iter().filter_map(|group| group.heavy).sum();
        lines.push(format!(
            "Keys with a share of {} or more are kept, {} in all: tamis top lists them.",
            number::percent(heavy.share),
            number::count(keys)
        ));
    }
    lines.extend(more.lines);
    let mut json = json!({
        "path": path, "kind": kind, "hash": params.common.hash, "recipe": params.common.recipe, "bytes": bytes,
        "heavy_share": file.heavy().map(|heavy| heavy.share),
        "groups": groups.iter().map(as_json).collect::<Vec<_>>(),
    });
    extend(&mut json, more.json);
    let saturated: u64 = groups.iter().map(|group| group.census.saturated).sum();
    if listed == Listed::Largest
        && let Some(all) = few(&mut groups, |group| Reverse(group.promise.total))
    {
        lines.push(format!(
            "These are the {FEW} largest of {} groups; tamis inspect {} shows all, and so does --json.",
            number::count(all),
            path.display()
        ));
    }
    output.result(Sheet { table: table(&groups, file.heavy().is_some()), lines }, json)?;
    if saturated > 0 {
        output.warn(ran_full(saturated, params.groups[0].shape.width()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says that counters of this width ran full, and what follows.
pub fn ran_full(counters: u64, bits: u32) -> String {
    format!(
        "{} ran full: a key whose counters are all full has no estimate, and its weight may be anything up to the total{}",
        number::counted(counters, "counter"),
        remedy(bits)
    )
}

fn remedy(bits: u32) -> &'static str {
    if bits == 32 { " (--counter-bits 64 counts further)" } else { "" }
}

/// A total for people: one that ran full may be more.
pub fn total(total: u64) -> String {
    if total == u64::MAX { format!("at least {}", number::count(total)) } else { number::count(total) }
}

/// The bound for people: not known where the total is not.
pub fn bound(promise: &Promise) -> String {
    if promise.total_is_full() { "unknown".into() } else { number::count(promise.bound()) }
}

/// What is known of the weight of a key, for programs.
pub fn estimate_json(promise: &Promise, counter: u64, full: bool) -> Value {
    let estimate = (!full).then_some(counter);
    json!({
        "estimate": estimate, "full": full, "at_least": promise.at_least(counter),
        "at_most": promise.at_most(estimate),
    })
}

/// The memory of the counters of a group.
fn bytes_of(shape: &Shape) -> u64 {
    shape.bits().div_ceil(64) * 8
}

fn counters(shape: &Shape) -> String {
    format!("{} × {}", shape.hashes(), number::count(shape.row()))
}

fn table(groups: &[Group<'_>], heavy: bool) -> Table {
    let mut columns = vec![Column::left("group")];
    let names =
        ["rows", "total weight", "counters", "bits", "used", "largest", "full", "epsilon", "delta", "bound"];
    columns.extend(names.map(Column::right));
    columns.extend(heavy.then(|| Column::right("heavy keys")));
    let row = |group: &Group<'_>| {
        let (width, slots) = (group.params.shape.width(), group.params.shape.slots());
        let mut row = vec![
            group_name(&group.params.group),
            number::count(group.tally.rows),
            total(group.promise.total),
            counters(&group.params.shape),
            width.to_string(),
            number::percent(group.census.used as f64 / slots as f64),
            number::count(group.census.largest),
            number::count(group.census.saturated),
            number::rate(group.promise.epsilon),
            number::rate(group.promise.delta),
            bound(&group.promise),
        ];
        row.extend(group.heavy.map(number::count));
        row
    };
    let mut notes = vec![
        "An estimate is never below the truth; it exceeds the truth by more than the bound with a probability of at most delta.".into(),
    ];
    if groups.iter().any(|group| group.census.saturated > 0) {
        notes.push("If all counters of a key are full, it has no estimate.".into());
    }
    if groups.iter().any(|group| group.promise.total_is_full()) {
        notes.push("A total that ran full may be more, and so may the bound that follows from it.".into());
    }
    Table { columns, rows: groups.iter().map(row).collect(), notes, ..Table::default() }
}

fn as_json(group: &Group<'_>) -> Value {
    inspect::counts(group.params, group.tally, &group.census, group.heavy)
}

/// What a plan comes to: the rule by which w and d follow from the error, beside the other usual one.
pub fn show_plan(output: &Output, params: &Params, by_error: Option<(f64, f64)>) -> Result<ExitCode> {
    let shape = params.groups.first().map(|group| (group.shape, group.epsilon()));
    let Some((shape, epsilon)) = shape else { return Ok(ExitCode::SUCCESS) };
    let mut rows = vec![("tamis", "⌈e/ε⌉", "⌈ln(1/δ)⌉", shape)];
    if let Some((epsilon, delta)) = by_error {
        let (row, depth) = ((2.0 / epsilon).ceil(), (1.0 / delta).log2().ceil().clamp(1.0, 64.0));
        if let Ok(shape) = shape_by_hand(row as u64, depth as u32, shape.width()) {
            rows.push(("Spark, Redis", "⌈2/ε⌉", "⌈log2(1/δ)⌉", shape));
        }
    } else {
        rows[0] = ("by hand", "given", "given", shape);
    }
    let mut columns = vec![Column::left("rule")];
    columns.extend(["width w", "", "depth d", "", "bits", "memory"].map(Column::right));
    let groups = params.groups.len() as u64;
    let row = |(name, w, d, shape): &(&str, &str, &str, Shape)| {
        vec![
            (*name).into(),
            (*w).into(),
            number::count(shape.row()),
            (*d).into(),
            shape.hashes().to_string(),
            shape.width().to_string(),
            number::bytes(bytes_of(shape) * groups),
        ]
    };
    let delta = delta_of(shape.hashes());
    let mut lines = vec![format!(
        "An estimate is never below the truth; it exceeds the truth by more than {} of the total weight with a probability of at most {}.",
        number::rate(epsilon),
        number::rate(delta)
    )];
    if groups > 1 {
        lines.push(format!("Memory of {}.", number::counted(groups, "group")));
    }
    let table = Table { columns, rows: rows.iter().map(row).collect(), ..Table::default() };
    let rule = |(name, w, d, shape): &(&str, &str, &str, Shape)| {
        let mut json = json!({ "rule": name, "counters_per_row_rule": w, "depth_rule": d });
        extend(&mut json, shape_json(shape));
        json["bytes"] = (bytes_of(shape) * groups).into();
        json
    };
    // Not the fields of saved parameters: those have the names that they have for filters.
    let names: Vec<&Name> = params.groups.iter().map(|group| &group.group).collect();
    let mut json = json!({
        "kind": params.common.kind, "hash": params.common.hash, "recipe": params.common.recipe,
        "epsilon": epsilon, "delta": delta, "bytes": bytes_of(&shape) * groups, "groups": names,
        "rules": rows.iter().map(rule).collect::<Vec<_>>(),
    });
    extend(&mut json, shape_json(&shape));
    output.result(Sheet { table, lines }, json)?;
    Ok(ExitCode::SUCCESS)
}

/// Says what is promised of the estimates of a file.
pub fn explain_bound(output: &Output, file: &Mapped) {
    let promises: Vec<Promise> = (file.params().groups.iter().zip(file.tallies()))
        .map(|(group, tally)| Promise::of(group, tally.total_weight()))
        .collect();
    let Some(first) = promises.first() else { return };
    if promises.iter().any(Promise::total_is_full) {
        output.warn(format!(
            "a total weight ran full: it is at least {}, and the bound is unknown; truth ≤ estimate still holds",
            number::count(u64::MAX)
        ));
        return;
    }
    let (epsilon, sure) = (number::rate(first.epsilon), number::rate(1.0 - first.delta));
    match &promises[..] {
        [only] => output.note(format!(
            "truth ≤ estimate ≤ truth + {} with probability {sure} (ε = {epsilon} of N = {})",
            number::count(only.bound()),
            number::count(only.total)
        )),
        _ => output.note(format!(
            "truth ≤ estimate ≤ truth + bound with probability {sure} (ε = {epsilon} of each group's total weight)"
        )),
    }
}

/// In place of an estimate if there is none, because all counters of the key are full.
pub const FULL: &str = "full";

/// Says that there were such keys.
pub fn explain_full(output: &Output, answers: u64, file: &Mapped) {
    if answers == 0 {
        return;
    }
    let bits = file.params().groups.first().map_or(64, |group| group.shape.width());
    output.warn(format!(
        "{}: all counters of the key are full, from its own weight or that of others, so there is no estimate; the truth may be anything up to the total weight{}",
        match answers {
            1 => "1 answer is `full`".into(),
            more => format!("{} answers are `full`", number::count(more)),
        },
        remedy(bits)
    ));
}

/// How often a key came, as lines.
pub fn answer_lines(key: &[u8], counts: &[Count<'_>], grouped: bool) -> String {
    let key = printable(key);
    // The estimate and the bound, as they can be read back.
    let known = |count: &Count<'_>| {
        let estimate = if count.full { FULL.into() } else { count.estimate.to_string() };
        match count.promise.total_is_full() {
            true => format!("{estimate}\tunknown"),
            false => format!("{estimate}\t{}", count.promise.bound()),
        }
    };
    if !grouped {
        return counts.iter().map(|count| format!("{key}\t{}\n", known(count))).collect();
    }
    let line = |count: &Count<'_>| format!("{key}\t{}\t{}\n", printable(&count.group.0), known(count));
    let lines: String = counts.iter().filter(|count| count.estimate > 0).map(line).collect();
    if lines.is_empty() { format!("{key}\t\t0\t\n") } else { lines }
}

/// How often a key came, as JSON.
pub fn answer_json(key: &[u8], counts: &[Count<'_>], grouped: bool) -> Value {
    let count = |count: &Count<'_>| {
        let mut json = estimate_json(&count.promise, count.estimate, count.full);
        extend(&mut json, promise_json(&count.promise));
        json
    };
    let mut answer = json!({ "key": Name(key.to_vec()) });
    if !grouped && let Some(only) = counts.first() {
        extend(&mut answer, count(only));
        return answer;
    }
    let groups = counts.iter().filter(|count| count.estimate > 0).map(|one| {
        let mut json = count(one);
        json["group"] = json!(one.group);
        json
    });
    answer["groups"] = groups.collect();
    answer
}
