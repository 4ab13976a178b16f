//! `static`: bits per key of sets that are known and final, all words of a filter counted.

use serde_json::{Value, json};
use tamis::fuse::{Fuse, width_for};
use tamis::ribbon::{Ribbon, Widths};
use tamis_make::number;
use tamis_report::{Column, Table};

use crate::contestants::hash;

const RATES: [f64; 9] = [0.5, 0.3, 0.1, 0.02, 0.01, 0.003, 1e-3, 1e-4, 1e-6];

/// Bits per key of a `fuse` for each bit of ⌈log2(1/p)⌉, from a million keys on.
const OF_FUSE: f64 = 1.15;

/// Those of a `ribbon` for each bit of log2(1/p): up to a rate of 0.02, and above.
const OF_RIBBON: [f64; 2] = [1.02, 1.04];

/// Builds static filters of these sizes at several rates.
pub fn run(sizes: &[u64]) -> Value {
    let mut rows = Vec::new();
    let mut figures = Vec::new();
    let mut fuse_worst: f64 = 0.0;
    let mut ribbon_worst = [(0.0f64, 0.0f64); 2]; // with their rates
    for &keys in sizes {
        let mut hashes: Vec<u64> = (0..keys).map(hash).collect();
        for rate in RATES {
            let per_key = |words: &[u64]| words.len() as f64 * 64.0 / keys as f64;
            let width = width_for(rate).expect("a usual rate");
            let fuse = Fuse::build(&mut hashes, width).map(|filter| per_key(filter.words()));
            let widths = Widths::for_rate(rate).expect("a usual rate");
            let ribbon = Ribbon::build(&mut hashes, widths).map(|filter| per_key(filter.words()));
            let (fuse, ribbon) = (fuse.expect("distinct keys"), ribbon.expect("distinct keys"));
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
    let met = |worst: f64, target: f64| if worst <= target { "met" } else { "NOT met" };
    println!(
        "fuse: at most {fuse_worst:.3} bits per key for each of ⌈log2(1/p)⌉ (target: {OF_FUSE}): {}",
        met(fuse_worst, OF_FUSE)
    );
    for ((which, target), (worst, rate)) in
        [("p up to 0.02", OF_RIBBON[0]), ("p above 0.02", OF_RIBBON[1])].into_iter().zip(ribbon_worst)
    {
        println!(
            "ribbon, {which}: at most {worst:.4} bits per key for each of log2(1/p), at p = {rate} (target: {target}): {}",
            met(worst, target)
        );
    }
    json!({ "static": figures })
}
