//! What a build makes. Each variant has all that it needs, and nothing that does not go with it: a kind
//! and a size that contradict each other cannot be written.

use tamis::bloom;
use tamis::countmin::Update;
use tamis::hash::{ByBytes, Scheme, Single};
use tamis::key::Recipe;
use tamis::layered;
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::sizing::Kind;

use super::refusal::{Refusal, refuse_distinct, refuse_heavy, refuse_small_share};
use crate::count::Counted;
use crate::plan::{self, Amount, Asked, Counters, PerKey};

/// What is made of rows.
#[derive(Debug, Clone)]
pub enum Sketches {
    /// Filters whose places follow from the hash of a key alone.
    Bits {
        /// Which of them.
        kind: Bits,
        /// The hash.
        hash: Single,
        /// How large.
        sizing: FilterSizing,
    },
    /// Classic filters as they were published, whose places are hashes of the bytes of a key.
    Published {
        /// The hash.
        hash: ByBytes,
        /// How large.
        sizing: FilterSizing,
    },
    /// Static filters, whose size follows from their own keys.
    Static {
        /// Which of them.
        kind: Static,
        /// The hash.
        hash: Single,
        /// How large.
        size: Asked,
    },
    /// Filters of records of keywords.
    Layered {
        /// The hash.
        hash: Single,
        /// How large, and how many layers.
        sizing: Layering,
    },
    /// Filters from which keys can be removed.
    Counting {
        /// The hash.
        hash: Single,
        /// How large.
        sizing: FilterSizing,
        /// Whether equal keys of a group go in once.
        distinct: bool,
    },
    /// Sketches that count how often keys come.
    Counts {
        /// The hash.
        hash: Single,
        /// How weights are added.
        update: Update,
        /// How many counters, however many keys there are.
        counters: Counters,
        /// The share from which on keys are kept beside them.
        heavy: Option<f64>,
    },
    /// What given parameters say.
    Given(Given),
}

/// Filters whose places follow from the hash of a key alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// One cache line per key.
    Blocked,
    /// The classic filter.
    Bloom,
}

/// Filters that are built of all keys at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Static {
    /// Fast to ask.
    Fuse,
    /// The smallest.
    Ribbon,
}

/// How many keys filters are made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FilterSizing {
    /// The distinct keys of each group are counted first.
    Counted(Asked),
    /// Each group is planned for this many keys; nothing is counted.
    Planned(u64, Asked),
}

/// The layers of filters of records, and their size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Layering {
    /// The number of layers follows from the keywords, which are counted, and from the number of hashes: this
    /// one, or the best for the size.
    Following(PerKey, Option<u32>),
    /// This many layers.
    Fixed(u32, FilterSizing),
}

/// Given parameters, and what is made of them. They hold a kind that a build can make.
#[derive(Debug, Clone)]
pub struct Given {
    params: Params,
    way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Rows,
    Static,
    Distinct,
    Counts { heavy: Option<f64> },
}

impl Given {
    /// Sketches of these parameters; `distinct` and `heavy` as for [`Sketches`].
    pub fn new(params: Params, distinct: bool, heavy: Option<f64>) -> Result<Given, Refusal> {
        let kind = params.common.kind;
        refuse_distinct(distinct, kind)?;
        refuse_heavy(heavy, kind)?;
        let way = match kind {
            Kind::Scalable => return Err(Refusal::Scalable),
            Kind::CountMin | Kind::CountMinConservative => {
                let epsilon = params.groups.iter().map(GroupParams::epsilon).fold(0.0, f64::max);
                refuse_small_share(heavy, epsilon)?;
                Way::Counts { heavy }
            }
            Kind::Fuse | Kind::Ribbon => Way::Static,
            Kind::Counting if distinct => Way::Distinct,
            Kind::Counting | Kind::Blocked | Kind::Bloom | Kind::Layered => Way::Rows,
        };
        Ok(Given { params, way })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }
}

