//! The kind of sketch that was asked for, and what follows from it together with a size.

use serde::{Deserialize, Serialize};
use tamis::countmin::Update;
use tamis::hash::{HashKey, Scheme};
use tamis::key::{Column, Field, Keywords, Recipe};
use tamis::layered::MOST_LAYERS;
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_read::refusal::Opt;

use super::hashing::{HashName, Hashing};
use super::json;
use super::sizes::{chosen, share};
use super::{Counting, Refusal, Sizes};
use tamis_make::build::{
    Bits, FilterSizing, Layering, Rate, Sketches, refuse_distinct, refuse_heavy, refuse_small_share,
};
use tamis_make::opt;
use tamis_make::plan::{PerKey, Size};

/// The kind and its hash, as far as they were chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kinds {
    /// The kind.
    #[serde(with = "json::optional")]
    pub kind: Option<Kind>,
    /// Whether counters are updated conservatively.
    pub conservative: bool,
    /// The layers of a `layered`.
    pub layers: Option<u32>,
    /// The hash. Its fields stand here, since one flat struct cannot hold another.
    pub hash: Option<HashName>,
    /// Its seed.
    pub seed: Option<u64>,
    /// Its secret key.
    pub hash_key: Option<HashKey>,
}

impl Kinds {
    fn hashing(&self) -> Hashing {
        Hashing { hash: self.hash, seed: self.seed, hash_key: self.hash_key }
    }

    /// The options that were given.
    pub fn given(&self) -> Vec<Opt> {
        let given = [
            (self.kind.is_some(), opt::KIND),
            (self.conservative, opt::CONSERVATIVE),
            (self.layers.is_some(), opt::LAYERS),
        ];
        chosen(&given).into_iter().chain(self.hashing().given()).collect()
    }

    /// Whether a kind was chosen, or a hash that implies one.
    pub fn chosen(&self) -> bool {
        self.kind.is_some() || self.hash == Some(HashName::Murmur3)
    }

    /// Kind, hash and recipe together.
    pub fn common(&self, mut recipe: Recipe) -> Result<Common, Refusal> {
        if self.conservative && !self.kind.is_some_and(Kind::counts) {
            return Err(Refusal::Conservative);
        }
        let chosen = if self.conservative { Some(Kind::CountMinConservative) } else { self.kind };
        let hash = self.hashing().scheme()?;
        let kind = match (hash, chosen) {
            (Scheme::Murmur3, Some(kind)) if kind != Kind::Bloom => return Err(Refusal::MurmurKind(kind)),
            (Scheme::Murmur3, _) => Kind::Bloom,
            (_, kind) => kind.unwrap_or(Kind::Blocked),
        };
        if kind == Kind::Layered && !recipe.of_keywords() {
            return Err(Refusal::LayeredKeys);
        }
        // The words of a document are what is asked for; all of them together are what a `layered` holds.
        if recipe.record.is_some() && recipe.of_keywords() && kind != Kind::Layered {
            recipe.keywords = Some(Keywords::Each);
        }
        refuse_each(&recipe, kind)?;
        if recipe.weight.is_some() && !kind.counts() {
            return Err(Refusal::Weight(kind));
        }
        if kind != Kind::Layered && self.layers.is_some() {
            return Err(Refusal::LayersOf(kind));
        }
        refuse_keyword_steps(&recipe)?;
        Ok(Common { kind, hash, recipe })
    }
}

/// Refuses keywords that are keys of their own where there are none, and where rows are one key each.
fn refuse_each(recipe: &Recipe, kind: Kind) -> Result<(), Refusal> {
    let of_rows = |field: &&Field| !matches!(field.column, Column::Line | Column::File);
    let mut fields = recipe.key.iter().chain(&recipe.group).chain(&recipe.weight);
    if let Some(field) = fields.find(of_rows).filter(|_| recipe.record.is_some()) {
        return Err(Refusal::ColumnOfDocument(field.column.clone()));
    }
    match recipe.has_key_each() {
        true if !recipe.of_keywords() => Err(Refusal::EachOfNone),
        true if matches!(kind, Kind::Layered | Kind::CountMinConservative) => Err(Refusal::EachOfKind(kind)),
        _ => Ok(()),
    }
}

fn refuse_keyword_steps(recipe: &Recipe) -> Result<(), Refusal> {
    let of_keys = recipe.key.iter().filter(|field| field.splitting().is_none()).count();
    let one_value = |field: &Option<Field>| field.as_ref().is_none_or(|field| field.splitting().is_none());
    let mixed = 0 < of_keys && of_keys < recipe.key.len();
    match mixed || !one_value(&recipe.group) || !one_value(&recipe.weight) {
        true => Err(Refusal::KeywordSteps),
        false => Ok(()),
    }
}

