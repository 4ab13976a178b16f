//! Parameters as a value: what two sketches must share to be merged.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::blocked::LINE_BITS;
use crate::bloom::MOST_HASHES;
use crate::counting::COUNTER_BITS;
use crate::countmin;
use crate::error::{Error, Result};
use crate::fuse;
use crate::hash::Scheme;
use crate::key::Recipe;
use crate::layered;
use crate::scalable;
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

/// What is particular to one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "GroupInJson")]
pub struct GroupParams {
    /// Its name; empty where there are no groups.
    pub group: Name,
    /// The keys it is planned for; in a `layered` the items of a layer; 0 in a `count-min`.
    pub keys: u64,
    /// The rate that it (in a `layered` each layer) should not exceed with them; in a `count-min`
    /// the error ε.
    pub fpr: f64,
    /// Its shape.
    #[serde(flatten)]
    pub shape: Shape,
}

/// Everything that must be equal for two sketches to be merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "ParamsInJson")]
pub struct Params {
    /// What is common to all groups.
    #[serde(flatten)]
    pub common: Common,
    /// The groups, sorted by name.
    pub groups: Vec<GroupParams>,
}

/// A group as it is read. What is flattened cannot refuse unknown fields, so this is flat.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupInJson {
    group: Name,
    keys: u64,
    fpr: f64,
    slots: u64,
    width: u32,
    hashes: u32,
}

impl From<GroupInJson> for GroupParams {
    fn from(GroupInJson { group, keys, fpr, slots, width, hashes }: GroupInJson) -> Self {
        GroupParams { group, keys, fpr, shape: Shape { slots, width, hashes } }
    }
}

/// Parameters as they are read, in the same way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamsInJson {
    kind: Kind,
    hash: Scheme,
    recipe: Recipe,
    groups: Vec<GroupParams>,
}

