//! Parameters as a value: what two sketches must share to be merged.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::countmin;
use crate::error::{Difference, Error, ParamsFault, Result};
use crate::fuse;
use crate::hash::{Foreign, Scheme};
use crate::key::Recipe;
use crate::layered;
use crate::ribbon;
use crate::scalable::{self, Sizes};
use crate::sizing::{Kind, MOST_BITS, Shape};

/// The name of a group: bytes, mostly text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name(pub Vec<u8>);

impl Name {
    /// The order for people: numbers by their value, before all other names.
    pub fn compare_naturally(&self, other: &Name) -> Ordering {
        let number =
            |name: &Name| core::str::from_utf8(&name.0).ok().and_then(|text| text.parse::<f64>().ok());
        match (number(self), number(other)) {
            (Some(a), Some(b)) => a.total_cmp(&b).then_with(|| self.cmp(other)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.cmp(other),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name(text.as_bytes().to_vec())
    }
}

/// In JSON a name is a string; one that is not UTF-8 is `{"hex": "…"}`.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum NameInJson {
    Text(String),
    Bytes { hex: String },
}

impl Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match core::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let hex = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
                NameInJson::Bytes { hex }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match NameInJson::deserialize(deserializer)? {
            NameInJson::Text(text) => Ok(Name(text.into_bytes())),
            NameInJson::Bytes { hex } => {
                let byte = |pair: &[u8]| {
                    core::str::from_utf8(pair)
                        .ok()
                        .filter(|p| p.len() == 2 && !p.starts_with('+'))
                        .and_then(|p| u8::from_str_radix(p, 16).ok())
                };
                let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
                bytes.map(Name).ok_or_else(|| serde::de::Error::custom("hex is not a list of bytes"))
            }
        }
    }
}

/// What is common to all groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// The kind of the sketches.
    pub kind: Kind,
    /// How keys are hashed.
    pub hash: Scheme,
    /// How keys are made.
    pub recipe: Recipe,
}

impl Common {
    /// The first version of the format that has all that stands in it.
    pub fn version(&self) -> u32 {
        let of_hash = match self.hash {
            Scheme::Xxh3 { .. } | Scheme::Murmur3 => 1,
            Scheme::SipHash { .. }
            | Scheme::Polynomial { .. }
            | Scheme::Foreign(_)
            | Scheme::SparkCounts(_) => 2,
        };
        let of_kind = if self.kind == Kind::Ribbon { 2 } else { 1 };
        self.recipe.version().max(of_hash).max(of_kind)
    }

    /// That keys can be made and hashed: lists of suffixes and hash keys that they take are known.
    ///
    /// # Errors
    /// Where one is not: which.
    pub fn makes_keys(&self) -> Result<()> {
        self.recipe.makes_keys()?;
        self.hash.hashes_keys()
    }
}

/// What a sketch is planned to keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// Of a filter: a rate of false positives.
    Rate {
        /// The keys it is planned for; in a `layered` the items of a layer, in a `scalable` the keys
        /// of the first one.
        keys: u64,
        /// The rate that it (in a `layered` each layer) should not exceed with them.
        fpr: f64,
    },
    /// Of a `count-min`: how far its estimates are above the truth.
    Error {
        /// The error ε, as a share of the total weight.
        epsilon: f64,
    },
}

/// What is particular to one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "GroupInJson")]
pub struct GroupParams {
    /// Its name; empty where there are no groups.
    pub group: Name,
    /// What it is planned to keep.
    pub goal: Goal,
    /// Its shape.
    pub shape: Shape,
}

impl GroupParams {
    /// A filter for this many keys at this rate.
    pub fn filter(group: Name, keys: u64, fpr: f64, shape: Shape) -> GroupParams {
        GroupParams { group, goal: Goal::Rate { keys, fpr }, shape }
    }

    /// The keys it is planned for; 0 in a `count-min`.
    pub fn keys(&self) -> u64 {
        if let Goal::Rate { keys, .. } = self.goal { keys } else { 0 }
    }

    /// The rate of false positives that it should not exceed. What counts has none: not a number.
    pub fn fpr(&self) -> f64 {
        if let Goal::Rate { fpr, .. } = self.goal { fpr } else { f64::NAN }
    }

    /// The error ε of a `count-min`. A filter has none: not a number.
    pub fn epsilon(&self) -> f64 {
        if let Goal::Error { epsilon } = self.goal { epsilon } else { f64::NAN }
    }

