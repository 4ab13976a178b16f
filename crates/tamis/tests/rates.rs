//! Measured rates against the formulas, over the whole range that is promised. Takes a while:
//! `./check --full` runs it.

use tamis::fuse::Fuse;
use tamis::hash::{Scheme, xxh3};
use tamis::memory::Words;
use tamis::params::{GroupParams, Name};
use tamis::ribbon::Ribbon;
use tamis::sizing::{Kind, Shape};
use tamis::sketch::{Beside, Sketch};

fn hashes(start: u64, count: u64) -> Vec<u64> {
    (start..start + count).map(|i| xxh3(&i.to_le_bytes(), 0)).collect()
}

/// Seeded. From 10 to 10 million keys, p from 0.5 to 1e-6, all kinds; 10 million probes a cell
/// (100 million at 1e-6). The tolerance is 5 standard deviations of the count of hits, against
/// the rate of just this filter (from the bits that are set) and, from 10,000 keys on, against
/// the expected rate with 3 % for how filters differ from each other.
#[test]
#[ignore = "takes minutes"]
fn rates_agree_with_the_formulas_from_ten_to_ten_million_keys() {
    for kind in Kind::PLANNED {
        for keys in [10u64, 1000, 100_000, 10_000_000] {
            for fpr in [0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6] {
                let shape = kind.shape_for_rate(keys, fpr).unwrap();
                assert!(shape.expected_rate(keys) <= fpr);
                let group = GroupParams::filter(Name::default(), keys, fpr, shape);
                let mut members = hashes(0, keys);
                let (mut words, mut seed) = (Words::zeroed(shape.words() as usize).unwrap(), 0);
                if kind == Kind::Fuse {
                    let built = Fuse::build(&mut members, shape.width()).unwrap();
                    words.copy_from_slice(built.words());
                    seed = built.seed();
                }
                if let Shape::Ribbon { widths, .. } = shape {
                    let built = Ribbon::build(&mut members, widths).unwrap();
                    words.copy_from_slice(built.words());
                    seed = built.seed();
                }
                let mut sketch = Sketch::from_words(
                    (kind, Scheme::DEFAULT),
                    &group,
                    Beside::from_number(kind, seed),
                    words,
                )
                .unwrap();
                match &mut sketch {
                    Sketch::Blocked(filter) => filter.insert_hashes(&members),
                    Sketch::Bloom(filter) => filter.insert_hashes(&members),
                    Sketch::Counting(_) => unreachable!("it is a blocked filter, counter by counter"),
                    Sketch::Fuse(_)
                    | Sketch::Ribbon(_)
                    | Sketch::Scalable(_)
                    | Sketch::Layered(_)
                    | Sketch::CountMin(_) => {}
                }
                let rounds: u64 = if fpr < 1e-5 { 100 } else { 10 };
                let mut hits = 0;
                for round in 0..rounds {
                    let probes = hashes((1 << 40) + round * 1_000_000, 1_000_000);
                    let mut found = vec![false; probes.len()];
                    sketch.contains_hashes(&probes, &mut found);
                    hits += found.iter().filter(|&&hit| hit).count();
                }
                let probes = (rounds * 1_000_000) as f64;
                let check = |rate: f64, slack: f64, what: &str| {
                    let mean = probes * rate;
                    let tolerance = 5.0 * (mean * (1.0 - rate)).sqrt() + slack * mean + 3.0;
                    let off = (hits as f64 - mean).abs();
                    assert!(off <= tolerance, "{kind}, {keys} keys at {fpr}: {hits} hits, {mean:.1} {what}");
                };
                check(sketch.rate_now(), 0.0, "from the bits that are set");
                if keys >= 10_000 {
                    check(shape.expected_rate(keys), 0.03, "expected");
                }
                assert!(members.iter().all(|&hash| sketch.contains_hash(hash)));
            }
        }
    }
}