/// What must be known of the rows before the parameters are.
pub(crate) enum Need<'a> {
    /// The distinct keys of each group.
    Keys(Measure),
    /// The same, for static filters whose rates are given.
    Slots(&'a Params),
    /// The names of the groups.
    Names(Each),
    /// Nothing: they are given.
    Nothing(&'a Params),
}

/// How filters are sized by their keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    asked: Asked,
    layers: Layers,
}

#[derive(Debug, Clone, Copy)]
enum Layers {
    /// The kind has none, or it is given how many.
    Fixed(u32),
    /// They follow from the keywords, and the hashes that this much for each key comes to.
    Following(PerKey),
}

impl Measure {
    /// The parameters of what was counted.
    pub fn parameters(self, common: Common, counted: &mut Counted) -> Result<Params, plan::Refusal> {
        let groups = counted.planned();
        plan::refuse_empty(&groups)?;
        let layers = match self.layers {
            Layers::Fixed(layers) => layers,
            Layers::Following(each) => {
                let best = || match each {
                    PerKey::Fpr(fpr) => bloom::best_for_rate(fpr).0,
                    PerKey::Bits(bits) => bloom::hashes_for_bits_per_key(bits),
                };
                let hashes = self.asked.hashes.unwrap_or_else(best);
                let (keywords, records) = counted.keywords_and_records().unwrap_or_default();
                layered::layers_for(keywords, records, hashes)
            }
        };
        plan::parameters(common, groups, self.asked, layers)
    }
}

/// Sketches that are all alike, whatever their keys.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Each {
    /// Filters for this many keys.
    Filter { keys: u64, asked: Asked, layers: u32 },
    /// Counters.
    Counters(Counters),
}

impl Each {
    /// The parameters of these groups.
    pub fn parameters(self, common: Common, names: Vec<Name>) -> Result<Params, plan::Refusal> {
        match self {
            Each::Filter { keys, asked, layers } => {
                let counts = names.into_iter().map(|name| (name, keys)).collect();
                plan::parameters(common, counts, asked, layers)
            }
            Each::Counters(counters) => Ok(counters.parameters(common, names)?),
        }
    }
}

/// How keys get into sketches whose parameters are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Putting {
    /// Row by row.
    Rows,
    /// The different keys of a group once.
    Distinct,
    /// All keys of a group at once.
    Static,
    /// Row by row, with the weight of each; keys of this share are kept.
    Weights { heavy: Option<f64> },
}

/// Filters that can be made of the hashes that were counted, without the keys themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfHashes {
    Bits(Bits),
    Counting,
}

