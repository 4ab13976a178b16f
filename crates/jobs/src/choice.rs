//! What a user chose of kind, hash, size and columns; and what follows. All front ends ask here, so
//! that the same choice means the same parameters everywhere.

use tamis::countmin::{DEFAULT_DELTA, DEFAULT_EPSILON};
use tamis::hash::Scheme;
use tamis::key::{Field, Recipe};
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};

use crate::number;
use crate::plan::Counters;

fn refused<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::told(why.into()))
}

/// A hash by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashName {
    /// The default.
    Xxh3,
    /// The document's.
    Murmur3,
}

/// The kind and its hash, as far as they were chosen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice {
    /// The kind.
    pub kind: Option<Kind>,
    /// Whether counters are updated conservatively.
    pub conservative: bool,
    /// The layers of a `layered`.
    pub layers: Option<u32>,
    /// The hash.
    pub hash: Option<HashName>,
    /// Its seed.
    pub seed: Option<u64>,
}

impl Choice {
    /// Kind, hash and recipe together.
    pub fn common(&self, recipe: Recipe) -> Result<Common> {
        if self.conservative && !self.kind.is_some_and(Kind::counts) {
            return refused("--conservative is an update of counters: give --kind count-min, too");
        }
        let chosen = if self.conservative { Some(Kind::CountMinConservative) } else { self.kind };
        let (kind, hash) = match (self.hash.unwrap_or(HashName::Xxh3), chosen) {
            (HashName::Murmur3, Some(kind)) if kind != Kind::Bloom => {
                return refused(format!(
                    "murmur3 goes with --kind bloom, not with {kind}: leave out one of them"
                ));
            }
            (HashName::Murmur3, _) if self.seed.is_some() => {
                return refused("murmur3 has the seeds 0, 1, 2, …: leave out --seed");
            }
            (HashName::Murmur3, _) => (Kind::Bloom, Scheme::Murmur3),
            (HashName::Xxh3, kind) => {
                (kind.unwrap_or(Kind::Blocked), Scheme::Xxh3 { seed: self.seed.unwrap_or(0) })
            }
        };
        if kind == Kind::Layered && !recipe.of_keywords() {
            return refused("layered filters hold records of keywords: give --keywords COLUMN:split=','");
        }
        if recipe.weight.is_some() && !kind.counts() {
            return refused(format!(
                "a {kind} filter does not count, so rows have no weight: leave out --weight, or give --kind count-min"
            ));
        }
        if kind != Kind::Layered && self.layers.is_some() {
            return refused(format!(
                "{kind} filters have no layers: leave out --layers, or give --kind layered"
            ));
        }
        let of_keys = recipe.key.iter().filter(|field| field.splitting().is_none()).count();
        let one_value =
            |field: &Option<Field>| field.as_ref().is_none_or(|field| field.splitting().is_none());
        if !one_value(&recipe.group)
            || !one_value(&recipe.weight)
            || (0 < of_keys && of_keys < recipe.key.len())
        {
            return refused("steps that make keywords (split, words, json, whole, sort) go with --keywords");
        }
        Ok(Common { kind, hash, recipe })
    }
}

/// How large sketches that count shall be, as far as that was chosen.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting {
    /// The error.
    pub epsilon: Option<f64>,
    /// How probably an estimate is further off.
    pub delta: Option<f64>,
    /// Counters in a row, in place of the error.
    pub width: Option<u64>,
    /// Rows, in place of the probability.
    pub depth: Option<u32>,
    /// Bits of a counter.
    pub bits: Option<u32>,
}

impl Counting {
    /// The error and its probability, where rows and counters follow from them and keys of such a
    /// share are listed.
    pub fn error(&self, heavy: Option<f64>) -> (f64, f64) {
        // A share can be told from an error of a tenth of it.
        let usual = heavy.map_or(DEFAULT_EPSILON, |share| DEFAULT_EPSILON.min(share / 10.0));
        (self.epsilon.unwrap_or(usual), self.delta.unwrap_or(DEFAULT_DELTA))
    }

