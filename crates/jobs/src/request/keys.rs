//! How keys and groups are made of rows: columns of a recipe of its own, or other columns for one that a
//! file has.

use serde::{Deserialize, Serialize};
use tamis::key::{Field, Keywords, Recipe, Record, TextRule};

use super::{Refusal, json};

/// How keys and groups are made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Keys {
    /// The columns of the key; several make a compound key.
    #[serde(with = "json::several")]
    pub key: Vec<Field>,
    /// The columns of keywords, which make the row a record.
    #[serde(with = "json::several")]
    pub keywords: Vec<Field>,
    /// The column of the group.
    #[serde(with = "json::optional")]
    pub group: Option<Field>,
    /// The column of what a row counts for.
    #[serde(with = "json::optional")]
    pub weight: Option<Field>,
    /// What stands for a missing value.
    pub null: Option<String>,
    /// The rule by which the text of a file is taken out of it, where a whole file is one record.
    pub record: Option<TextRule>,
    /// Whether each keyword is a key of its own.
    pub each_keyword: bool,
}

impl Keys {
    /// The columns of the key or of the keywords, as they were given.
    pub fn columns(&self) -> Result<&[Field], Refusal> {
        match (&self.key[..], &self.keywords[..]) {
            (key, []) => Ok(key),
            ([], keywords) => Ok(keywords),
            _ => Err(Refusal::KeyAndKeywords),
        }
    }

    /// A recipe of their own; without columns, the line is the key.
    pub fn recipe(&self) -> Result<Recipe, Refusal> {
        let key = match self.columns()? {
            [] => Recipe::lines().key,
            _ if !self.keywords.is_empty() => self.keywords.iter().cloned().map(Field::of_keywords).collect(),
            key => key.to_vec(),
        };
        Ok(Recipe {
            key,
            group: self.group.clone(),
            weight: self.weight.clone(),
            null: self.null.clone(),
            record: self.record.map(Record::File),
            keywords: self.each_keyword.then_some(Keywords::Each),
        })
    }

    /// A stored recipe, with these columns.
    pub fn applied(&self, stored: &Recipe) -> Result<Recipe, Refusal> {
        let mut recipe = replace_columns(stored, self.columns()?, self.group.as_ref())?;
        replace_weight(&mut recipe, self.weight.as_ref())?;
        Ok(recipe)
    }
}

/// Other columns for a stored recipe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Columns {
    /// The columns of the key.
    #[serde(with = "json::several")]
    pub key: Vec<Field>,
    /// The column of the group.
    #[serde(with = "json::optional")]
    pub group: Option<Field>,
}

impl Columns {
    /// The stored recipe with these columns.
    pub fn applied(&self, stored: &Recipe) -> Result<Recipe, Refusal> {
        replace_columns(stored, &self.key, self.group.as_ref())
    }
}

/// Keys that come from other columns than the file will name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the keys come from other columns ({used}) than those in the parameters; the file will record ({recorded})"
)]
pub struct OtherColumns {
    used: String,
    recorded: String,
}

impl OtherColumns {
    /// Where keys are made by one recipe and the file records another.
    pub fn of(used: &Recipe, recorded: &Recipe) -> Option<OtherColumns> {
        let other = || OtherColumns { used: used.to_string(), recorded: recorded.to_string() };
        (used != recorded).then(other)
    }
}

/// The stored recipe with other columns; steps cannot be changed, or keys would differ.
pub fn replace_columns(stored: &Recipe, key: &[Field], group: Option<&Field>) -> Result<Recipe, Refusal> {
    let mut recipe = stored.clone();
    if !key.is_empty() {
        if key.len() != recipe.key.len() {
            return Err(Refusal::Parts { stored: recipe.key.len(), given: key.len() });
        }
        recipe.key.iter_mut().zip(key).try_for_each(|(field, with)| replace(field, with))?;
    }
    match (&mut recipe.group, group) {
        (Some(field), Some(with)) => replace(field, with)?,
        (None, Some(_)) => return Err(Refusal::NoGroups),
        (_, None) => {}
    }
    Ok(recipe)
}

/// The stored recipe with the steps of these columns, where they have some: the other side of a comparison
/// may have its keys in another form.
pub(crate) fn with_steps(stored: &Recipe, key: &[Field]) -> Result<Recipe, Refusal> {
    let mut recipe = stored.clone();
    for (field, with) in recipe.key.iter_mut().zip(key).filter(|(_, with)| !with.steps.is_empty()) {
        if field.splitting().is_some() != with.splitting().is_some() {
            return Err(Refusal::StoredSteps(with.column.clone()));
        }
        field.steps = with.steps.clone();
    }
    Ok(recipe)
}

/// The stored recipe with another column for the weight.
pub fn replace_weight(recipe: &mut Recipe, with: Option<&Field>) -> Result<(), Refusal> {
    match (&mut recipe.weight, with) {
        (Some(field), Some(with)) => replace(field, with),
        (None, Some(_)) => Err(Refusal::NoWeight),
        (_, None) => Ok(()),
    }
}

fn replace(field: &mut Field, with: &Field) -> Result<(), Refusal> {
    if !with.steps.is_empty() && with.steps != field.steps {
        return Err(Refusal::StoredSteps(with.column.clone()));
    }
    field.column = with.column.clone();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_recipe_takes_other_columns_but_no_other_steps() {
        let stored = Recipe { key: vec!["email:trim,lower".parse().unwrap()], ..Recipe::lines() };
        let other = replace_columns(&stored, &["sender".parse().unwrap()], None).unwrap();
        assert_eq!(other.key[0].to_string(), "sender:trim,lower");
        assert!(replace_columns(&stored, &["sender:upper".parse().unwrap()], None).is_err());
        assert!(replace_columns(&stored, &["a".parse().unwrap(), "b".parse().unwrap()], None).is_err());
        // On the other side of a comparison, steps of their own make the keys.
        let own = ["url:domain".parse().unwrap()];
        let other = replace_columns(&with_steps(&stored, &own).unwrap(), &own, None).unwrap();
        assert_eq!(other.key[0].to_string(), "url:domain");
        assert!(with_steps(&stored, &["url:words".parse().unwrap()]).is_err());
        assert!(replace_columns(&stored, &[], Some(&"g".parse().unwrap())).is_err());
    }
}
