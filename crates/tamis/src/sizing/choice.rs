//! What is sized, where more than a kind was chosen: its hash, and the number of hashes.

use super::{AtRate, Kind, Shape};
use crate::bloom;
use crate::error::{Error, Result, SizeFault};
use crate::hash::Scheme;

/// A kind, the hash that places its keys, and how many hashes a key has where that is chosen by hand.
///
/// ```
/// use tamis::hash::Scheme;
/// use tamis::sizing::{Choice, Kind};
///
/// let one_hash = Choice { hashes: Some(1), ..Choice::new(Kind::Bloom, Scheme::DEFAULT) };
/// let shape = one_hash.shape_of_bits(1_000_000_000, 8_000_000_000)?;
/// assert!((shape.expected_rate(1_000_000_000) - 0.1175).abs() < 0.0001);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// The kind.
    pub kind: Kind,
    /// The hash. With murmur3, sizes follow from the textbook's formulas.
    pub hash: Scheme,
    /// The number of hashes; the best one where none is chosen.
    pub hashes: Option<u32>,
}

/// A choice and a rate: all that does not depend on the number of keys.
#[derive(Debug, Clone, Copy)]
pub struct ChosenRate {
    choice: Choice,
    at: AtRate,
}

impl ChosenRate {
    /// The smallest shape whose expected rate, with this many keys, is at most this rate; with murmur3, that
    /// of the textbook's formulas, and with the hash of another system, that of its own.
    pub fn shape(&self, keys: u64) -> Result<Shape> {
        match self.choice.hash {
            Scheme::Murmur3 => bloom::published(keys, self.at.fpr, self.choice.hashes),
            Scheme::Foreign(foreign) => foreign.shape_for_rate(keys, self.at.fpr, self.choice.hashes),
            _ => self.choice.within_reach(self.at.shape(keys)?),
        }
    }
}

impl Choice {
    /// A kind and its hash, with the best number of hashes.
    pub fn new(kind: Kind, hash: Scheme) -> Choice {
        Choice { kind, hash, hashes: None }
    }

    /// That the kind can have this number of hashes.
    ///
    /// # Errors
    /// Where it cannot.
    pub fn check(&self) -> Result<()> {
        match self.hashes {
            Some(hashes) if !self.kind.can_have_hashes(hashes) => {
                Err(SizeFault::Hashes { kind: self.kind, hashes }.into())
            }
            _ => Ok(()),
        }
    }

    /// Sizes filters for this rate.
    pub fn at_rate(self, fpr: f64) -> Result<ChosenRate> {
        self.check()?;
        let at = self.kind.at_rate(fpr)?;
        let at = self.hashes.map_or(at, |hashes| at.with_hashes(hashes));
        Ok(ChosenRate { choice: self, at })
    }

    /// The smallest shape whose expected rate, with this many keys, is at most `fpr`.
    pub fn shape_for_rate(self, keys: u64, fpr: f64) -> Result<Shape> {
        self.at_rate(fpr)?.shape(keys)
    }

    /// The shape with the lowest expected rate among those of at most this many bits.
    pub fn shape_for_bits(self, keys: u64, bits: u64) -> Result<Shape> {
        let bits = bits - bits % self.unit();
        self.with_best(keys, self.kind.shape_for_bits(keys, bits)?)
    }

    /// The shape of exactly this many bits.
    ///
    /// # Errors
    /// Where the kind has none with that number of bits for these keys.
    pub fn shape_of_bits(self, keys: u64, bits: u64) -> Result<Shape> {
        self.exactly(bits, self.shape_for_bits(keys, bits))
    }

    /// This shape of at most these bits, where it has all of them.
    pub fn exactly(self, bits: u64, shape: Result<Shape>) -> Result<Shape> {
        let below = match shape {
            Ok(shape) if shape.bits() == bits => return Ok(shape),
            Ok(shape) => Some(shape.bits()),
            Err(Error::Size(SizeFault::FewBits { .. })) => None,
            Err(other) => return Err(other),
        };
        Err(SizeFault::Exactly { bits, kind: self.kind, below }.into())
    }

    /// The shape with at least this many bits for each key, in whole lines and blocks.
    pub fn shape_for_bits_per_key(self, keys: u64, bits_per_key: f64) -> Result<Shape> {
        let shape = self.kind.shape_for_bits_per_key(keys, bits_per_key)?;
        let whole = shape.slots().next_multiple_of(self.unit());
        match whole == shape.slots() {
            true => self.with_best(keys, shape),
            false => self.with_best(keys, self.kind.shape_for_bits(keys, whole)?),
        }
    }

