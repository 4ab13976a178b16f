//! From counts to parameters.

use std::collections::HashMap;

use tamis::bloom;
use tamis::countmin;
use tamis::error::SizeFault;
use tamis::layered;
use tamis::params::{Common, Goal, GroupParams, Name, Params};
use tamis::sizing::{Choice, Kind, MOST_BITS_PER_KEY, Shape};
use tamis_read::refusal::{self, Help};

use crate::opt;

/// The requested size of the filters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// As small as keeps the rate of false positives at or below this.
    Fpr(f64),
    /// This many bits per key.
    BitsPerKey(f64),
    /// This many bytes for all groups together, shared so that all have the same expected rate.
    Total(u64),
}

/// A size, or bits that are chosen by hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// A size.
    Size(Size),
    /// This many bits: exactly these where there are no groups, and otherwise in all, shared as bytes are.
    Bits(u64),
    /// Exactly this many bits for each group.
    BitsEach(u64),
}

impl Amount {
    /// Whether it is for all groups together.
    pub fn is_total(self) -> bool {
        matches!(self, Amount::Size(Size::Total(_)) | Amount::Bits(_))
    }
}

/// How large filters shall be, and the number of hashes where it is chosen by hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked {
    /// How large.
    pub amount: Amount,
    /// The hashes; as many as are best where none are chosen.
    pub hashes: Option<u32>,
}

impl From<Size> for Asked {
    fn from(size: Size) -> Asked {
        Asked { amount: Amount::Size(size), hashes: None }
    }
}

/// A size that follows for each key, without a look at the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PerKey {
    /// As many bits as keep the rate of false positives at or below this.
    Fpr(f64),
    /// This many bits.
    Bits(f64),
}

impl From<PerKey> for Size {
    fn from(each: PerKey) -> Size {
        match each {
            PerKey::Fpr(fpr) => Size::Fpr(fpr),
            PerKey::Bits(bits) => Size::BitsPerKey(bits),
        }
    }
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There are no keys to plan for.
    #[error("the input has no keys to build from")]
    NoKeys,
    /// Too few bits for a key, or too many.
    #[error("bits per key lie between 0 and 10,000, and {0} do not")]
    BitsPerKey(f64),
    /// The groups do not fit.
    #[error(
        "{} need {} at least, not {}",
        crate::number::counted(*groups as u64, "group"),
        crate::number::counted(*least, if *in_bits { "bit" } else { "byte" }),
        crate::number::count(*given)
    )]
    TooFew {
        /// The bytes for all of them, or the bits.
        given: u64,
        /// The groups.
        groups: usize,
        /// The bytes that they need, or the bits.
        least: u64,
        /// Whether bits were asked for.
        in_bits: bool,
    },
    /// An estimate that the rows cannot have given.
    #[error(
        "{} distinct keys{} are estimated, of only {} that were read: some keys were chosen to mislead the estimate, which anyone can do who knows the seed of the hash",
        crate::number::count(*keys),
        crate::text::of_group(group),
        crate::number::count(*of)
    )]
    ChosenKeys {
        /// The group; no name where there are no groups, or for all together.
        group: Name,
        /// The keys that would be planned for.
        keys: u64,
        /// The keys that were read.
        of: u64,
    },
    /// No sketch has such a shape.
    #[error(transparent)]
    Shape(#[from] tamis::Error),
}

impl Refusal {
    /// The same where this many bits were asked for, of which whole bytes were taken.
    fn in_bits(self, given: u64) -> Refusal {
        match self {
            Refusal::TooFew { groups, least, .. } => {
                Refusal::TooFew { given, groups, least: least * 8, in_bits: true }
            }
            other => other,
        }
    }
}

/// A plan, or why there is none.
type Result<T, E = Refusal> = std::result::Result<T, E>;

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::NoKeys => vec![Help::Do("name data with keys"), Help::give(opt::KEYS.with("N"))],
            Refusal::BitsPerKey(_) => vec![Help::give(opt::BITS_PER_KEY.with("10"))],
            Refusal::TooFew { in_bits: true, .. } => vec![Help::give_more(opt::BITS)],
            Refusal::TooFew { .. } => vec![Help::give_more(opt::SIZE)],
            Refusal::ChosenKeys { .. } => {
                vec![another_seed(), secret_key(), Help::give(opt::KEYS.with("N"))]
            }
            Refusal::Shape(error) => help_with(error),
        }
    }
}