    /// The counters.
    pub fn counters(&self, heavy: Option<f64>) -> Result<Counters> {
        let bits = self.bits.unwrap_or(64);
        let (epsilon, delta) = self.error(heavy);
        let by_error = Counters::for_error(epsilon, delta, bits)?;
        if self.width.is_none() && self.depth.is_none() {
            return Ok(by_error);
        }
        let row = self.width.unwrap_or(by_error.shape.row());
        let depth = self.depth.unwrap_or(by_error.shape.hashes);
        let by_hand = Counters::by_hand(row, depth, bits)?;
        Ok(match self.width {
            Some(_) => by_hand,
            None => Counters { epsilon, ..by_hand },
        })
    }
}

/// Refuses sizes of filters for what counts, and sizes of counters for filters.
pub fn refuse_mixed(kind: Kind, of_filters: bool, of_counters: bool) -> Result<()> {
    if kind.counts() && of_filters {
        return refused(
            "sketches that count have no rate of false positives, and their size does not depend on the keys: \
             leave out --fpr, --bits-per-key, --bits, --size and --keys, and give --epsilon and --delta",
        );
    }
    if !kind.counts() && of_counters {
        return refused(format!(
            "a {kind} filter has no counters: leave out --epsilon, --delta, --width, --depth and --counter-bits, or \
             give --kind count-min"
        ));
    }
    Ok(())
}

/// The stored recipe with other columns; steps cannot be changed, or keys would differ.
pub fn replace_columns(stored: &Recipe, key: &[Field], group: Option<&Field>) -> Result<Recipe> {
    let mut recipe = stored.clone();
    if !key.is_empty() {
        if key.len() != recipe.key.len() {
            return refused(format!(
                "the stored key has {}; --key was given {}",
                number::counted(recipe.key.len() as u64, "part"),
                number::counted(key.len() as u64, "time")
            ));
        }
        recipe.key.iter_mut().zip(key).try_for_each(|(field, with)| replace(field, with))?;
    }
    match (&mut recipe.group, group) {
        (Some(field), Some(with)) => replace(field, with)?,
        (None, Some(_)) => return refused("these filters have no groups: leave out --group"),
        _ => {}
    }
    Ok(recipe)
}

/// The stored recipe with another column for the weight.
pub fn replace_weight(recipe: &mut Recipe, with: Option<&Field>) -> Result<()> {
    match (&mut recipe.weight, with) {
        (Some(field), Some(with)) => replace(field, with),
        (None, Some(_)) => refused("every row counts for 1 here: leave out --weight"),
        (_, None) => Ok(()),
    }
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
            return Err(format!(
                "no unit is called {unit:?}; there are KB, MB, GB, TB, KiB, MiB, GiB and TiB"
            ));
        }
    };
    let number =
        digits.trim().parse::<f64>().map_err(|_| "not a number of bytes (64MB, 1GiB)".to_owned())? * factor;
    if !(1.0..1e18).contains(&number) {
        return Err("must lie between 1 byte and 1e18 bytes".into());
    }
    Ok(number as u64)
}

fn replace(field: &mut Field, with: &Field) -> Result<()> {
    if !with.steps.is_empty() && with.steps != field.steps {
        return refused(format!("the stored steps apply to {}: give the column alone", with.column));
    }
    field.column = with.column.clone();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_recipe_takes_other_columns_but_no_other_steps() {
        let stored =
            Recipe { key: vec!["email:trim,lower".parse().unwrap()], group: None, weight: None, null: None };
        let other = replace_columns(&stored, &["sender".parse().unwrap()], None).unwrap();
        assert_eq!(other.key[0].to_string(), "sender:trim,lower");
        assert!(replace_columns(&stored, &["sender:upper".parse().unwrap()], None).is_err());
        assert!(replace_columns(&stored, &["a".parse().unwrap(), "b".parse().unwrap()], None).is_err());
        assert!(replace_columns(&stored, &[], Some(&"g".parse().unwrap())).is_err());
    }
}