    /// Its numbers, as files and JSON have them.
    pub(crate) fn numbers(&self) -> Numbers {
        let (keys, fpr) = match self.goal {
            Goal::Rate { keys, fpr } => (keys, fpr),
            Goal::Error { epsilon } => (0, epsilon),
        };
        let shape = &self.shape;
        Numbers {
            keys,
            fpr,
            slots: shape.slots(),
            width: shape.width(),
            hashes: shape.hashes(),
            shorter: shape.shorter(),
        }
    }
}

/// The numbers of a group as files and JSON have them: the same for all kinds. The kind tells what they
/// mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Numbers {
    pub keys: u64,
    /// The rate; in a `count-min` the error ε.
    pub fpr: f64,
    pub slots: u64,
    pub width: u32,
    pub hashes: u32,
    /// Of a `ribbon` alone.
    pub shorter: u32,
}

impl Numbers {
    fn shape(&self, kind: Kind) -> Shape {
        Shape::from_numbers(kind, self)
    }

    fn goal(&self, kind: Kind) -> Goal {
        match kind.counts() {
            true => Goal::Error { epsilon: self.fpr },
            false => Goal::Rate { keys: self.keys, fpr: self.fpr },
        }
    }

    /// Whether there is such a sketch.
    fn possible(&self, kind: Kind, hash: Scheme) -> bool {
        let &Numbers { keys, fpr, slots, .. } = self;
        let shape = self.shape(kind);
        let fits = match shape {
            Shape::Blocked { hashes, .. } | Shape::Counting { hashes, .. } => kind.can_have_hashes(hashes),
            Shape::Bloom { bits, hashes } => {
                let whole =
                    if let Scheme::Foreign(foreign) = hash { bits % foreign.unit() == 0 } else { true };
                kind.can_have_hashes(hashes) && bits <= hash.reach() && whole
            }
            Shape::Fuse { slots, fingerprint_bits } => {
                (1..=32).contains(&fingerprint_bits)
                    && fuse::shape(keys).is_ok_and(|fuse| fuse.slots == slots)
            }
            Shape::Ribbon { keys, widths } => keys > 0 && ribbon::words_needed(keys, widths).is_ok(),
            Shape::Layered { .. } => layered::possible(&shape),
            Shape::Scalable { .. } => scalable::shape_has_layers(&shape, Sizes::of(hash), keys, fpr),
            Shape::CountMin { .. } => countmin::possible(&shape, fpr),
        };
        // What does not come back as it was is not what such a sketch has.
        let again = GroupParams { group: Name::default(), goal: self.goal(kind), shape }.numbers();
        fits && again == *self && slots != 0 && shape.bits() <= MOST_BITS && fpr > 0.0 && fpr <= 1.0
    }
}

/// Everything that must be equal for two sketches to be merged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Params {
    /// What is common to all groups.
    #[serde(flatten)]
    pub common: Common,
    /// The groups, sorted by name.
    pub groups: Vec<GroupParams>,
}

/// A group in JSON. What is flattened cannot refuse unknown fields, so this is flat.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupInJson {
    group: Name,
    keys: u64,
    fpr: f64,
    slots: u64,
    width: u32,
    hashes: u32,
    /// Of a `ribbon` alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    shorter: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl From<GroupParams> for GroupInJson {
    fn from(params: GroupParams) -> Self {
        let Numbers { keys, fpr, slots, width, hashes, shorter } = params.numbers();
        GroupInJson { group: params.group, keys, fpr, slots, width, hashes, shorter }
    }
}

/// Parameters as they are read, in the same way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamsInJson {
    kind: Kind,
    hash: Scheme,
    recipe: Recipe,
    groups: Vec<GroupInJson>,
}

impl Params {
    /// Parameters of these groups, sorted and checked.
    pub fn new(common: Common, mut groups: Vec<GroupParams>) -> Result<Params> {
        groups.sort_by(|a, b| a.group.cmp(&b.group));
        let params = Params { common, groups };
        params.check()?;
        Ok(params)
    }

    /// Reads parameters that [`to_json`](Self::to_json) wrote.
    pub fn from_json(text: &str) -> Result<Params> {
        let ParamsInJson { kind, hash, recipe, groups } =
            serde_json::from_str(text).map_err(|error| Error::Params(error.into()))?;
        let common = Common { kind, hash, recipe };
        common.makes_keys()?;
        let numbers = |GroupInJson { group, keys, fpr, slots, width, hashes, shorter }| {
            (group, Numbers { keys, fpr, slots, width, hashes, shorter })
        };
        let mut groups: Vec<(Name, Numbers)> = groups.into_iter().map(numbers).collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        Params::from_numbers(common, groups)
    }

