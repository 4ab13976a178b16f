//! From counts to parameters.

use std::collections::HashMap;

use tamis::blocked::LINE_BITS;
use tamis::bloom;
use tamis::counting::COUNTER_BITS;
use tamis::countmin;
use tamis::hash::Scheme;
use tamis::layered;
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::sizing::{Kind, Shape};
use tamis_read::error::{Error, Result};

/// How large the filters shall be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// As small as keeps the rate of false positives at or below this.
    Fpr(f64),
    /// So many bits per key.
    BitsPerKey(f64),
    /// So many bytes for all groups together, shared so that all have the same expected rate.
    Total(u64),
}

/// How large sketches that count shall be: all groups alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counters {
    /// The error ε that is promised.
    pub epsilon: f64,
    /// The rows and their counters.
    pub shape: Shape,
}

impl Counters {
    /// As many as keep this error but for this probability, of 64 or 32 bits.
    pub fn for_error(epsilon: f64, delta: f64, bits: u32) -> Result<Counters> {
        Ok(Counters { epsilon, shape: countmin::shape(epsilon, delta, bits)? })
    }

    /// So many in each of so many rows; the error follows.
    pub fn by_hand(row: u64, depth: u32, bits: u32) -> Result<Counters> {
        let shape = countmin::shape_by_hand(row, depth, bits)?;
        Ok(Counters { epsilon: countmin::epsilon_of(row), shape })
    }

    /// The parameters of sketches of these groups.
    pub fn parameters(self, common: Common, names: Vec<Name>) -> Result<Params> {
        let Counters { epsilon, shape } = self;
        let group = |group| GroupParams { group, keys: 0, fpr: epsilon, shape };
        Ok(Params::new(common, names.into_iter().map(group).collect())?)
    }
}

/// The number of layers of a `layered`: as asked for, or what follows from the keywords and the
/// records that were counted. Other kinds have none.
pub fn layers(common: &Common, size: Size, asked: Option<u32>, counted: Option<(u64, u64)>) -> Result<u32> {
    if common.kind != Kind::Layered {
        return Ok(0);
    }
    let hashes = match (asked, size) {
        (Some(layers), _) => {
            return match layers {
                1..=layered::MOST_LAYERS => Ok(layers),
                _ => Err(Error::told(format!("--layers must lie between 1 and {}", layered::MOST_LAYERS))),
            };
        }
        (None, Size::Fpr(fpr)) => bloom::best_for_rate(fpr).0,
        (None, Size::BitsPerKey(bits)) => bloom::hashes_for_bits_per_key(bits),
        (None, Size::Total(_)) => {
            return Err(Error::told(
                "the number of layers follows from that of the hashes, and this from the size of a layer: with --size, give --layers N".into(),
            ));
        }
    };
    let (keywords, records) = counted.ok_or_else(|| {
        Error::told(
            "the number of layers follows from the keywords, which are not counted: give --layers N".into(),
        )
    })?;
    Ok(layered::layers_for(keywords, records, hashes))
}

/// The parameters of groups with so many keys each; in a `layered`, so many items in a layer.
pub fn parameters(common: Common, counts: Vec<(Name, u64)>, size: Size, layers: u32) -> Result<Params> {
    check(&common, size)?;
    refuse_empty(&counts)?;
    let groups = match size {
        Size::Fpr(fpr) => at_rate(&common, &counts, fpr, layers)?,
        Size::BitsPerKey(bits) if common.kind == Kind::Layered => {
            let hashes = bloom::hashes_for_bits_per_key(bits);
            let slots = |keys: u64| ((keys as f64 * bits).ceil() as u64).max(layered::LEAST_BITS);
            let shape =
                |keys| Ok(Shape { slots: slots(keys).next_power_of_two(), width: layers + 1, hashes });
            shaped(&common, &counts, shape)?
        }
        Size::BitsPerKey(bits) => {
            // Whole lines and blocks: rounded up, so that no key gets fewer bits.
            let unit = match common.kind {
                Kind::Blocked => LINE_BITS,
                Kind::Counting => LINE_BITS * u64::from(COUNTER_BITS),
                _ => 1,
            };
            let shape = |keys: u64| {
                let bits = (keys as f64 * bits).ceil() as u64;
                common.kind.shape_for_bits(keys, bits.next_multiple_of(unit))
            };
            let mut groups = shaped(&common, &counts, shape)?;
            // The best number of hashes for these bits, not for what rounding to whole lines made of them.
            let best = common.kind.shape_for_bits(1 << 30, ((1u64 << 30) as f64 * bits) as u64)?.hashes;
            groups.iter_mut().for_each(|group| group.shape.hashes = best);
            groups
        }
        Size::Total(bytes) => within(&common, &counts, bytes, layers)?,
    };
    let mut groups = groups;
    if !matches!(size, Size::Fpr(_)) {
        for group in &mut groups {
            group.fpr = common.kind.expected_rate(&group.shape, group.keys).clamp(f64::MIN_POSITIVE, 1.0);
        }
    }
    Ok(Params::new(common, groups)?)
}

