//! What a stream is for, and what there is of each of them.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is learned.
    Train,
    /// It is answered.
    Query,
    /// Its keys are removed again.
    Remove,
}

impl Role {
    /// All of them, in the order in which streams are opened and gathered.
    pub const ALL: [Role; 3] = [Role::Train, Role::Query, Role::Remove];

    /// How states and metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Train => "train",
            Role::Query => "query",
            Role::Remove => "remove",
        }
    }
}

/// One of something for each role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByRole<T>([T; 3]);

impl<T> ByRole<T> {
    /// What is made for each.
    pub fn of(make: impl FnMut(Role) -> T) -> ByRole<T> {
        ByRole(Role::ALL.map(make))
    }

    /// The same, where it may fail; no more is made after the first failure.
    pub fn try_of<E>(mut make: impl FnMut(Role) -> Result<T, E>) -> Result<ByRole<T>, E> {
        let [train, query, remove] = Role::ALL;
        Ok(ByRole([make(train)?, make(query)?, make(remove)?]))
    }

    /// What is made of each.
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> ByRole<U> {
        ByRole(self.0.map(make))
    }

    /// Each with its role, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (Role, &T)> {
        Role::ALL.into_iter().zip(&self.0)
    }

    /// Each by itself, in their order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> Index<Role> for ByRole<T> {
    type Output = T;

    fn index(&self, role: Role) -> &T {
        &self.0[role as usize]
    }
}

impl<T> IndexMut<Role> for ByRole<T> {
    fn index_mut(&mut self, role: Role) -> &mut T {
        &mut self.0[role as usize]
    }
}

impl<T> ByRole<Option<T>> {
    /// Whether there is nothing for any.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

/// As states have it: by name. The stream of removals came later, and is absent where there is none.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    train: Option<T>,
    query: Option<T>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    remove: Option<T>,
}

fn none<T>() -> Option<T> {
    None
}

impl<T: Serialize> Serialize for ByRole<Option<T>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [train, query, remove] = self.0.each_ref().map(Option::as_ref);
        Stored { train, query, remove }.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByRole<Option<T>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { train, query, remove } = Stored::deserialize(deserializer)?;
        Ok(ByRole([train, query, remove]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies on disk.
    #[test]
    fn each_stands_under_its_name_and_removals_only_where_there_are_any() {
        let mut places = ByRole::of(|role| (role == Role::Train).then_some(7));
        assert_eq!(serde_json::to_string(&places).unwrap(), r#"{"train":7,"query":null}"#);
        assert_eq!(serde_json::from_str::<ByRole<Option<u64>>>(r#"{"train":7}"#).unwrap(), places);
        places[Role::Remove] = Some(9);
        let text = r#"{"train":7,"query":null,"remove":9}"#;
        assert_eq!(serde_json::to_string(&places).unwrap(), text);
        assert_eq!(serde_json::from_str::<ByRole<Option<u64>>>(text).unwrap(), places);
    }

    #[test]
    fn a_role_finds_what_is_its_own() {
        let names = ByRole::of(Role::name);
        assert!(names.iter().all(|(role, name)| role.name() == *name && names[role] == *name));
    }
}