impl Sketches {
    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Sketches::Bits { kind: Bits::Blocked, .. } => Kind::Blocked,
            Sketches::Bits { kind: Bits::Bloom, .. } | Sketches::Published { .. } => Kind::Bloom,
            Sketches::Static { kind: Static::Fuse, .. } => Kind::Fuse,
            Sketches::Static { kind: Static::Ribbon, .. } => Kind::Ribbon,
            Sketches::Layered { .. } => Kind::Layered,
            Sketches::Counting { .. } => Kind::Counting,
            Sketches::Counts { update: Update::Plain, .. } => Kind::CountMin,
            Sketches::Counts { update: Update::Conservative, .. } => Kind::CountMinConservative,
            Sketches::Given(given) => given.params.common.kind,
        }
    }

    /// The hash.
    pub fn hash(&self) -> Scheme {
        match self {
            Sketches::Published { hash, .. } => (*hash).into(),
            Sketches::Given(given) => given.params.common.hash,
            Sketches::Bits { hash, .. }
            | Sketches::Static { hash, .. }
            | Sketches::Layered { hash, .. }
            | Sketches::Counting { hash, .. }
            | Sketches::Counts { hash, .. } => (*hash).into(),
        }
    }

    /// Kind and hash, with this recipe.
    pub fn common(&self, recipe: Recipe) -> Common {
        Common { kind: self.kind(), hash: self.hash(), recipe }
    }

    /// The share from which on keys are kept beside sketches that count.
    pub fn heavy(&self) -> Option<f64> {
        match self {
            Sketches::Counts { heavy, .. } => *heavy,
            Sketches::Given(Given { way: Way::Counts { heavy }, .. }) => *heavy,
            _ => None,
        }
    }

    /// The same, keeping no keys beside sketches that count.
    pub(crate) fn without_heavy(&self) -> Sketches {
        let mut sketches = self.clone();
        if let Sketches::Counts { heavy, .. } | Sketches::Given(Given { way: Way::Counts { heavy }, .. }) =
            &mut sketches
        {
            *heavy = None;
        }
        sketches
    }

    /// Whether filters share a size in all, by the keys that are counted.
    pub fn share_a_size(&self) -> bool {
        matches!(self.need(), Need::Keys(Measure { asked, .. }) if asked.amount.is_total())
    }

    /// Whether it is recorded that keys were counted: where they are, and bits or hashes were chosen by hand, or
    /// the hash is one of version 2 alone.
    pub(crate) fn records_count(&self) -> bool {
        let Need::Keys(Measure { asked, layers: Layers::Fixed(0) }) = self.need() else { return false };
        let by_hand = asked.hashes.is_some() || !matches!(asked.amount, Amount::Size(_));
        let newer = matches!(self.hash(), Scheme::Polynomial { .. } | Scheme::Foreign(_));
        !self.kind().is_static() && (by_hand || newer)
    }

    /// What must be known of the rows first.
    pub(crate) fn need(&self) -> Need<'_> {
        let filters = |sizing: FilterSizing, layers: u32| match sizing {
            FilterSizing::Counted(asked) => Need::Keys(Measure { asked, layers: Layers::Fixed(layers) }),
            FilterSizing::Planned(keys, asked) => Need::Names(Each::Filter { keys, asked, layers }),
        };
        match self {
            Sketches::Bits { sizing, .. }
            | Sketches::Published { sizing, .. }
            | Sketches::Counting { sizing, .. } => filters(*sizing, 0),
            Sketches::Static { size, .. } => filters(FilterSizing::Counted(*size), 0),
            Sketches::Layered { sizing: Layering::Fixed(layers, sizing), .. } => filters(*sizing, *layers),
            Sketches::Layered { sizing: Layering::Following(each, hashes), .. } => {
                let asked = Asked { amount: Amount::Size((*each).into()), hashes: *hashes };
                Need::Keys(Measure { asked, layers: Layers::Following(*each) })
            }
            Sketches::Counts { counters, .. } => Need::Names(Each::Counters(*counters)),
            Sketches::Given(Given { params, way: Way::Static }) => Need::Slots(params),
            Sketches::Given(given) => Need::Nothing(&given.params),
        }
    }

    /// How keys get into them.
    pub(crate) fn putting(&self) -> Putting {
        match self {
            Sketches::Bits { .. } | Sketches::Published { .. } | Sketches::Layered { .. } => Putting::Rows,
            Sketches::Counting { distinct: false, .. } => Putting::Rows,
            Sketches::Counting { distinct: true, .. } => Putting::Distinct,
            Sketches::Static { .. } => Putting::Static,
            Sketches::Counts { heavy, .. } => Putting::Weights { heavy: *heavy },
            Sketches::Given(given) => match given.way {
                Way::Rows => Putting::Rows,
                Way::Static => Putting::Static,
                Way::Distinct => Putting::Distinct,
                Way::Counts { heavy } => Putting::Weights { heavy },
            },
        }
    }

    /// Those that can be made of the hashes that were counted: positions by the bytes of a key and those of
    /// records need the keys themselves; counters, every row.
    pub(crate) fn of_hashes(&self) -> Option<OfHashes> {
        match self {
            Sketches::Bits { kind, .. } => Some(OfHashes::Bits(*kind)),
            Sketches::Counting { distinct: true, .. } => Some(OfHashes::Counting),
            _ => None,
        }
    }
}
