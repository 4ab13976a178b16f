//! The sizes of layers: functions of the first one's keys, the rate and the layer's number.

use crate::error::{Error, Result};
use crate::sizing::{Kind, MOST_BITS, Shape};

/// One layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layer {
    /// The keys that it takes.
    pub keys: u64,
    /// The rate that it keeps with them.
    pub fpr: f64,
    /// Its shape, that of a blocked filter.
    pub shape: Shape,
}

impl Layer {
    /// The expected rate with this many keys.
    pub fn expected_rate(&self, keys: u64) -> f64 {
        self.shape.expected_rate(keys)
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
    Ok(Layer { keys, fpr, shape: Kind::Blocked.shape_for_rate(keys, fpr)? })
}

/// The shape of all layers together.
pub fn shape(keys: u64, fpr: f64, layers: u32) -> Result<Shape> {
    let mut bits = 0u64;
    for number in 0..layers {
        bits = bits.saturating_add(layer(keys, fpr, number)?.shape.bits());
        if bits > MOST_BITS {
            return Err(Error::TooLarge { bits });
        }
    }
    Ok(Shape::Scalable { bits, layers })
}

/// Whether this is the shape of this many layers, for this many keys first, at this rate.
pub fn shape_has_layers(of: &Shape, keys: u64, fpr: f64) -> bool {
    // Each layer has at least twice the bits of the one before: there cannot be many.
    (1..=48).contains(&of.layers()) && shape(keys, fpr, of.layers()).is_ok_and(|shape| shape == *of)
}
