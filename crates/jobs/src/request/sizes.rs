//! How large sketches shall be, as far as that was asked for.

use serde::{Deserialize, Serialize};
use tamis::countmin::{DEFAULT_DELTA, DEFAULT_EPSILON};
use tamis_read::refusal::Opt;

use super::{Refusal, json};
use tamis_make::opt;
use tamis_make::plan::{Amount, Asked, Counters, Size, check_bits_per_key};

/// The rate of filters where nothing else is asked for.
const DEFAULT_FPR: f64 = 0.01;

/// The requested size of filters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sizes {
    /// The rate of false positives, not to be exceeded.
    pub fpr: Option<f64>,
    /// Bits for each key.
    pub bits_per_key: Option<f64>,
    /// Bytes for all groups together.
    #[serde(with = "json::in_bytes")]
    pub size: Option<u64>,
    /// The keys that each group is planned for; nothing is counted then.
    pub keys: Option<u64>,
}

impl Sizes {
    /// The options that were given.
    pub fn given(&self) -> Vec<Opt> {
        chosen(&self.sizes()).into_iter().chain(self.keys.map(|_| opt::KEYS)).collect()
    }

    /// The options of which one is given at most.
    fn sizes(&self) -> [(bool, Opt); 3] {
        [
            (self.fpr.is_some(), opt::FPR),
            (self.bits_per_key.is_some(), opt::BITS_PER_KEY),
            (self.size.is_some(), opt::SIZE),
        ]
    }

    /// The size asked for.
    pub fn size(&self) -> Result<Size, Refusal> {
        let given = chosen(&self.sizes());
        match (self.fpr, self.bits_per_key, self.size) {
            _ if given.len() > 1 => Err(Refusal::SeveralSizes(given)),
            (_, Some(bits), _) => {
                check_bits_per_key(bits)?;
                Ok(Size::BitsPerKey(bits))
            }
            (.., Some(bytes)) => Ok(Size::Total(not_zero("bytes", opt::SIZE, bytes)?)),
            (fpr, ..) => Ok(Size::Fpr(share("a rate", opt::FPR, fpr.unwrap_or(DEFAULT_FPR))?)),
        }
    }

    /// How large filters shall be, and their hashes.
    pub fn asked(&self, by_hand: &ByHand) -> Result<Asked, Refusal> {
        let given = chosen(&[&self.sizes()[..], &by_hand.sizes()].concat());
        let amount = match (by_hand.bits, by_hand.bits_per_group) {
            _ if given.len() > 1 => return Err(Refusal::SeveralSizes(given)),
            (Some(bits), _) => Amount::Bits(not_zero("bits", opt::BITS, bits)?),
            (_, Some(bits)) => Amount::BitsEach(not_zero("bits", opt::BITS_PER_GROUP, bits)?),
            (None, None) => Amount::Size(self.size()?),
        };
        Ok(Asked { amount, hashes: by_hand.hashes })
    }

    /// The keys asked for.
    pub fn keys(&self) -> Result<Option<u64>, Refusal> {
        match self.keys {
            Some(0) => Err(Refusal::Zero { what: "keys", option: opt::KEYS }),
            keys => Ok(keys),
        }
    }
}

/// The numbers of a filter, chosen by hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ByHand {
    /// Hashes of a key.
    pub hashes: Option<u32>,
    /// Bits: of the filter where there are no groups, and otherwise of all groups together.
    pub bits: Option<u64>,
    /// Bits of each group.
    pub bits_per_group: Option<u64>,
}

impl ByHand {
    /// The options that were given.
    pub fn given(&self) -> Vec<Opt> {
        chosen(&[&[(self.hashes.is_some(), opt::HASHES)][..], &self.sizes()].concat())
    }

    fn sizes(&self) -> [(bool, Opt); 2] {
        [(self.bits.is_some(), opt::BITS), (self.bits_per_group.is_some(), opt::BITS_PER_GROUP)]
    }
}