/// What helps where there is no sketch of such a shape.
pub fn help_with(error: &tamis::Error) -> Vec<Help> {
    match error {
        tamis::Error::Size(SizeFault::Exactly { below, .. }) => {
            let below = below.map(|bits| Help::give(opt::BITS.with(bits.to_string())));
            below.into_iter().chain([Help::give(opt::KIND.with(Kind::Bloom.name()))]).collect()
        }
        tamis::Error::Size(SizeFault::Hashes { kind, .. }) => match kind {
            Kind::Bloom | Kind::Layered => vec![Help::give(opt::HASHES.with("N"))],
            _ => vec![Help::leave_out(opt::HASHES), Help::give(opt::KIND.with(Kind::Bloom.name()))],
        },
        _ => vec![],
    }
}

/// What helps against keys that were chosen without the file at hand.
pub(crate) fn another_seed() -> Help {
    Help::give(opt::SEED.with("random"))
}

/// What helps against keys that anyone chooses.
pub(crate) fn secret_key() -> Help {
    Help::Give(vec![opt::HASH.with("siphash"), opt::HASH_KEY.with("FILE")])
}

/// The requested size of sketches that count, the same for all groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counters {
    /// The error ε that is promised.
    pub epsilon: f64,
    /// The rows and their counters.
    pub shape: Shape,
}

impl Counters {
    /// As many as keep this error except for this probability, of 64 or 32 bits.
    pub fn for_error(epsilon: f64, delta: f64, bits: u32) -> tamis::Result<Counters> {
        Ok(Counters { epsilon, shape: countmin::shape(epsilon, delta, bits)? })
    }

    /// This many in each of this many rows; the error follows.
    pub fn by_hand(row: u64, depth: u32, bits: u32) -> tamis::Result<Counters> {
        let shape = countmin::shape_by_hand(row, depth, bits)?;
        Ok(Counters { epsilon: countmin::epsilon_of(row), shape })
    }

    /// The parameters of sketches of these groups.
    pub fn parameters(self, common: Common, names: Vec<Name>) -> tamis::Result<Params> {
        let Counters { epsilon, shape } = self;
        let group = |group| GroupParams { group, goal: Goal::Error { epsilon }, shape };
        Params::new(common, names.into_iter().map(group).collect())
    }
}

/// The parameters of groups with this many keys each; in a `layered`, this many items in a layer.
pub fn parameters(
    common: Common,
    counts: Vec<(Name, u64)>,
    asked: impl Into<Asked>,
    layers: u32,
) -> Result<Params> {
    let asked = asked.into();
    check(&common, asked)?;
    refuse_empty(&counts)?;
    let choice = choice(&common, asked);
    let shapes = match asked.amount {
        Amount::Size(Size::Fpr(fpr)) => at_rate(choice, &counts, fpr, layers)?,
        Amount::Size(Size::BitsPerKey(bits)) if common.kind == Kind::Layered => {
            let hashes = asked.hashes.unwrap_or_else(|| bloom::hashes_for_bits_per_key(bits));
            let bits = |keys: u64| ((keys as f64 * bits).ceil() as u64).max(layered::LEAST_BITS);
            let shape = |keys| layered::shape_of(bits(keys), layers, hashes);
            shaped(&counts, shape)?
        }
        Amount::Size(Size::BitsPerKey(bits)) => {
            shaped(&counts, |keys| choice.shape_for_bits_per_key(keys, bits))?
        }
        Amount::Size(Size::Total(bytes)) => within(choice, &counts, bytes, layers)?,
        Amount::Bits(bits) if common.recipe.group.is_none() => exactly(choice, &counts, bits, layers)?,
        Amount::Bits(bits) => {
            within(choice, &counts, bits / 8, layers).map_err(|refusal| refusal.in_bits(bits))?
        }
        Amount::BitsEach(bits) => exactly(choice, &counts, bits, layers)?,
    };
    let group = |((name, keys), shape): ((Name, u64), Shape)| {
        let fpr = match asked.amount {
            Amount::Size(Size::Fpr(fpr)) => fpr,
            _ => shape.sizing_rate(keys).clamp(f64::MIN_POSITIVE, 1.0),
        };
        GroupParams::filter(name, keys, fpr, shape)
    };
    Ok(Params::new(common, counts.into_iter().zip(shapes).map(group).collect())?)
}

/// Refuses to plan for nothing.
pub fn refuse_empty(counts: &[(Name, u64)]) -> Result<()> {
    if counts.is_empty() {
        return Err(Refusal::NoKeys);
    }
    Ok(())
}

