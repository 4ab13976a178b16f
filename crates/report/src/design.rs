//! The charts of a design.

use tamis::sizing::Kind;
use tamis_make::design::Design;

use crate::{Axis, Chart, Format, Mark};

/// The rate against the number of hashes, and against bits per key.
pub fn charts(design: &Design) -> Vec<Chart> {
    let mut charts = Vec::new();
    if let Some(classic) = design.classic() {
        let points: Vec<(f64, f64)> =
            design.by_hashes.iter().map(|&(hashes, rate)| (f64::from(hashes), rate)).collect();
        let best = (f64::from(classic.shape.hashes()), classic.rate);
        charts.push(Chart {
            title: format!(
                "Rate against hashes, {:.4} bits per key",
                classic.shape.bits() as f64 / classic.keys as f64
            ),
            x: Axis::linear("hashes", Format::Count),
            y: Axis::log("rate of false positives", Format::Plain),
            marks: vec![
                Mark::line("bloom", points),
                Mark::Highlight { x: best.0, y: best.1, label: format!("k = {}", classic.shape.hashes()) },
            ],
        });
    }
    const KEYS: u64 = 1_000_000;
    let curve = |kind: Kind| {
        let points = (4..=96).filter_map(move |quarter| {
            let bits_per_key = f64::from(quarter) / 4.0;
            let shape = kind.shape_for_bits(KEYS, (bits_per_key * KEYS as f64) as u64).ok()?;
            Some((bits_per_key, shape.expected_rate(KEYS)))
        });
        Mark::line(kind.name(), points)
    };
    let offered = |kind: &Kind| design.options.iter().any(|option| option.kind == *kind);
    let drawn = Kind::PLANNED.into_iter().chain([Kind::Counting]);
    let mut marks: Vec<Mark> = drawn.filter(offered).map(curve).collect();
    if let Some(first) = design.options.first() {
        let each = first.shape.bits() as f64 / first.keys as f64;
        if (1.0..=24.0).contains(&each) {
            marks.push(Mark::Highlight { x: each, y: first.rate, label: first.kind.name().into() });
        }
    }
    charts.push(Chart {
        title: "Rate against bits per key (a million keys)".into(),
        x: Axis::linear("bits per key", Format::Plain),
        y: Axis::log("rate of false positives", Format::Plain),
        marks,
    });
    charts
}
