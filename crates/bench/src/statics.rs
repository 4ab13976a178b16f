//! `static`: bits per key of sets that are known and final.

use serde_json::{Value, json};
use tamis::fuse::{Fuse, width_for};
use tamis_make::number;
use tamis_report::{Column, Table};

use crate::contestants::hash;

const RATES: [f64; 6] = [0.1, 0.01, 0.003, 1e-3, 1e-4, 1e-6];

/// Bits per key for each bit of ⌈log2(1/p)⌉, from a million keys on.
const TARGET: f64 = 1.15;

/// Builds `fuse` filters of these sizes at several rates.
pub fn run(sizes: &[u64]) -> Value {
    let mut rows = Vec::new();
    let mut figures = Vec::new();
    let mut worst: f64 = 0.0;
    for &keys in sizes {
        let mut hashes: Vec<u64> = (0..keys).map(hash).collect();
        for rate in RATES {
            let width = width_for(rate).expect("a usual rate");
            let filter = Fuse::build(&mut hashes, width).expect("distinct keys");
            let bits = filter.words().len() as f64 * 64.0 / keys as f64;
            let ideal = (1.0 / rate).log2().ceil();
            let ratio = bits / ideal;
            worst = worst.max(ratio);
            rows.push(vec![
                number::count(keys),
                rate.to_string(),
                ideal.to_string(),
                format!("{bits:.3}"),
                format!("{ratio:.3}"),
            ]);
            figures.push(json!({ "keys": keys, "rate": rate, "bits_per_key": bits, "ratio": ratio }));
        }
    }
    let table = Table {
        caption: "tamis fuse: bits per key beside ⌈log2(1/p)⌉".into(),
        columns: ["keys", "p", "⌈log2(1/p)⌉", "bits/key", "ratio"].map(Column::right).to_vec(),
        rows,
        notes: vec![],
    };
    println!("{}", table.text());
    let met = if worst <= TARGET { "met" } else { "NOT met" };
    println!("fuse: at most {worst:.3} bits per key for each of ⌈log2(1/p)⌉ (target: {TARGET}): {met}");
    json!({ "static": figures })
}