/// Refuses sizes of filters for what counts, and sizes of counters for filters.
pub fn refuse_mixed(kind: Kind, of_filters: Vec<Opt>, of_counters: Vec<Opt>) -> Result<(), Refusal> {
    match kind.counts() {
        true if !of_filters.is_empty() => Err(Refusal::FilterSizes(of_filters)),
        false if !of_counters.is_empty() => Err(Refusal::Counters { kind, given: of_counters }),
        _ => Ok(()),
    }
}

/// What is made, of kind, hash and recipe and a size; `heavy` and `distinct` as they were asked for.
pub fn sketches(
    common: &Common,
    layers: Option<u32>,
    (sizes, counting): (&Sizes, &Counting),
    heavy: Option<f64>,
    distinct: bool,
) -> Result<Sketches, Refusal> {
    let kind = common.kind;
    refuse_mixed(kind, sizes.given(), counting.given())?;
    refuse_distinct(distinct, kind)?;
    refuse_heavy(heavy, kind)?;
    let Some(hash) = common.hash.single() else { return published(sizes) };
    let bits = |kind| Ok(Sketches::Bits { kind, hash, sizing: sizing(sizes, common)? });
    let counts = |update| {
        let heavy = heavy.map(|heavy| share("a share", opt::HEAVY, heavy)).transpose()?;
        let counters = counting.counters(heavy)?;
        refuse_small_share(heavy, counters.epsilon)?;
        Ok(Sketches::Counts { hash, update, counters, heavy })
    };
    match kind {
        Kind::Blocked => bits(Bits::Blocked),
        Kind::Bloom => bits(Bits::Bloom),
        Kind::Fuse if sizes.keys.is_some() => Err(Refusal::FuseKeys),
        Kind::Fuse => Ok(Sketches::Fuse { hash, size: at(sizes, kind)? }),
        Kind::Layered => Ok(Sketches::Layered { hash, sizing: layering(layers, sizes, common)? }),
        Kind::Counting => Ok(Sketches::Counting { hash, sizing: sizing(sizes, common)?, distinct }),
        Kind::Scalable => Err(tamis_make::build::Refusal::Scalable.into()),
        Kind::CountMin => counts(Update::Plain),
        Kind::CountMinConservative => counts(Update::Conservative),
    }
}

/// Filters of this kind and hash, as small as keep this rate for the keys that are counted.
pub fn at_rate(common: &Common, fpr: f64) -> Result<Sketches, Refusal> {
    let sizes = Sizes { fpr: Some(fpr), ..Sizes::default() };
    sketches(common, None, (&sizes, &Counting::default()), None, false)
}

/// A size that this kind can have.
fn at(sizes: &Sizes, kind: Kind) -> Result<Size, Refusal> {
    let size = sizes.size()?;
    if let Size::Fpr(fpr) = size {
        kind.at_rate(fpr)?;
    }
    Ok(size)
}

fn sizing(sizes: &Sizes, common: &Common) -> Result<FilterSizing, Refusal> {
    let size = at(sizes, common.kind)?;
    match sizes.keys()? {
        None => Ok(FilterSizing::Counted(size)),
        Some(_) if matches!(size, Size::Total(_)) && common.recipe.group.is_some() => {
            Err(Refusal::TotalOfGroups)
        }
        Some(keys) => Ok(FilterSizing::Planned(keys, size)),
    }
}

fn published(sizes: &Sizes) -> Result<Sketches, Refusal> {
    let rate = match at(sizes, Kind::Bloom)? {
        Size::Fpr(fpr) => Rate(fpr),
        Size::BitsPerKey(_) => return Err(tamis_make::plan::Refusal::PublishedSize(opt::BITS_PER_KEY).into()),
        Size::Total(_) => return Err(tamis_make::plan::Refusal::PublishedSize(opt::SIZE).into()),
    };
    Ok(Sketches::Published(match sizes.keys()? {
        None => FilterSizing::Counted(rate),
        Some(keys) => FilterSizing::Planned(keys, rate),
    }))
}

fn layering(layers: Option<u32>, sizes: &Sizes, common: &Common) -> Result<Layering, Refusal> {
    let sizing = sizing(sizes, common)?;
    match (layers, sizing) {
        (Some(layers @ 1..=MOST_LAYERS), sizing) => Ok(Layering::Fixed(layers, sizing)),
        (Some(layers), _) => Err(Refusal::Layers(layers)),
        (None, FilterSizing::Counted(Size::Fpr(fpr))) => Ok(Layering::Following(PerKey::Fpr(fpr))),
        (None, FilterSizing::Counted(Size::BitsPerKey(bits))) => Ok(Layering::Following(PerKey::Bits(bits))),
        (None, FilterSizing::Counted(Size::Total(_)) | FilterSizing::Planned(_, Size::Total(_))) => {
            Err(Refusal::LayersOfSize)
        }
        (None, FilterSizing::Planned(..)) => Err(Refusal::LayersUncounted),
    }
}