impl From<ParamsInJson> for Params {
    fn from(ParamsInJson { kind, hash, recipe, groups }: ParamsInJson) -> Self {
        Params { common: Common { kind, hash, recipe }, groups }
    }
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
        let params: Params = serde_json::from_str(text).map_err(|error| {
            Error::Corrupt(format!("invalid parameters: `plan -o` writes valid ones ({error})"))
        })?;
        Params::new(params.common, params.groups)
    }

    /// The parameters as JSON, for people and programs.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("parameters are plain data") + "\n"
    }

    /// The group of this name.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.groups.binary_search_by(|group| group.group.0.as_slice().cmp(name)).ok()
    }

    /// The first word of each group's section in the data area, and the words in all: sections
    /// stand in the order of names, each at a cache line.
    pub fn layout(&self) -> (Vec<usize>, usize) {
        let mut end = 0usize;
        let mut starts = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            starts.push(end);
            end += (group.shape.words(self.common.kind) as usize).next_multiple_of(8);
        }
        (starts, end)
    }

    /// Why this and the other cannot be merged; `None` if they can. Groups that only one side
    /// has do no harm.
    pub fn difference(&self, other: &Params) -> Option<String> {
        let (a, b) = (&self.common, &other.common);
        if a.kind != b.kind {
            return Some(format!("one is {}, the other {}", a.kind, b.kind));
        }
        if a.hash != b.hash {
            return Some(format!("one hashes with {}, the other with {}", a.hash, b.hash));
        }
        if a.recipe != b.recipe {
            return Some(format!("one has the recipe ({}), the other ({})", a.recipe, b.recipe));
        }
        let width = |params: &Params| params.groups.first().map(|group| group.shape.width);
        match (width(self), width(other)) {
            (Some(one), Some(two)) if a.kind.counts() && one != two => {
                return Some(format!("one has counters of {one} bits, the other of {two}"));
            }
            _ => {}
        }
        for group in &self.groups {
            let Some(at) = other.find(&group.group.0) else { continue };
            let twin = &other.groups[at];
            if group != twin && a.kind.counts() {
                let of =
                    if group.group.0.is_empty() { String::new() } else { format!("group {}: ", group.group) };
                let say = |g: &GroupParams| {
                    let (row, Shape { width, hashes, .. }) = (g.shape.row(), g.shape);
                    format!("{hashes} rows of {row} counters of {width} bits (epsilon {})", g.fpr)
                };
                return Some(format!("{of}one has {}, the other {}", say(group), say(twin)));
            }
            if group != twin {
                let of =
                    if group.group.0.is_empty() { String::new() } else { format!("group {}: ", group.group) };
                let say = |g: &GroupParams| {
                    let (bits, hashes) = (g.shape.bits(), g.shape.hashes);
                    format!("{bits} bits and {hashes} hashes for {} keys at {}", g.keys, g.fpr)
                };
                return Some(format!("{of}one has {}, the other {}", say(group), say(twin)));
            }
        }
        None
    }

    /// That the recipe can be used, the groups are in order, and every shape is possible.
    pub(crate) fn check(&self) -> Result<()> {
        self.common.recipe.check()?;
        let kind = self.common.kind;
        let murmur = self.common.hash == Scheme::Murmur3;
        if murmur && kind != Kind::Bloom {
            return Err(Error::Corrupt(format!("murmur3 goes with bloom, not with {kind}")));
        }
        if kind == Kind::Layered && !self.common.recipe.of_keywords() {
            return Err(Error::Corrupt("a layered filter goes with a recipe that makes keywords".into()));
        }
        if self.common.recipe.weight.is_some() && !kind.counts() {
            return Err(Error::Corrupt(format!("weights go with count-min, not with {kind}")));
        }
        let widths = || self.groups.iter().map(|group| group.shape.width);
        if kind.counts() && widths().min() != widths().max() {
            return Err(Error::Corrupt("the counters of all groups must have as many bits".into()));
        }
        let named_none = matches!(&self.groups[..], [only] if only.group.0.is_empty());
        if self.common.recipe.group.is_none() && !named_none {
            return Err(Error::Corrupt("a recipe without groups goes with one group without a name".into()));
        }
        if self.groups.windows(2).any(|pair| pair[0].group >= pair[1].group) {
            return Err(Error::Corrupt("a group occurs twice, or out of order".into()));
        }
        let mut total = 0u64;
        for GroupParams { group, keys, fpr, shape } in &self.groups {
            let fits = match kind {
                Kind::Blocked | Kind::Counting => {
                    shape.width == if kind == Kind::Counting { COUNTER_BITS } else { 1 }
                        && shape.slots % LINE_BITS == 0
                        && shape.hashes.is_power_of_two()
                        && shape.hashes <= 32
                }
                Kind::Bloom => {
                    shape.width == 1
                        && (1..=MOST_HASHES).contains(&shape.hashes)
                        && !(murmur && shape.slots > 1 << 32)
                }
                Kind::Fuse => {
                    (1..=32).contains(&shape.width)
                        && shape.hashes == fuse::PROBES
                        && fuse::shape(*keys).is_ok_and(|fuse| fuse.slots == shape.slots)
                }
                Kind::Layered => layered::possible(shape),
                Kind::Scalable => scalable::shape_has_layers(shape, *keys, *fpr),
                Kind::CountMin | Kind::CountMinConservative => *keys == 0 && countmin::possible(shape, *fpr),
            };
            if !fits || shape.slots == 0 || shape.bits() > MOST_BITS || !(*fpr > 0.0 && *fpr <= 1.0) {
                return Err(Error::Corrupt(format!(
                    "group {group:?} has impossible parameters ({shape:?}, rate {fpr})"
                )));
            }
            total = total.saturating_add(shape.bits()).saturating_add(512);
        }
        if total > MOST_BITS { Err(Error::TooLarge { bits: total }) } else { Ok(()) }
    }
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
            let shape = Shape { slots: 1000, width: 1, hashes: 7 };
            let group = GroupParams { group: Name(name), keys: 100, fpr: f64::from_bits(bits), shape };
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
        let shape = Shape { slots: 1000, width: 1, hashes: 7 };
        let group = |name: &str| GroupParams { group: Name::from(name), keys: 100, fpr: 0.01, shape };
        assert!(Params::new(common.clone(), vec![group("")]).is_ok());
        for groups in [vec![], vec![group("a")], vec![group(""), group("a")]] {
            assert!(Params::new(common.clone(), groups).is_err());
        }
    }
}
