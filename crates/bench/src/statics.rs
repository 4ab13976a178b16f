//! `static`: sets that are known and final. Bits per key, all words of a filter counted; and what it takes to build
//! one: time, and memory beside the filter.

mod builds;

use serde_json::{Value, json};
use tamis::fuse::width_for;
use tamis::ribbon::{Widths, words_needed};
use tamis_make::number;
use tamis_report::{Column, Table};

use crate::contestants::RATE;
use crate::rounds::print_verdicts;

const RATES: [f64; 9] = [0.5, 0.3, 0.1, 0.02, RATE, 0.003, 1e-3, 1e-4, 1e-6];

/// Bits per key of a `fuse` for each bit of ⌈log2(1/p)⌉, from a million keys on.
const OF_FUSE: f64 = 1.15;

/// Those of a `ribbon` for each bit of log2(1/p): up to a rate of 0.02, and above.
const OF_RIBBON: [f64; 2] = [1.02, 1.04];

/// Static filters of these sizes: what they take at several rates, and to build at one.
pub fn run(sizes: &[u64]) -> Value {
    let mut verdicts = Vec::new();
    let figures = size(sizes, &mut verdicts);
    let builds = builds::run(sizes, &mut verdicts);
    print_verdicts(&verdicts);
    json!({ "static": figures, "builds": builds, "verdicts": verdicts })
}

/// Bits per key. The number of words follows from that of the keys, so that nothing is built for it: `builds` and
/// `filters` count those of filters that were built.
fn size(sizes: &[u64], verdicts: &mut Vec<String>) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut figures = Vec::new();
    let mut fuse_worst: f64 = 0.0;
    let mut ribbon_worst = [(0.0f64, 0.0f64); 2]; // with their rates
    for &keys in sizes {
        for rate in RATES {
            let per_key = |words: usize| words as f64 * 64.0 / keys as f64;
            let width = width_for(rate).expect("a usual rate");
            let fuse = per_key(tamis::fuse::words_needed(keys, width).expect("a usual size"));
            let widths = Widths::for_rate(rate).expect("a usual rate");
            let ribbon = per_key(words_needed(keys, widths).expect("a usual size"));
            let least = -rate.log2();
            let ratios = [fuse / least.ceil(), ribbon / least];
            fuse_worst = fuse_worst.max(ratios[0]);
            let worst = &mut ribbon_worst[usize::from(rate > 0.02)];
            if ratios[1] > worst.0 {
                *worst = (ratios[1], rate);
            }
            rows.push(vec![
                number::count(keys),
                rate.to_string(),
                format!("{least:.3}"),
                format!("{fuse:.3}"),
                format!("{:.3}", ratios[0]),
                format!("{ribbon:.3}"),
                format!("{:.4}", ratios[1]),
            ]);
            figures.push(json!({
                "keys": keys, "rate": rate, "bits_per_key": fuse, "ratio": ratios[0],
                "bits_per_key_ribbon": ribbon, "ratio_ribbon": ratios[1],
            }));
        }
    }
    let columns = ["keys", "p", "log2(1/p)", "fuse", "of ⌈log2(1/p)⌉", "ribbon", "of log2(1/p)"];
    let table = Table {
        caption: "static filters of tamis: bits per key".into(),
        columns: columns.map(Column::right).to_vec(),
        rows,
        notes: vec![],
    };
    println!("{}", table.text());
    let met = |worst: f64, target: f64| if worst <= target { "met" } else { "missed" };
    verdicts.push(format!(
        "fuse: at most {fuse_worst:.3} bits per key for each of ⌈log2(1/p)⌉ (target: {OF_FUSE}): {}",
        met(fuse_worst, OF_FUSE)
    ));
    for ((which, target), (worst, rate)) in
        [("p up to 0.02", OF_RIBBON[0]), ("p above 0.02", OF_RIBBON[1])].into_iter().zip(ribbon_worst)
    {
        verdicts.push(format!(
            "ribbon, {which}: at most {worst:.4} bits per key for each of log2(1/p), at p = {rate} (target: {target}): {}",
            met(worst, target)
        ));
    }
    figures
}
