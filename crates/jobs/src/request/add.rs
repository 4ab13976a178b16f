//! What is asked of rows that are added to a file, and of keys that are removed from it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tamis::key::{Column, Field, Recipe};

use super::json::word;
use super::sizes::share;
use super::{Columns, NoMore, Reading, Refusal, json, replace_weight};
use tamis_make::build::Addition;
use tamis_make::opt;
use tamis_make::remove::{Missing, Removal};

/// What is asked of rows that are added to a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AddJob {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How they are read.
    #[serde(flatten)]
    pub reading: Reading,
    /// Other columns than those of the file.
    #[serde(flatten)]
    pub columns: Columns,
    /// Another column of the weight.
    #[serde(with = "json::optional")]
    pub weight: Option<Field>,
    /// Whether each distinct key of these inputs is added once.
    pub distinct: bool,
    /// Whether rows of groups that the file lacks make new ones.
    pub new_groups: bool,
    /// The expected rate above which filters are rebuilt larger.
    pub rebuild_above: Option<f64>,
    /// What no field took.
    #[serde(flatten)]
    pub no_more: NoMore,
}

/// An addition that was asked for, and can be made.
#[derive(Debug, Clone)]
pub struct Add {
    /// What is added.
    pub addition: Addition,
    /// The expected rate above which filters are then rebuilt larger.
    pub rebuild_above: Option<f64>,
}

impl AddJob {
    /// What follows from it, for a file with this recipe.
    pub fn resolve(&self, stored: &Recipe) -> Result<Add, Refusal> {
        let mut recipe = self.columns.applied(stored)?;
        replace_weight(&mut recipe, self.weight.as_ref())?;
        // Another input is another group.
        let by_file = recipe.group.as_ref().is_some_and(|group| group.column == Column::File);
        let rate = |rate| share("a rate", opt::REBUILD_ABOVE, rate);
        let addition = Addition {
            inputs: self.inputs.clone(),
            options: self.reading.options(),
            recipe,
            bad_rows: self.reading.bad_rows()?,
            distinct: self.distinct,
            new_groups: self.new_groups || by_file,
            threads: self.reading.threads()?,
        };
        Ok(Add { addition, rebuild_above: self.rebuild_above.map(rate).transpose()? })
    }
}

/// What is asked of keys that are removed from a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoveJob {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How they are read.
    #[serde(flatten)]
    pub reading: Reading,
    /// Other columns than those of the file.
    #[serde(flatten)]
    pub columns: Columns,
    /// Keys that are not there.
    #[serde(serialize_with = "named", deserialize_with = "missing")]
    pub missing: Missing,
    /// Whether each distinct key of these inputs is removed once.
    pub distinct: bool,
    /// What no field took.
    #[serde(flatten)]
    pub no_more: NoMore,
}

impl RemoveJob {
    /// What follows from it, for a file with this recipe.
    pub fn resolve(&self, stored: &Recipe) -> Result<Removal, Refusal> {
        Ok(Removal {
            inputs: self.inputs.clone(),
            options: self.reading.options(),
            recipe: self.columns.applied(stored)?,
            bad_rows: self.reading.bad_rows()?,
            missing: self.missing,
            distinct: self.distinct,
            threads: self.reading.threads()?,
        })
    }
}

fn named<S: Serializer>(missing: &Missing, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(missing.name())
}

fn missing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Missing, D::Error> {
    word(&String::deserialize(deserializer)?, &Missing::ALL.map(|one| (one.name(), one)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tamis_read::refusal::{Fields, say};

    use super::*;
    use crate::request::read;

    fn asked<T: serde::de::DeserializeOwned>(options: Value) -> T {
        let Value::Object(options) = options else { panic!("{options} has no options") };
        read(options).unwrap_or_else(|error| panic!("{error}"))
    }

    fn recipe(group: Option<&str>) -> Recipe {
        let group = group.map(|group| group.parse().unwrap());
        Recipe { key: vec!["email:lower".parse().unwrap()], group, ..Recipe::lines() }
    }

    #[test]
    fn groups_that_are_files_are_always_new() {
        let job: AddJob = asked(json!({"inputs": ["a.csv"], "key": "sender"}));
        let add = |group| job.resolve(&recipe(group)).unwrap().addition;
        assert_eq!(add(None).recipe.key[0].to_string(), "sender:lower");
        assert_eq!(
            [None, Some("day"), Some("(file)")].map(|group| add(group).new_groups),
            [false, false, true]
        );
        let job: AddJob = asked(json!({"new_groups": true}));
        assert!(job.resolve(&recipe(Some("day"))).unwrap().addition.new_groups);
    }

    #[test]
    fn additions_that_cannot_be_are_refused() {
        for (options, why) in [
            (json!({"group": "day"}), "these filters have no groups: leave out group"),
            (json!({"weight": "bytes"}), "leave out weight"),
            (json!({"rebuild_above": 2}), "a rate lies between 0 and 1"),
            (json!({"threads": 0}), "threads, not 0"),
        ] {
            let refusal = asked::<AddJob>(options.clone()).resolve(&recipe(None)).unwrap_err();
            let said = say(&refusal, &Fields);
            assert!(said.contains(why), "{options}: {said}");
        }
    }

    #[test]
    fn removals_survive_their_json() {
        let job: RemoveJob = asked(json!({"inputs": ["-"], "missing": "skip", "distinct": true}));
        assert_eq!(asked::<RemoveJob>(json!(job)), job);
        let removal = job.resolve(&recipe(None)).unwrap();
        assert_eq!((removal.missing, removal.distinct), (Missing::Skip, true));
        assert_eq!(asked::<RemoveJob>(json!({})).missing, Missing::Fail);
        let Value::Object(wrong) = json!({"missing": "x"}) else { unreachable!() };
        let said = read::<RemoveJob>(wrong).unwrap_err().to_string();
        assert_eq!(said, "missing: it is \"fail\" or \"skip\", not \"x\"");
    }
}