/// Refuses to plan for nothing.
pub fn refuse_empty(counts: &[(Name, u64)]) -> Result<()> {
    if counts.is_empty() {
        return Err(Error::told(
            "the input has no keys: nothing to build from (--keys N makes an empty filter)".into(),
        ));
    }
    Ok(())
}

/// Refuses a size that does not go with the kind and the hash, whatever the number of keys.
pub fn check(common: &Common, size: Size) -> Result<()> {
    match size {
        Size::Fpr(fpr) => common.kind.at_rate(fpr).map(drop).map_err(Error::from),
        Size::BitsPerKey(bits) => {
            refuse_murmur(common, "--bits-per-key")?;
            if bits > 0.0 && bits <= 10_000.0 {
                return Ok(());
            }
            Err(Error::told(format!("--bits-per-key must lie between 0 and 10,000: {bits} does not")))
        }
        Size::Total(_) => refuse_murmur(common, "--size"),
    }
}

fn refuse_murmur(common: &Common, flag: &str) -> Result<()> {
    match common.hash {
        Scheme::Murmur3 => Err(Error::told(format!(
            "murmur3 has the document's m and k, which follow from --fpr; leave out {flag}"
        ))),
        Scheme::Xxh3 { .. } => Ok(()),
    }
}

fn at_rate(common: &Common, counts: &[(Name, u64)], fpr: f64, layers: u32) -> Result<Vec<GroupParams>> {
    let mut groups = match common.hash {
        Scheme::Murmur3 => shaped(common, counts, |keys| bloom::document_shape(keys, fpr)),
        Scheme::Xxh3 { .. } => {
            let sizes = common.kind.at_rate(fpr)?;
            shaped(common, counts, |keys| match common.kind {
                Kind::Layered => sizes.shape(keys).map(|shape| shape.with_layers(layers)),
                _ => sizes.shape(keys),
            })
        }
    }?;
    groups.iter_mut().for_each(|group| group.fpr = fpr);
    Ok(groups)
}

/// Many groups have equally many keys: each number is sized once.
fn shaped(
    common: &Common,
    counts: &[(Name, u64)],
    shape: impl Fn(u64) -> tamis::Result<Shape>,
) -> Result<Vec<GroupParams>> {
    let mut known: HashMap<u64, Shape> = HashMap::new();
    let mut groups = Vec::with_capacity(counts.len());
    for (name, keys) in counts {
        let shape = match known.get(keys) {
            Some(shape) => *shape,
            None => *known.entry(*keys).or_insert(shape(*keys)?),
        };
        groups.push(GroupParams { group: name.clone(), keys: *keys, fpr: 0.5, shape });
    }
    debug_assert!(common.kind != Kind::Fuse || groups.iter().all(|group| group.shape.width > 0));
    Ok(groups)
}

/// The lowest rate, the same for all groups, at which they fit into so many bytes.
fn within(common: &Common, counts: &[(Name, u64)], bytes: u64, layers: u32) -> Result<Vec<GroupParams>> {
    let total = |groups: &[GroupParams]| -> u64 {
        groups.iter().map(|group| (group.shape.words(common.kind) * 8).next_multiple_of(64)).sum()
    };
    // A file without groups is sized to the byte.
    if let [(_, keys)] = counts {
        let padding = if common.kind == Kind::Fuse { 128 } else { 0 };
        let bits = (bytes / 64 * 64).saturating_sub(padding).saturating_mul(8);
        return shaped(common, counts, |_| match common.kind {
            Kind::Layered => layered::shape_for_bits(*keys, bits, layers),
            kind => kind.shape_for_bits(*keys, bits),
        });
    }
    let (mut low, mut high) = (-90.0f64, -0.001f64); // logarithms of the rate: too large, small enough
    let mut best = at_rate(common, counts, high.exp(), layers)?;
    if total(&best) > bytes {
        return Err(Error::told(format!(
            "{bytes} bytes are too few for {} groups: at least {} are needed",
            counts.len(),
            total(&best)
        )));
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        match at_rate(common, counts, middle.exp(), layers) {
            Ok(groups) if total(&groups) <= bytes => {
                high = middle;
                best = groups;
            }
            _ => low = middle,
        }
    }
    Ok(best)
}
