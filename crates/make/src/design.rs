//! Design before there is data: what keys, bits and rates make of each other.

use tamis::bloom;
use tamis::error::SizeFault;
use tamis::hash::Scheme;
use tamis::sizing::{Choice, Kind, Shape};
use tamis_read::refusal::{self, Help, Opt};

use crate::opt;
use crate::plan::help_with;

/// Two of these fix the rest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wishes {
    /// Keys.
    pub keys: Option<u64>,
    /// The rate of false positives.
    pub fpr: Option<f64>,
    /// Bits in all.
    pub bits: Option<Room>,
    /// Bits per key.
    pub bits_per_key: Option<f64>,
    /// Hashes of a key, beside the two.
    pub hashes: Option<u32>,
    /// The only kind and hash of interest; all kinds if there is none.
    pub only: Option<(Kind, Scheme)>,
}

/// Bits for a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// It has no more than these.
    AtMost(u64),
    /// It has all of these.
    Exactly(u64),
}

impl Room {
    fn bits(self) -> u64 {
        match self {
            Room::AtMost(bits) | Room::Exactly(bits) => bits,
        }
    }
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
            Refusal::Shape(error) => help_with(error),
        }
    }
}

/// What the numbers of a design fix.
enum Fixed {
    KeysAndRate(u64, f64),
    KeysAndBits(u64, Room),
    KeysAndBitsPerKey(u64, f64),
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
        if self.hashes.is_some() && self.fpr.is_some() && self.bits.is_some() {
            return Err(Refusal::TooMany([given, vec![opt::HASHES]].concat()));
        }
        match (self.keys, self.fpr, self.bits, self.bits_per_key) {
            (Some(keys), Some(fpr), ..) => Ok(Fixed::KeysAndRate(keys, fpr)),
            (Some(keys), None, Some(bits), _) => Ok(Fixed::KeysAndBits(keys, bits)),
            (Some(keys), None, None, Some(each)) => Ok(Fixed::KeysAndBitsPerKey(keys, each)),
            (None, Some(fpr), Some(room), _) => Ok(Fixed::BitsAndRate(room.bits(), fpr)),
            (None, Some(_), None, Some(_)) => Err(Refusal::Twice),
            (None, None, Some(room), Some(each)) => {
                Ok(Fixed::KeysAndBits((room.bits() as f64 / each) as u64, room))
            }
            _ => Err(Refusal::TooFew),
        }
    }
}

/// Works out what the wishes come to.
pub fn design(wishes: Wishes) -> Result<Design, Refusal> {
    let fixed = wishes.fixed()?;
    let kinds = wishes.only.map_or(Kind::PLANNED.to_vec(), |(kind, _)| vec![kind]);
    let hash = wishes.only.map_or(Scheme::DEFAULT, |(_, hash)| hash);
    let mut design = Design { options: Vec::new(), refused: Vec::new(), by_hashes: Vec::new() };
    for kind in kinds {
        let choice = Choice { kind, hash, hashes: wishes.hashes };
        let with = |keys: u64, shape: tamis::Result<Shape>| shape.map(|shape| (keys, shape));
        let option = match fixed {
            Fixed::KeysAndRate(keys, fpr) => with(keys, choice.shape_for_rate(keys, fpr)),
            Fixed::KeysAndBits(keys, Room::AtMost(bits)) => with(keys, choice.shape_for_bits(keys, bits)),
            Fixed::KeysAndBits(keys, Room::Exactly(bits)) => with(keys, choice.shape_of_bits(keys, bits)),
            Fixed::KeysAndBitsPerKey(keys, each) => with(keys, choice.shape_for_bits_per_key(keys, each)),
            Fixed::BitsAndRate(bits, fpr) => most_keys(choice, bits, fpr),
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
fn most_keys(choice: Choice, bits: u64, fpr: f64) -> tamis::Result<(u64, Shape)> {
    choice.at_rate(fpr)?;
    let (mut low, mut high) = (0u64, bits.saturating_mul(4).max(2));
    let fits = |keys: u64| choice.shape_for_rate(keys, fpr).is_ok_and(|shape| shape.bits() <= bits);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    if low == 0 {
        return Err(SizeFault::NotOneKey { bits, kind: choice.kind, fpr }.into());
    }
    Ok((low, choice.shape_for_rate(low, fpr)?))
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
