//! Tables of a group and a key, and jobs that build filters of them.

use std::fs;
use std::path::Path;

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_jobs::build::{Job, Sizing};
use tamis_jobs::rows::BadRows;
use tamis_read::Options;

/// Groups and keys.
pub type Rows = Vec<(u8, u16)>;

/// The key and the group stand in columns of these names.
pub fn recipe() -> Recipe {
    Recipe {
        key: vec!["key".parse().unwrap()],
        group: Some("group".parse().unwrap()),
        weight: None,
        null: None,
    }
}

/// Writes a table; its name, as an input.
pub fn table(path: &Path, rows: &[(u8, u16)]) -> String {
    let lines: String = rows.iter().map(|(group, key)| format!("{group},k{key}\n")).collect();
    fs::write(path, format!("group,key\n{lines}")).unwrap();
    path.display().to_string()
}

pub fn job(inputs: Vec<String>, (kind, hash): (Kind, Scheme), sizing: Sizing, threads: usize) -> Job {
    Job {
        inputs,
        options: Options::default(),
        common: Common { kind, hash, recipe: recipe() },
        sizing,
        layers: None,
        heavy: None,
        distinct: false,
        bad_rows: BadRows::Fail,
        threads,
    }
}