    /// Parameters of groups that stand in their order with the numbers of a file, checked.
    pub(crate) fn from_numbers(common: Common, groups: Vec<(Name, Numbers)>) -> Result<Params> {
        check(&common, groups.iter().map(|(name, numbers)| (name, *numbers)))?;
        let kind = common.kind;
        let group = |(group, numbers): (Name, Numbers)| GroupParams {
            group,
            goal: numbers.goal(kind),
            shape: numbers.shape(kind),
        };
        Ok(Params { groups: groups.into_iter().map(group).collect(), common })
    }

    /// The parameters as JSON, for people and programs.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("parameters are plain data") + "\n"
    }

    /// The group of this name.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.groups.binary_search_by(|group| group.group.0.as_slice().cmp(name)).ok()
    }

    /// The numbers of the groups in the [order for people](Name::compare_naturally).
    pub fn natural_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        order.sort_by(|&a, &b| self.groups[a].group.compare_naturally(&self.groups[b].group));
        order
    }

    /// The first word of each group's section in the data area, and the words in all: sections
    /// stand in the order of names, each at a cache line.
    pub fn layout(&self) -> (Vec<usize>, usize) {
        let mut end = 0usize;
        let mut starts = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            starts.push(end);
            end += (group.shape.words() as usize).next_multiple_of(8);
        }
        (starts, end)
    }

    /// Why this and the other cannot be merged; `None` if they can. Groups that only one side
    /// has do no harm.
    pub fn difference(&self, other: &Params) -> Option<Difference> {
        let (a, b) = (&self.common, &other.common);
        if a.kind != b.kind {
            return Some(Difference::Kinds([a.kind, b.kind]));
        }
        if a.hash != b.hash {
            return Some(Difference::Hashes([a.hash, b.hash]));
        }
        if a.recipe != b.recipe {
            return Some(Difference::Recipes(Box::new([a.recipe.clone(), b.recipe.clone()])));
        }
        let width = |params: &Params| params.groups.first().map(|group| group.shape.width());
        match (width(self), width(other)) {
            (Some(one), Some(two)) if a.kind.counts() && one != two => {
                return Some(Difference::CounterBits([one, two]));
            }
            _ => {}
        }
        for group in &self.groups {
            let Some(at) = other.find(&group.group.0) else { continue };
            let twin = &other.groups[at];
            if group != twin {
                return Some(Difference::Groups(Box::new([group.clone(), twin.clone()])));
            }
        }
        None
    }

    /// That the recipe can be used, the groups are in order, and every shape is possible.
    pub(crate) fn check(&self) -> Result<()> {
        check(&self.common, self.groups.iter().map(|group| (&group.group, group.numbers())))?;
        let kind = self.common.kind;
        let of_kind = |group: &GroupParams| {
            let numbers = group.numbers();
            group.shape == numbers.shape(kind) && group.goal == numbers.goal(kind)
        };
        match self.groups.iter().find(|group| !of_kind(group)) {
            Some(group) => Err(impossible(&group.group, &group.numbers())),
            None => Ok(()),
        }
    }
}

/// The same of groups with the numbers of a file.
fn check<'n>(
    common: &Common,
    groups: impl ExactSizeIterator<Item = (&'n Name, Numbers)> + Clone,
) -> Result<()> {
    common.recipe.check()?;
    let kind = common.kind;
    let placed = match common.hash {
        Scheme::Foreign(Foreign::RedisLinks { .. }) => kind == Kind::Scalable,
        Scheme::SparkCounts(_) => kind == Kind::CountMin,
        hash => hash.by_bytes().is_none() || kind == Kind::Bloom,
    };
    if !placed {
        return Err(ParamsFault::HashOfBloom { hash: common.hash, kind }.into());
    }
    if kind == Kind::Layered && !common.recipe.of_keywords() {
        return Err(ParamsFault::NoKeywords.into());
    }
    if kind == Kind::Layered && common.recipe.has_key_each() {
        return Err(ParamsFault::LayeredEach.into());
    }
    if common.recipe.weight.is_some() && !kind.counts() {
        return Err(ParamsFault::Weights(kind).into());
    }
    let widths = || groups.clone().map(|(_, numbers)| numbers.width);
    if kind.counts() && widths().min() != widths().max() {
        return Err(ParamsFault::CounterBits.into());
    }
    let names = || groups.clone().map(|(name, _)| name);
    let named_none = names().len() == 1 && names().all(|name| name.0.is_empty());
    if common.recipe.group.is_none() && !named_none {
        return Err(ParamsFault::NoGroups.into());
    }
    if names().zip(names().skip(1)).any(|(name, next)| name >= next) {
        return Err(ParamsFault::Order.into());
    }
    let mut total = 0u64;
    for (name, numbers) in groups {
        if !numbers.possible(kind, common.hash) {
            return Err(impossible(name, &numbers));
        }
        total = total.saturating_add(numbers.shape(kind).bits()).saturating_add(512);
    }
    if total > MOST_BITS { Err(Error::TooLarge { bits: total }) } else { Ok(()) }
}

