//! Design before there is data: what keys, bits and rates make of each other.

use tamis::bloom;
use tamis::error::SizeFault;
use tamis::hash::Scheme;
use tamis::sizing::{Kind, Shape};
use tamis_read::refusal::{self, Help, Opt};

use crate::opt;

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
    /// The only kind and hash of interest; all kinds if there is none.
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
#[derive(Debug)]
pub struct Design {
    /// One for each kind that can serve.
    pub options: Vec<Offer>,
    /// Kinds that cannot serve, and why.
    pub refused: Vec<(Kind, tamis::Error)>,
    /// The rate of the classic filter, if it is among them, for each number of hashes.
    pub by_hashes: Vec<(u32, f64)>,
}

/// Why numbers make no design.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// One number is missing.
    #[error("two numbers fix the rest, and one more is needed")]
    TooFew,
    /// There is one too many.
    #[error("two numbers fix the rest, and there are more")]
    TooMany(Vec<Opt>),
    /// A rate and the bits for each key: one follows from the other.
    #[error("the rate follows from the bits per key; the number of keys is missing")]
    Twice,
    /// The published filter is made for keys and a rate.
    #[error("murmur3 has the published numbers of bits and hashes, which follow from the keys and the rate")]
    Published,
    /// No kind has such a shape.
    #[error(transparent)]
    Shape(#[from] tamis::Error),
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        let any = |options: &[Opt]| Help::GiveOne(options.iter().map(|option| (*option).into()).collect());
        match self {
            Refusal::TooFew => {
                vec![any(&[opt::KEYS, opt::FPR, opt::BITS, opt::SIZE, opt::BITS_PER_KEY])]
            }
            Refusal::TooMany(given) => vec![Help::LeaveOutOne(given.clone())],
            Refusal::Twice => vec![any(&[opt::KEYS, opt::BITS, opt::SIZE])],
            Refusal::Published => vec![Help::Give(vec![opt::KEYS.into(), opt::FPR.into()])],
            Refusal::Shape(_) => vec![],
        }
    }
}

/// What the numbers of a design fix.
enum Fixed {
    KeysAndRate(u64, f64),
    KeysAndBits(u64, u64),
    BitsAndRate(u64, f64),
}

impl Wishes {
    /// Whether two of the numbers fix the rest.
    pub fn check(&self) -> Result<(), Refusal> {
        self.fixed().map(drop)
    }

    fn fixed(&self) -> Result<Fixed, Refusal> {
        let given = [
            self.keys.map(|_| opt::KEYS),
            self.fpr.map(|_| opt::FPR),
            self.bits.map(|_| opt::BITS),
            self.bits_per_key.map(|_| opt::BITS_PER_KEY),
        ];
        let given: Vec<Opt> = given.into_iter().flatten().collect();
        if given.len() > 2 {
            return Err(Refusal::TooMany(given));
        }
        if matches!(self.only, Some((_, Scheme::Murmur3))) && (self.keys.is_none() || self.fpr.is_none()) {
            return Err(Refusal::Published);
        }
        match (self.keys, self.fpr, self.bits, self.bits_per_key) {
            (Some(keys), Some(fpr), ..) => Ok(Fixed::KeysAndRate(keys, fpr)),
            (Some(keys), None, Some(bits), _) => Ok(Fixed::KeysAndBits(keys, bits)),
            (Some(keys), None, None, Some(each)) => {
                Ok(Fixed::KeysAndBits(keys, (each * keys as f64).min(1e19) as u64))
            }
            (None, Some(fpr), Some(bits), _) => Ok(Fixed::BitsAndRate(bits, fpr)),
            (None, Some(_), None, Some(_)) => Err(Refusal::Twice),
            (None, None, Some(bits), Some(each)) => Ok(Fixed::KeysAndBits((bits as f64 / each) as u64, bits)),
            _ => Err(Refusal::TooFew),
        }
    }
}

/// Works out what the wishes come to.
pub fn design(wishes: Wishes) -> Result<Design, Refusal> {
    let fixed = wishes.fixed()?;
    let murmur = matches!(wishes.only, Some((_, Scheme::Murmur3)));
    let kinds = wishes.only.map_or(Kind::PLANNED.to_vec(), |(kind, _)| vec![kind]);
    let mut design = Design { options: Vec::new(), refused: Vec::new(), by_hashes: Vec::new() };
    for kind in kinds {
        let option = match fixed {
            Fixed::KeysAndRate(keys, fpr) if murmur => {
                bloom::published_shape(keys, fpr).map(|shape| (keys, shape))
            }
            Fixed::KeysAndRate(keys, fpr) => kind.shape_for_rate(keys, fpr).map(|shape| (keys, shape)),
            Fixed::KeysAndBits(keys, bits) => kind.shape_for_bits(keys, bits).map(|shape| (keys, shape)),
            Fixed::BitsAndRate(bits, fpr) => most_keys(kind, bits, fpr),
        };
        match option {
            Ok((keys, shape)) => {
                let rate = shape.expected_rate(keys);
                design.options.push(Offer { kind, keys, shape, rate });
            }
            Err(error) => design.refused.push((kind, error)),
        }
    }
    if design.options.is_empty()
        && let Some((_, reason)) = design.refused.pop()
    {
        return Err(reason.into());
    }
    design.by_hashes = design.classic().map(rates_by_hashes).unwrap_or_default();
    Ok(design)
}

/// The most keys that fit into this many bits at this rate.
fn most_keys(kind: Kind, bits: u64, fpr: f64) -> tamis::Result<(u64, Shape)> {
    let (mut low, mut high) = (0u64, bits.saturating_mul(4).max(2));
    let fits = |keys: u64| kind.shape_for_rate(keys, fpr).is_ok_and(|shape| shape.bits() <= bits);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    if low == 0 {
        return Err(SizeFault::NotOneKey { bits, kind, fpr }.into());
    }
    Ok((low, kind.shape_for_rate(low, fpr)?))
}

fn rates_by_hashes(classic: &Offer) -> Vec<(u32, f64)> {
    let last = (classic.shape.hashes() * 2 + 4).clamp(8, bloom::MOST_HASHES);
    (1..=last)
        .map(|hashes| (hashes, bloom::expected_rate(classic.keys, classic.shape.slots(), hashes)))
        .collect()
}

impl Design {
    /// What the classic filter offers, if it can serve.
    pub fn classic(&self) -> Option<&Offer> {
        self.options.iter().find(|option| option.kind == Kind::Bloom)
    }
}