    /// The bits are a multiple of this, whatever the kind.
    fn unit(self) -> u64 {
        if let Scheme::Foreign(foreign) = self.hash { foreign.unit() } else { 1 }
    }

    /// The same shape with the number of hashes that was chosen, or with the textbook's.
    fn with_best(self, keys: u64, shape: Shape) -> Result<Shape> {
        self.check()?;
        let hashes = match (self.hashes, self.hash) {
            (Some(hashes), _) => hashes,
            (None, Scheme::Murmur3) => bloom::published_hashes(keys, shape.slots()),
            (None, _) => shape.hashes(),
        };
        self.within_reach(shape.with_hashes(hashes))
    }

    fn within_reach(self, shape: Shape) -> Result<Shape> {
        match shape.slots() <= self.hash.reach() {
            true => Ok(shape),
            false => Err(SizeFault::Reach { hash: self.hash, bits: shape.slots() as f64 }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chosen(kind: Kind, hashes: u32) -> Choice {
        Choice { hashes: Some(hashes), ..Choice::new(kind, Scheme::DEFAULT) }
    }

    proptest! {
        #[test]
        fn a_rate_with_hashes_by_hand_is_kept_and_one_bit_less_does_not_keep_it(
            keys in 1u64..1_000_000, log in -3.0..-0.31f64, hashes in 1u32..=16
        ) {
            let fpr = 10f64.powf(log);
            let shape = chosen(Kind::Bloom, hashes).shape_for_rate(keys, fpr).unwrap();
            prop_assert_eq!(shape.hashes(), hashes);
            prop_assert!(shape.sizing_rate(keys) <= fpr);
            let less = Shape::Bloom { bits: shape.slots() - 1, hashes };
            prop_assert!(less.slots() == 0 || less.sizing_rate(keys) > fpr);
            let best = Kind::Bloom.shape_for_rate(keys, fpr).unwrap();
            prop_assert!(best.hashes() != hashes || best == shape);
        }

        #[test]
        fn bits_by_hand_are_those_of_the_filter_with_every_hash(keys in 1u64..100_000, bits in 1u64..1_000_000, k in 1u32..=64) {
            for hash in [Scheme::DEFAULT, Scheme::Murmur3] {
                let choice = Choice { kind: Kind::Bloom, hash, hashes: Some(k) };
                prop_assert_eq!(choice.shape_of_bits(keys, bits).unwrap(), Shape::Bloom { bits, hashes: k });
                let best = Choice::new(Kind::Bloom, hash).shape_of_bits(keys, bits).unwrap();
                prop_assert_eq!(best.slots(), bits);
            }
        }
    }

    #[test]
    fn kinds_refuse_the_hashes_and_bits_that_they_cannot_have() {
        for (kind, can) in [
            (Kind::Blocked, &[1, 2, 4, 8, 16, 32][..]),
            (Kind::Counting, &[1, 2, 4, 8, 16, 32]),
            (Kind::Fuse, &[3]),
            (Kind::Ribbon, &[1]),
            (Kind::Scalable, &[]),
        ] {
            for hashes in 0..=70 {
                assert_eq!(chosen(kind, hashes).check().is_ok(), can.contains(&hashes), "{kind} {hashes}");
            }
        }
        let refused =
            |kind: Kind, bits| Choice::new(kind, Scheme::DEFAULT).shape_of_bits(409, bits).unwrap_err();
        assert_eq!(
            refused(Kind::Blocked, 1050).to_string(),
            "a blocked filter cannot have exactly 1050 bits; the next number below is 1024"
        );
        assert!(matches!(refused(Kind::Blocked, 100), Error::Size(SizeFault::Exactly { below: None, .. })));
        assert!(matches!(refused(Kind::Counting, 4096 + 512), Error::Size(SizeFault::Exactly { .. })));
        assert!(Choice::new(Kind::Blocked, Scheme::DEFAULT).shape_of_bits(409, 1024).is_ok());
        let far = Choice::new(Kind::Bloom, Scheme::Murmur3).shape_of_bits(1, (1 << 32) + 1).unwrap_err();
        assert!(matches!(far, Error::Size(SizeFault::Reach { .. })), "{far}");
    }

    #[test]
    fn the_textbook_with_its_own_number_of_hashes_by_hand_has_its_number_of_bits_but_for_rounding() {
        let free = bloom::published_shape(1385, 0.01).unwrap();
        let by_hand = bloom::published(1385, 0.01, Some(free.hashes())).unwrap();
        assert_eq!((free.slots(), free.hashes()), (13275, 7));
        // Seven hashes are near the best number, 6.64, for which the usual formula holds.
        assert!((by_hand.slots() as f64 / free.slots() as f64 - 1.0).abs() < 0.003, "{by_hand:?}");
    }
}