/// Refuses a size that does not go with the kind and the hash, whatever the number of keys.
pub fn check(common: &Common, asked: Asked) -> Result<()> {
    let choice = choice(common, asked);
    choice.check()?;
    match asked.amount {
        Amount::Size(Size::Fpr(fpr)) => Ok(choice.at_rate(fpr).map(drop)?),
        Amount::Size(Size::BitsPerKey(bits)) => check_bits_per_key(bits),
        // Whether lines are whole does not depend on the number of keys.
        Amount::BitsEach(bits) => whole_lines(choice, bits),
        Amount::Bits(bits) if common.recipe.group.is_none() => whole_lines(choice, bits),
        Amount::Size(Size::Total(_)) | Amount::Bits(_) => Ok(()),
    }
}

fn whole_lines(choice: Choice, bits: u64) -> Result<()> {
    match choice.kind {
        Kind::Blocked | Kind::Counting | Kind::Bloom => Ok(choice.shape_of_bits(1, bits).map(drop)?),
        _ => Ok(()),
    }
}

/// What is sized.
fn choice(common: &Common, asked: Asked) -> Choice {
    Choice { kind: common.kind, hash: common.hash, hashes: asked.hashes }
}

/// Refuses numbers of bits per key that no filter has.
pub fn check_bits_per_key(bits: f64) -> Result<()> {
    if bits > 0.0 && bits <= MOST_BITS_PER_KEY { Ok(()) } else { Err(Refusal::BitsPerKey(bits)) }
}

fn at_rate(choice: Choice, counts: &[(Name, u64)], fpr: f64, layers: u32) -> Result<Vec<Shape>> {
    let sizes = choice.at_rate(fpr)?;
    shaped(counts, |keys| match choice.kind {
        Kind::Layered => {
            let one = sizes.shape(keys)?;
            layered::shape_of(one.slots(), layers, one.hashes())
        }
        _ => sizes.shape(keys),
    })
}

/// Exactly this many bits for each group.
fn exactly(choice: Choice, counts: &[(Name, u64)], bits: u64, layers: u32) -> Result<Vec<Shape>> {
    shaped(counts, |keys| choice.exactly(bits, at_most(choice, keys, bits, layers)))
}

/// As many of these bits as a filter can have.
fn at_most(choice: Choice, keys: u64, bits: u64, layers: u32) -> tamis::Result<Shape> {
    match (choice.kind, choice.hashes) {
        (Kind::Layered, Some(hashes)) => {
            let shape = layered::shape_for_bits(keys, bits, layers)?;
            layered::shape_of(shape.slots(), layers, hashes)
        }
        (Kind::Layered, None) => layered::shape_for_bits(keys, bits, layers),
        _ => choice.shape_for_bits(keys, bits),
    }
}

/// The shapes of groups with this many keys each. Many have equally many: each number is sized once.
fn shaped(counts: &[(Name, u64)], shape: impl Fn(u64) -> tamis::Result<Shape>) -> Result<Vec<Shape>> {
    let mut known: HashMap<u64, Shape> = HashMap::new();
    let mut shapes = Vec::with_capacity(counts.len());
    for (_, keys) in counts {
        shapes.push(match known.get(keys) {
            Some(shape) => *shape,
            None => *known.entry(*keys).or_insert(shape(*keys)?),
        });
    }
    Ok(shapes)
}

/// The lowest rate, the same for all groups, at which they fit into this many bytes.
fn within(choice: Choice, counts: &[(Name, u64)], bytes: u64, layers: u32) -> Result<Vec<Shape>> {
    let total = |shapes: &[Shape]| -> u64 {
        shapes.iter().map(|shape| (shape.words() * 8).next_multiple_of(64)).sum()
    };
    // A file without groups is sized to the byte.
    if let [(_, keys)] = counts {
        let padding = if choice.kind == Kind::Fuse { 128 } else { 0 };
        let bits = (bytes / 64 * 64).saturating_sub(padding).saturating_mul(8);
        return shaped(counts, |_| at_most(choice, *keys, bits, layers));
    }
    let (mut low, mut high) = (-90.0f64, -0.001f64); // logarithms of the rate: too large, small enough
    let mut best = at_rate(choice, counts, high.exp(), layers)?;
    if total(&best) > bytes {
        let least = total(&best);
        return Err(Refusal::TooFew { given: bytes, groups: counts.len(), least, in_bits: false });
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        match at_rate(choice, counts, middle.exp(), layers) {
            Ok(shapes) if total(&shapes) <= bytes => {
                high = middle;
                best = shapes;
            }
            _ => low = middle,
        }
    }
    Ok(best)
}