fn impossible(group: &Name, numbers: &Numbers) -> Error {
    let &Numbers { fpr, slots, width, hashes, .. } = numbers;
    ParamsFault::Group { group: group.clone(), slots, width, hashes, fpr }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// To the last bit: parameters that differ in a rate alone do not merge.
        #[test]
        fn parameters_come_back_from_json_as_they_were(bits in 1u64..0x3ff0_0000_0000_0000, name in prop::collection::vec(any::<u8>(), 0..9), seed: u64) {
            let recipe = Recipe { group: Some("a:round".parse().unwrap()), ..Recipe::lines() };
            let common = Common { kind: Kind::Bloom, hash: Scheme::Xxh3 { seed }, recipe };
            let shape = Shape::Bloom { bits: 1000, hashes: 7 };
            let group = GroupParams::filter(Name(name), 100, f64::from_bits(bits), shape);
            let params = Params::new(common, vec![group]).unwrap();
            prop_assert_eq!(Params::from_json(&params.to_json()).unwrap(), params);
        }
    }

    /// What is not known here could mean other keys, and wrong keys are false negatives.
    #[test]
    fn fields_that_are_not_known_are_refused_at_every_level() {
        use serde_json::{Value, json};
        let params = json!({
            "kind": "bloom", "hash": { "name": "xxh3", "seed": 0 },
            "recipe": {
                "key": [{ "column": { "name": "a" }, "steps": ["trim"] }],
                "group": { "column": { "number": 2 } },
            },
            "groups": [{ "group": { "hex": "ff" }, "keys": 1, "fpr": 0.01, "slots": 512, "width": 1, "hashes": 7 }],
        });
        let read = |params: &Value| Params::from_json(&params.to_string());
        read(&params).unwrap();
        let mut murmur = params.clone();
        murmur["hash"] = json!({ "name": "murmur3" });
        read(&murmur).unwrap();
        for (params, places) in [
            (&params, ["", "/hash", "/recipe", "/recipe/key/0", "/recipe/key/0/column", "/recipe/group"]),
            (&params, ["/recipe/group/column", "/groups/0", "/groups/0/group", "", "", ""]),
            (&murmur, ["/hash", "", "", "", "", ""]),
        ] {
            for place in places {
                let mut more = params.clone();
                more.pointer_mut(place).unwrap()["more"] = json!(1);
                assert!(read(&more).is_err(), "{place}: {more}");
            }
        }
    }

    #[test]
    fn a_name_in_hex_has_hexadecimal_digits_only() {
        let name = |hex: &str| serde_json::from_str::<Name>(&format!("{{\"hex\": {hex:?}}}"));
        assert_eq!(name("ff0a").unwrap(), Name(vec![0xff, 0x0a]));
        for hex in ["+f", "f", "-1", " f", "fg", "é"] {
            assert!(name(hex).is_err(), "{hex}");
        }
    }

    #[test]
    fn a_recipe_without_groups_goes_with_one_group_without_a_name() {
        let common = Common { kind: Kind::Bloom, hash: Scheme::DEFAULT, recipe: Recipe::lines() };
        let shape = Shape::Bloom { bits: 1000, hashes: 7 };
        let group = |name: &str| GroupParams::filter(Name::from(name), 100, 0.01, shape);
        assert!(Params::new(common.clone(), vec![group("")]).is_ok());
        for groups in [vec![], vec![group("a")], vec![group(""), group("a")]] {
            assert!(Params::new(common.clone(), groups).is_err());
        }
    }
}
