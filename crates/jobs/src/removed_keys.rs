//! A second filter, of what was removed: a key passes if it is in the first and not in the second.
//!
//! It makes any filter forget, at a price: where the second errs, a key that was not removed is
//! missed. False positives of the second are false negatives of the pair.

use std::path::{Path, PathBuf};

use tamis::hash::Scheme;
use tamis::key::{Field, Recipe};
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis::sketch::Sketch;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};

use tamis_make::batch::Needs;
use tamis_make::files::Mapped;
use tamis_make::foreign;
use tamis_make::opt;

/// The filters of what was removed.
#[derive(Debug)]
pub struct RemovedKeys {
    path: PathBuf,
    file: Mapped,
    /// Which of them belongs to each group of the first file.
    places: Vec<Option<usize>>,
}

impl RemovedKeys {
    /// Opens the second file, beside a first of these parameters. It must make and hash keys as the
    /// first does, and have the same groups, or none: it then speaks of all.
    pub fn open(path: &Path, first: &Params) -> Result<RemovedKeys> {
        let file = foreign::open(path)?;
        let second = file.params();
        if let Some(why) = mismatch(first, second) {
            return Err(Error::input(path, why));
        }
        let place = |name: &[u8]| match second.common.recipe.group {
            Some(_) => second.find(name),
            None => Some(0),
        };
        let places = first.groups.iter().map(|group| place(&group.group.0)).collect();
        Ok(RemovedKeys { path: path.into(), file, places })
    }

    /// The filter that belongs to each group of the first file; none where nothing of it was removed.
    pub fn sketches(&self) -> Result<Vec<Option<Sketch<&[u64]>>>> {
        let sketch = |place: &Option<usize>| place.map(|at| self.file.sketch(at)).transpose();
        Ok(self.places.iter().map(sketch).collect::<tamis::Result<_>>()?)
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all of it, and checks it.
    pub fn verify(&self) -> Result<()> {
        let groups = 0..self.file.params().groups.len();
        groups.into_iter().try_for_each(|group| self.file.verify(group)).map_err(Error::file(&self.path))
    }

    /// What its filters need of keys.
    pub fn needs(&self) -> Needs {
        Needs::of(self.file.params())
    }
}

/// Why keys of the first file mean nothing to the second.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A kind that holds no whole keys.
    #[error("filters of removed keys go with filters that hold whole keys, and one of the two is {kind}")]
    Kind {
        /// The kind.
        kind: Kind,
    },
    /// Keys are hashed in another way.
    #[error("hashes keys with {second}, and the first file with {first}")]
    Hash {
        /// How the first file does.
        first: Scheme,
        /// How this one does.
        second: Scheme,
    },
    /// Keys are made in another way.
    #[error("makes other keys ({second}) than the first file ({first})")]
    Recipe {
        /// How the first file does.
        first: Box<Recipe>,
        /// How this one does.
        second: Box<Recipe>,
    },
    /// Groups that the first file does not have.
    #[error("has groups, and the first file has none")]
    Groups,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        vec![match self {
            Refusal::Kind { .. } => Help::DoWith("build both files", vec![opt::KIND.with("blocked")]),
            Refusal::Hash {
                first: first @ (Scheme::Xxh3 { seed } | Scheme::Polynomial { seed }), ..
            } => Help::BuildWith(vec![opt::HASH.with(first.name()), opt::SEED.with(seed.to_string())]),
            Refusal::Hash { first: Scheme::SipHash { .. }, .. } => {
                Help::BuildWith(vec![opt::HASH.with("siphash"), opt::HASH_KEY.with("FILE")])
            }
            Refusal::Hash { first, .. } => Help::build_with(opt::HASH.with(first.name())),
            Refusal::Recipe { .. } => Help::Do("build both with the same steps"),
            Refusal::Groups => Help::BuildWithout(vec![opt::GROUP]),
        }]
    }
}

fn mismatch(first: &Params, second: &Params) -> Option<Refusal> {
    let (a, b) = (&first.common, &second.common);
    let steps = |fields: &[Field]| fields.iter().map(|field| field.steps.clone()).collect::<Vec<_>>();
    let unfit = |kind: &Kind| *kind == Kind::Layered || kind.counts();
    if let Some(kind) = [a.kind, b.kind].into_iter().find(unfit) {
        return Some(Refusal::Kind { kind });
    }
    if a.hash != b.hash {
        return Some(Refusal::Hash { first: a.hash, second: b.hash });
    }
    let others = |recipe: &Recipe| (recipe.null.clone(), recipe.record, recipe.keywords);
    if steps(&a.recipe.key) != steps(&b.recipe.key) || others(&a.recipe) != others(&b.recipe) {
        let [first, second] = [a, b].map(|common| Box::new(common.recipe.clone()));
        return Some(Refusal::Recipe { first, second });
    }
    (b.recipe.group.is_some() && a.recipe.group.is_none()).then_some(Refusal::Groups)
}

#[cfg(test)]
mod tests {
    use tamis_read::refusal::{Fields, say};

    use super::*;

    #[test]
    fn another_hash_is_told_with_the_options_that_give_the_same() {
        let (first, second) = (Scheme::Xxh3 { seed: 7 }, Scheme::Murmur3);
        assert_eq!(
            say(&Refusal::Hash { first, second }, &Fields),
            "hashes keys with murmur3, and the first file with xxh3 (seed 7): build it with hash=xxh3 and seed=7"
        );
        assert_eq!(
            say(&Refusal::Hash { first: second, second: first }, &Fields),
            "hashes keys with xxh3 (seed 7), and the first file with murmur3: build it with hash=murmur3"
        );
    }
}
