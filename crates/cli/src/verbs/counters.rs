//! How sketches that count are shown.

use serde_json::{Value, json};
use tamis::params::Name;
use tamis_jobs::inspect::{estimate_json, extend, promise_json};
use tamis_jobs::query::Count;
use tamis_make::count_min::Promise;
use tamis_make::files::Mapped;
use tamis_make::number;
use tamis_make::text::printable;
use tamis_report::inspect::FULL;

use crate::show::Output;

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
