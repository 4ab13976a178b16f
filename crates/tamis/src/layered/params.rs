//! Sizing: one m, a power of two, and one k for all layers.

use crate::bloom;
use crate::error::{Error, Result, SizeFault};
use crate::real::{power, round_ties_even};
use crate::sizing::{Kind, MOST_BITS, Shape};

/// More layers than this are never made.
pub const MOST_LAYERS: u32 = 256;

/// Each layer has whole words.
pub const LEAST_BITS: u64 = 64;

/// The number of layers for this many keywords in this many records: their mean, divided by the
/// number of hash functions, rounded (half to even), and at least 1.
pub fn layers_for(keywords: u64, records: u64, hashes: u32) -> u32 {
    let mean = keywords as f64 / records.max(1) as f64;
    round_ties_even(mean / f64::from(hashes.max(1))).clamp(1.0, f64::from(MOST_LAYERS)) as u32
}

fn check(layers: u32) -> Result<()> {
    if (1..=MOST_LAYERS).contains(&layers) {
        return Ok(());
    }
    Err(SizeFault::Layers(layers).into())
}

/// The smallest shape in which a layer that holds this many items has at most this rate.
pub fn shape_for_rate(items: u64, fpr: f64, layers: u32) -> Result<Shape> {
    check(layers)?;
    let one = Kind::Layered.shape_for_rate(items, fpr)?;
    shape_of(one.slots(), layers, one.hashes())
}

/// The shape whose layers have at least this many bits each.
pub fn shape_of(bits: u64, layers: u32, hashes: u32) -> Result<Shape> {
    check(layers)?;
    let too_large = Error::TooLarge { bits };
    let shape = Shape::Layered { bits: bits.checked_next_power_of_two().ok_or(too_large)?, layers, hashes };
    if shape.bits() > MOST_BITS { Err(Error::TooLarge { bits: shape.bits() }) } else { Ok(shape) }
}

/// The shape of lowest rate whose layers have at most this many bits all together.
pub fn shape_for_bits(items: u64, bits: u64, layers: u32) -> Result<Shape> {
    check(layers)?;
    let each = bits / (u64::from(layers) + 1);
    if items == 0 {
        return Err(Error::NoKeys);
    }
    if bits > MOST_BITS {
        return Err(Error::TooLarge { bits });
    }
    if each < LEAST_BITS {
        let least = LEAST_BITS * (u64::from(layers) + 1);
        return Err(SizeFault::FewBitsForLayers { bits, layers, least }.into());
    }
    let bits = 1 << each.ilog2();
    let hashes = bloom::hashes_for_bits_per_key(bits as f64 / items as f64);
    Ok(Shape::Layered { bits, layers, hashes })
}

/// The number of keywords of a random record for which rates of the whole are given: one in each
/// layer, and two at least, since the XOR of one keyword tells nothing new.
pub fn typical_keywords(layers: u32) -> u32 {
    layers.max(2)
}

/// The rate of the whole for random records of [typical](typical_keywords) length, where each
/// layer has this rate.
pub fn whole_rate(layer_rate: f64, layers: u32) -> f64 {
    power(layer_rate, typical_keywords(layers) + 1)
}

/// The same without the XOR layer: of the first keywords of random records, which are asked for in the other
/// layers alone.
pub fn beginning_rate(layer_rate: f64, layers: u32) -> f64 {
    power(layer_rate, typical_keywords(layers))
}
