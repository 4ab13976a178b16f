//! What a filter's fill tells: how many keys it holds, its rate now, and how many more fit.

use tamis::blocked::LINE_BITS;
use tamis::format::Tally;
use tamis::layered;
use tamis::params::GroupParams;
use tamis::scalable;
use tamis::sizing::{Kind, Shape, least_rate};
use tamis::sketch::{Sketch, estimated_keys};

/// The state of one group's sketch, as its fill tells it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Health {
    /// The share of bits that is set, or of counters that are not zero.
    pub fill: f64,
    /// Distinct keys, estimated from the fill, and no more than rows are in it; infinite in a
    /// full filter.
    pub keys: f64,
    /// The rate of false positives: of a `bloom` that of its bits; of a `blocked`, whose lines are not looked at,
    /// that to expect with this many keys; of a `layered`, that of its fullest layer.
    pub rate: f64,
    /// The rate of a `layered` as a whole, for random records of
    /// a [typical number](tamis::layered::typical_keywords) of keywords.
    pub whole: Option<f64>,
    /// The keys that it (or a layer of it) can hold within its target rate; none for a static one,
    /// nor for one that grows.
    pub capacity: Option<u64>,
    /// Counters that are full, of a `counting` that was read.
    pub full: Option<u64>,
    /// Whether it surely holds more than that and more than it was planned for: by more than
    /// five standard errors, so that of thousands of sound filters none is suspected by chance.
    pub overfull: bool,
}

/// The state of a sketch: of a `layered` from its layers, of others from the directory entry; of a
/// `counting` also from its counters.
pub fn of_sketch(kind: Kind, group: &GroupParams, tally: &Tally, sketch: &Sketch<&[u64]>) -> Health {
    match sketch {
        Sketch::Layered(filter) => of_layers(group, &filter.ones()),
        Sketch::Counting(filter) => Health { full: Some(filter.census().full), ..health(kind, group, tally) },
        // Its layers may be of sizes that its parameters alone do not tell.
        Sketch::Scalable(filter) => {
            Health { keys: filter.keys() as f64, rate: filter.expected_rate(), ..health(kind, group, tally) }
        }
        _ => health(kind, group, tally),
    }
}

/// The state of a `layered`: its records as the XOR layer has them, everything else of the fullest layer.
fn of_layers(group: &GroupParams, ones: &[u64]) -> Health {
    let bits = group.shape.slots();
    let hashes = group.shape.hashes();
    let ones_in_fullest = ones.iter().copied().max().unwrap_or(0);
    let fullest = Tally { ones: ones_in_fullest, rows: u64::MAX, ..Tally::default() };
    let one = GroupParams { shape: Shape::Bloom { bits, hashes }, ..group.clone() };
    let layer = health(Kind::Bloom, &one, &fullest);
    let records = estimated_keys(ones.last().copied().unwrap_or(0), bits, hashes);
    let rate = |layer: usize| (ones[layer] as f64 / bits as f64).powi(hashes as i32);
    let layers = group.shape.layers();
    let of_keywords = (0..layered::typical_keywords(layers)).map(|i| rate((i % layers) as usize));
    let whole = of_keywords.product::<f64>() * rate(layers as usize);
    Health { keys: records, whole: Some(whole), ..layer }
}

/// Reads the state of a sketch from its directory entry alone.
pub fn health(kind: Kind, group: &GroupParams, tally: &Tally) -> Health {
    let bits = group.shape.cells();
    let fill = tally.ones as f64 / bits as f64;
    if kind.counts() {
        // Counters tell nothing of the number of keys, and have no rate.
        let fill = tally.ones as f64 / group.shape.slots() as f64;
        let (keys, rate) = (f64::NAN, f64::NAN);
        return Health { fill, keys, rate, whole: None, capacity: None, full: None, overfull: false };
    }
    if kind == Kind::Scalable {
        let (keys, rate) = layers(group, tally.beside.number());
        return Health {
            fill,
            keys: keys as f64,
            rate,
            whole: None,
            capacity: None,
            full: None,
            overfull: false,
        };
    }
    let capacity = group.shape.capacity(group.fpr());
    let Some(most) = capacity else {
        let rate = group.shape.expected_rate(group.keys());
        return Health {
            fill,
            keys: group.keys() as f64,
            rate,
            whole: None,
            capacity,
            full: None,
            overfull: false,
        };
    };
    let estimate = estimated_keys(tally.ones, bits, group.shape.hashes());
    let (keys, rate) = match estimate.is_finite() {
        true => (estimate.min(tally.held() as f64), rate_with(&group.shape, estimate, fill)),
        false => (estimate, 1.0),
    };
    let load = f64::from(group.shape.hashes()) * most as f64 / bits as f64;
    let hashes = f64::from(group.shape.hashes());
    let mut variance = load.exp() - load - 1.0;
    if matches!(kind, Kind::Blocked | Kind::Counting) {
        // Lines get more or fewer keys than others, and so their bits vary more.
        let line = LINE_BITS as f64;
        variance += line * (1.0 - 1.0 / hashes) * (load * hashes / line).exp_m1() - (hashes - 1.0) * load;
    }
    let standard_error = (bits as f64 * variance.max(0.0)).sqrt() / hashes;
    // The published sizes, which are rounded, may miss their rate by a little from the start.
    let allowed = most.max(group.keys()) as f64;
    Health {
        fill,
        keys,
        rate,
        whole: None,
        capacity,
        full: None,
        overfull: keys > allowed + 5.0 * standard_error + 1.0,
    }
}

/// The rate of a shape with about this many keys, which fill this share of its bits.
fn rate_with(shape: &Shape, keys: f64, fill: f64) -> f64 {
    let below = keys.floor() as u64;
    if let Shape::Bloom { hashes, .. } = *shape {
        return fill.powi(hashes as i32).max(least_rate(below));
    }
    let (least, most) = (shape.expected_rate(below), shape.expected_rate(below + 1));
    least + keys.fract() * (most - least)
}

/// The keys of a scalable filter, and the rate to expect with them: the sum over its layers.
fn layers(group: &GroupParams, newest: u64) -> (u64, f64) {
    let layers = group.shape.layers();
    let held = |number| {
        let layer = scalable::layer(group.keys(), group.fpr(), number).ok()?;
        let keys = if number + 1 == layers { newest } else { layer.keys };
        Some((keys, layer.expected_rate(keys)))
    };
    (0..layers).filter_map(held).fold((0, 0.0), |(keys, rate), (more, its)| (keys + more, rate + its))
}
