//! The sizes of layers: functions of the first one's keys, the rate and the layer's number.

use crate::blocked::keys_that_came;
use crate::error::{Error, Result};
use crate::hash::{Foreign, Scheme};
use crate::sizing::{Kind, MOST_BITS, Shape};

/// One layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layer {
    /// The keys that it takes.
    pub keys: u64,
    /// The rate that it keeps with them.
    pub fpr: f64,
    /// Its shape, that of a blocked filter; with the [sizes](Sizes) of another system, of a classic one.
    pub shape: Shape,
    /// The expected rate when it is full. Keys that it mistook for some of its own were not counted
    /// among those that it takes, so it is a little above the rate that it was sized for.
    pub full_rate: f64,
}

impl Layer {
    /// The expected rate when this many keys were new to it.
    pub fn expected_rate(&self, new: u64) -> f64 {
        if new == self.keys { self.full_rate } else { rate(&self.shape, new) }
    }
}

fn rate(shape: &Shape, new: u64) -> f64 {
    let came = match *shape {
        Shape::Blocked { lines, hashes } => keys_that_came(new, lines, hashes),
        _ => new as f64,
    };
    shape.expected_rate(came as u64)
}

/// How the layers of a filter follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sizes {
    /// As the [module](super) says.
    #[default]
    Ours,
    /// As the links of RedisBloom: classic filters, each for this many times as many keys as the one before, at half of
    /// its rate.
    Redis {
        /// The times.
        growth: u32,
    },
}

impl Sizes {
    /// Those of filters whose keys are placed by this hash.
    pub fn of(hash: Scheme) -> Sizes {
        match hash {
            Scheme::Foreign(Foreign::RedisLinks { growth }) => Sizes::Redis { growth },
            _ => Sizes::Ours,
        }
    }

    /// The layer of this number, from 0, of a filter whose first one is for this many keys at this rate (or, of ours,
    /// which keeps this rate as a whole).
    pub fn layer(self, keys: u64, fpr: f64, number: u32) -> Result<Layer> {
        let Sizes::Redis { growth } = self else { return layer(keys, fpr, number) };
        let too_large = Error::TooLarge { bits: u64::MAX };
        let times = u64::from(growth).checked_pow(number);
        let keys = times.and_then(|times| keys.checked_mul(times)).ok_or(too_large)?;
        let fpr = fpr / (1u64.checked_shl(number).unwrap_or(u64::MAX) as f64);
        let shape = Foreign::Redis.shape_for_rate(keys, fpr, None)?;
        Ok(Layer { keys, fpr, shape, full_rate: shape.expected_rate(keys) })
    }
}

/// The layer of this number, from 0, of a filter whose first one is for this many keys.
pub fn layer(keys: u64, fpr: f64, number: u32) -> Result<Layer> {
    #[cfg(feature = "std")]
    return known::layer(keys, fpr, number);
    #[cfg(not(feature = "std"))]
    return size(keys, fpr, number);
}

/// Sizes that were worked out already: one takes a millisecond, and the filters of thousands of
/// groups have the same.
#[cfg(feature = "std")]
mod known {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use super::{Layer, Result, size};

    thread_local! {
        static KNOWN: RefCell<HashMap<(u64, u64, u32), Layer>> = RefCell::default();
    }

    /// No more sizes are kept than this: those of a few filters, however much they grow.
    const MOST: usize = 1000;

    pub(super) fn layer(keys: u64, fpr: f64, number: u32) -> Result<Layer> {
        let asked = (keys, fpr.to_bits(), number);
        if let Some(layer) = KNOWN.with_borrow(|known| known.get(&asked).copied()) {
            return Ok(layer);
        }
        let layer = size(keys, fpr, number)?;
        KNOWN.with_borrow_mut(|known| {
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(asked, layer);
        });
        Ok(layer)
    }
}

fn size(keys: u64, fpr: f64, number: u32) -> Result<Layer> {
    if !(fpr > 0.0 && fpr < 1.0) {
        return Err(Error::Rate(fpr));
    }
    let too_large = Error::TooLarge { bits: u64::MAX };
    let keys = 1u64.checked_shl(number).and_then(|times| keys.checked_mul(times)).ok_or(too_large)?;
    let fpr = fpr / (f64::from(number + 1) * f64::from(number + 2));
    let shape = Kind::Blocked.shape_for_rate(keys, fpr)?;
    Ok(Layer { keys, fpr, shape, full_rate: rate(&shape, keys) })
}

/// The shape of all layers together.
pub fn shape(keys: u64, fpr: f64, layers: u32) -> Result<Shape> {
    Sizes::Ours.shape(keys, fpr, layers)
}

impl Sizes {
    /// The shape of all layers together.
    pub fn shape(self, keys: u64, fpr: f64, layers: u32) -> Result<Shape> {
        let mut bits = 0u64;
        for number in 0..layers {
            bits = bits.saturating_add(self.layer(keys, fpr, number)?.shape.bits());
            if bits > MOST_BITS {
                return Err(Error::TooLarge { bits });
            }
        }
        Ok(Shape::Scalable { bits, layers })
    }
}

/// The most layers: each has at least twice the bits of the one before, and there cannot be many. (Redis can be told not
/// to grow from link to link; but then it is slow, and says so.)
pub const MOST_LAYERS: u32 = 48;

/// Whether this is the shape of this many layers, for this many keys first, at this rate.
pub fn shape_has_layers(of: &Shape, sizes: Sizes, keys: u64, fpr: f64) -> bool {
    (1..=MOST_LAYERS).contains(&of.layers())
        && sizes.shape(keys, fpr, of.layers()).is_ok_and(|shape| shape == *of)
}
