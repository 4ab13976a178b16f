//! Design before there is data: what keys, bits and rates make of each other.

use tamis::bloom;
use tamis::hash::Scheme;
use tamis::sizing::{Kind, Shape};
use tamis_read::error::{Error, Result};

/// Two of these fix the rest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wishes {
    /// Keys.
    pub keys: Option<u64>,
    /// The rate of false positives.
    pub fpr: Option<f64>,
    /// Bits in all.
    pub bits: Option<u64>,
    /// Bits per key.
    pub bits_per_key: Option<f64>,
    /// The only kind and hash of interest; all kinds where there is none.
    pub only: Option<(Kind, Scheme)>,
}

/// What one kind makes of the wishes.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// The kind.
    pub kind: Kind,
    /// The keys it holds.
    pub keys: u64,
    /// Its shape.
    pub shape: Shape,
    /// The rate to expect.
    pub rate: f64,
}

/// What the kinds make of the wishes.
#[derive(Debug, Clone)]
pub struct Design {
    /// One for each kind that can serve.
    pub options: Vec<Offer>,
    /// Kinds that cannot serve, and why.
    pub refused: Vec<(Kind, String)>,
    /// The rate of the classic filter, if it is among them, for each number of hashes.
    pub by_hashes: Vec<(u32, f64)>,
}

/// Works out what the wishes come to.
pub fn design(wishes: Wishes) -> Result<Design> {
    let missing = || {
        Error::told(match (wishes.fpr, wishes.bits_per_key) {
            (Some(_), Some(_)) => {
                "--fpr and --bits-per-key say the same: give --keys, --bits or --size in place of one".into()
            }
            _ => "two of --keys, --fpr, --bits (or --size) and --bits-per-key fix the rest: give one more"
                .into(),
        })
    };
    let bits_for = |keys: u64| -> Option<u64> {
        wishes.bits.or(wishes.bits_per_key.map(|bits| (bits * keys as f64).min(1e19) as u64))
    };
    let given =
        [wishes.keys.is_some(), wishes.fpr.is_some(), wishes.bits.is_some(), wishes.bits_per_key.is_some()];
    if given.iter().filter(|&&given| given).count() > 2 {
        return Err(Error::told(
            "two of --keys, --fpr, --bits (or --size) and --bits-per-key fix the rest: leave one out".into(),
        ));
    }
    let murmur = matches!(wishes.only, Some((_, Scheme::Murmur3)));
    if murmur && (wishes.keys.is_none() || wishes.fpr.is_none()) {
        return Err(Error::told(
            "murmur3 has the document's m and k, which follow from --keys and --fpr: give both".into(),
        ));
    }
    let kinds = wishes.only.map_or(Kind::PLANNED.to_vec(), |(kind, _)| vec![kind]);
    let mut design = Design { options: Vec::new(), refused: Vec::new(), by_hashes: Vec::new() };
    for kind in kinds {
        let option = match (wishes.keys, wishes.fpr) {
            (Some(keys), Some(fpr)) if murmur => bloom::document_shape(keys, fpr).map(|shape| (keys, shape)),
            (Some(keys), Some(fpr)) => kind.shape_for_rate(keys, fpr).map(|shape| (keys, shape)),
            (Some(keys), None) => {
                kind.shape_for_bits(keys, bits_for(keys).ok_or_else(missing)?).map(|shape| (keys, shape))
            }
            (None, Some(fpr)) => {
                let bits = wishes.bits.ok_or_else(missing)?;
                most_keys(kind, bits, fpr)
            }
            (None, None) => {
                let (Some(bits), Some(each)) = (wishes.bits, wishes.bits_per_key) else {
                    return Err(missing());
                };
                let keys = (bits as f64 / each) as u64;
                kind.shape_for_bits(keys, bits).map(|shape| (keys, shape))
            }
        };
        match option {
            Ok((keys, shape)) => {
                let rate = kind.expected_rate(&shape, keys);
                design.options.push(Offer { kind, keys, shape, rate });
            }
            Err(error) => design.refused.push((kind, error.to_string())),
        }
    }
    if design.options.is_empty() {
        let reason = design.refused.into_iter().next().map(|(_, reason)| reason);
        return Err(Error::told(reason.unwrap_or_default()));
    }
    design.by_hashes = design.classic().map(rates_by_hashes).unwrap_or_default();
    Ok(design)
}

/// The most keys that fit into so many bits at this rate.
fn most_keys(kind: Kind, bits: u64, fpr: f64) -> tamis::Result<(u64, Shape)> {
    let (mut low, mut high) = (0u64, bits.saturating_mul(4).max(2));
    let fits = |keys: u64| kind.shape_for_rate(keys, fpr).is_ok_and(|shape| shape.bits() <= bits);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    if low == 0 {
        return Err(tamis::Error::Shape(format!(
            "{bits} bits are too few for one key of a {kind} filter at {fpr}"
        )));
    }
    Ok((low, kind.shape_for_rate(low, fpr)?))
}

fn rates_by_hashes(classic: &Offer) -> Vec<(u32, f64)> {
    let last = (classic.shape.hashes * 2 + 4).clamp(8, bloom::MOST_HASHES);
    (1..=last)
        .map(|hashes| (hashes, bloom::expected_rate(classic.keys, classic.shape.slots, hashes)))
        .collect()
}

impl Design {
    /// What the classic filter offers, if it can serve.
    pub fn classic(&self) -> Option<&Offer> {
        self.options.iter().find(|option| option.kind == Kind::Bloom)
    }
}
