//! The kind of sketch that was asked for, and what follows from it together with a size.

use serde::{Deserialize, Serialize};
use tamis::countmin::Update;
use tamis::hash::{HashKey, Single};
use tamis::key::{Column, Field, Keywords, Recipe};
use tamis::layered::MOST_LAYERS;
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_read::refusal::Opt;

use super::hashing::{HashName, Hashing};
use super::json;
use super::sizes::{chosen, share};
use super::{ByHand, Counting, Refusal, Sizes};
use tamis_make::build::{
    Bits, FilterSizing, Layering, Sketches, Static, refuse_distinct, refuse_heavy, refuse_small_share,
};
use tamis_make::opt;
use tamis_make::plan::{Amount, Asked, PerKey, Size};

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
        self.kind.is_some() || self.hash.is_some_and(HashName::is_of_bloom)
    }

    /// Kind, hash and recipe together.
    pub fn common(&self, mut recipe: Recipe) -> Result<Common, Refusal> {
        if self.conservative && !self.kind.is_some_and(Kind::counts) {
            return Err(Refusal::Conservative);
        }
        let chosen = if self.conservative { Some(Kind::CountMinConservative) } else { self.kind };
        let hash = self.hashing().scheme()?;
        let kind = match (hash.by_bytes(), chosen) {
            (Some(_), Some(kind)) if kind != Kind::Bloom => return Err(Refusal::HashOfBloom { hash, kind }),
            (Some(_), _) => Kind::Bloom,
            (None, kind) => kind.unwrap_or(Kind::Blocked),
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
    (sizes, by_hand, counting): (&Sizes, &ByHand, &Counting),
    heavy: Option<f64>,
    distinct: bool,
) -> Result<Sketches, Refusal> {
    let kind = common.kind;
    refuse_mixed(kind, [sizes.given(), by_hand.given()].concat(), counting.given())?;
    refuse_distinct(distinct, kind)?;
    refuse_heavy(heavy, kind)?;
    let sizing = || sizing(sizes, by_hand, common);
    if let Some(hash) = common.hash.by_bytes() {
        return Ok(Sketches::Published { hash, sizing: sizing()? });
    }
    let hash = common.hash.single().unwrap_or(Single::DEFAULT); // all others have one
    let bits = |kind| Ok(Sketches::Bits { kind, hash, sizing: sizing()? });
    let fixed = |kind| Ok(Sketches::Static { kind, hash, size: asked(sizes, by_hand, common)? });
    let counts = |update| {
        let heavy = heavy.map(|heavy| share("a share", opt::HEAVY, heavy)).transpose()?;
        let counters = counting.counters(heavy)?;
        refuse_small_share(heavy, counters.epsilon)?;
        Ok(Sketches::Counts { hash, update, counters, heavy })
    };
    match kind {
        Kind::Blocked => bits(Bits::Blocked),
        Kind::Bloom => bits(Bits::Bloom),
        Kind::Fuse | Kind::Ribbon if sizes.keys.is_some() => Err(Refusal::StaticKeys(kind)),
        Kind::Fuse => fixed(Static::Fuse),
        Kind::Ribbon => fixed(Static::Ribbon),
        Kind::Layered => Ok(Sketches::Layered { hash, sizing: layering(layers, sizing()?)? }),
        Kind::Counting => Ok(Sketches::Counting { hash, sizing: sizing()?, distinct }),
        Kind::Scalable => Err(tamis_make::build::Refusal::Scalable.into()),
        Kind::CountMin => counts(Update::Plain),
        Kind::CountMinConservative => counts(Update::Conservative),
    }
}

/// Filters of this kind and hash, as small as keep this rate for the keys that are counted.
pub fn at_rate(common: &Common, fpr: f64) -> Result<Sketches, Refusal> {
    let sizes = Sizes { fpr: Some(fpr), ..Sizes::default() };
    sketches(common, None, (&sizes, &ByHand::default(), &Counting::default()), None, false)
}

/// A size and hashes that this kind can have.
fn asked(sizes: &Sizes, by_hand: &ByHand, common: &Common) -> Result<Asked, Refusal> {
    let asked = sizes.asked(by_hand)?;
    tamis_make::plan::check(common, asked)?;
    Ok(asked)
}

fn sizing(sizes: &Sizes, by_hand: &ByHand, common: &Common) -> Result<FilterSizing, Refusal> {
    let asked = asked(sizes, by_hand, common)?;
    match sizes.keys()? {
        None => Ok(FilterSizing::Counted(asked)),
        Some(_) if asked.amount.is_total() && common.recipe.group.is_some() => Err(Refusal::TotalOfGroups),
        Some(keys) => Ok(FilterSizing::Planned(keys, asked)),
    }
}

fn layering(layers: Option<u32>, sizing: FilterSizing) -> Result<Layering, Refusal> {
    let (planned, Asked { amount, hashes }) = match sizing {
        FilterSizing::Counted(asked) => (false, asked),
        FilterSizing::Planned(_, asked) => (true, asked),
    };
    match (layers, amount) {
        (Some(layers @ 1..=MOST_LAYERS), _) => Ok(Layering::Fixed(layers, sizing)),
        (Some(layers), _) => Err(Refusal::Layers(layers)),
        (None, Amount::Size(Size::Total(_)) | Amount::Bits(_) | Amount::BitsEach(_)) => {
            Err(Refusal::LayersOfSize)
        }
        (None, _) if planned => Err(Refusal::LayersUncounted),
        (None, Amount::Size(Size::Fpr(fpr))) => Ok(Layering::Following(PerKey::Fpr(fpr), hashes)),
        (None, Amount::Size(Size::BitsPerKey(bits))) => Ok(Layering::Following(PerKey::Bits(bits), hashes)),
    }
}