/// The requested size of sketches that count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counting {
    /// The error.
    pub epsilon: Option<f64>,
    /// The probability that an estimate exceeds that error.
    pub delta: Option<f64>,
    /// Counters in a row, in place of the error.
    pub width: Option<u64>,
    /// Rows, in place of the probability.
    pub depth: Option<u32>,
    /// Bits of a counter.
    pub counter_bits: Option<u32>,
}

impl Counting {
    /// The options that were given.
    pub fn given(&self) -> Vec<Opt> {
        let given = [
            (self.epsilon.is_some(), opt::EPSILON),
            (self.delta.is_some(), opt::DELTA),
            (self.width.is_some(), opt::WIDTH),
            (self.depth.is_some(), opt::DEPTH),
            (self.counter_bits.is_some(), opt::COUNTER_BITS),
        ];
        chosen(&given)
    }

    /// The error and its probability, where rows and counters follow from them and keys of such a
    /// share are listed.
    pub fn error(&self, heavy: Option<f64>) -> (f64, f64) {
        // A share can be told from an error of a tenth of it.
        let usual = heavy.map_or(DEFAULT_EPSILON, |share| DEFAULT_EPSILON.min(share / 10.0));
        (self.epsilon.unwrap_or(usual), self.delta.unwrap_or(DEFAULT_DELTA))
    }

    /// Whether rows and counters follow from the error and its probability.
    pub fn by_error(&self) -> bool {
        self.width.is_none() && self.depth.is_none()
    }

    /// The counters, where keys of such a share are listed.
    pub fn counters(&self, heavy: Option<f64>) -> Result<Counters, Refusal> {
        if self.epsilon.is_some() && self.width.is_some() {
            return Err(Refusal::InPlaceOf(opt::EPSILON, opt::WIDTH));
        }
        if self.delta.is_some() && self.depth.is_some() {
            return Err(Refusal::InPlaceOf(opt::DELTA, opt::DEPTH));
        }
        let bits = match self.counter_bits {
            None => 64,
            Some(bits @ (32 | 64)) => bits,
            Some(other) => return Err(Refusal::CounterBits(other)),
        };
        let (epsilon, delta) = self.error(heavy);
        let epsilon = share("an error", opt::EPSILON, epsilon)?;
        let delta = share("a probability", opt::DELTA, delta)?;
        let by_error = Counters::for_error(epsilon, delta, bits)?;
        if self.by_error() {
            return Ok(by_error);
        }
        let row = self.width.unwrap_or(by_error.shape.row());
        let depth = self.depth.unwrap_or(by_error.shape.hashes());
        let by_hand = Counters::by_hand(row, depth, bits)?;
        Ok(match self.width {
            Some(_) => by_hand,
            None => Counters { epsilon, ..by_hand },
        })
    }
}

/// The options that were given, of all there are.
pub(super) fn chosen(options: &[(bool, Opt)]) -> Vec<Opt> {
    options.iter().filter(|(given, _)| *given).map(|(_, option)| *option).collect()
}

fn not_zero(what: &'static str, option: Opt, number: u64) -> Result<u64, Refusal> {
    if number == 0 { Err(Refusal::Zero { what, option }) } else { Ok(number) }
}

/// A number between 0 and 1.
pub(super) fn share(what: &'static str, option: Opt, share: f64) -> Result<f64, Refusal> {
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(Refusal::Share { what, option, share }) }
}

/// A number of bytes: `64MB`, `1.5GiB`, `1000`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e').unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0f64.powi(4),
        _ => {
            return Err(format!("unknown unit {unit:?}; use KB, MB, GB, TB, KiB, MiB, GiB or TiB"));
        }
    };
    let number =
        digits.trim().parse::<f64>().map_err(|_| "not a number of bytes (64MB, 1GiB)".to_owned())? * factor;
    if !(1.0..=1e18).contains(&number) {
        return Err("must be between 1 byte and 1e18 bytes".into());
    }
    Ok(number as u64)
}
