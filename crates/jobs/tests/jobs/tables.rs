//! Tables of a group and a key, and jobs that build filters of them.

use std::fs;
use std::path::Path;

use tamis::countmin::Update;
use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, Params};
use tamis::sizing::Kind;
use tamis_jobs::request::{ByHand, Counting, Sizes, sketches};
use tamis_make::build::{Given, Job, Sketches};
use tamis_make::plan::{Counters, Size};
use tamis_make::rows::BadRows;
use tamis_read::Options;

/// Groups and keys.
pub type Rows = Vec<(u8, u16)>;

/// The key and the group stand in columns of these names.
pub fn recipe() -> Recipe {
    Recipe { key: vec!["key".parse().unwrap()], group: Some("group".parse().unwrap()), ..Recipe::lines() }
}

/// Writes a table; its name, as an input.
pub fn table(path: &Path, rows: &[(u8, u16)]) -> String {
    let lines: String = rows.iter().map(|(group, key)| format!("{group},k{key}\n")).collect();
    fs::write(path, format!("group,key\n{lines}")).unwrap();
    path.display().to_string()
}

/// How large sketches shall be, whatever their kind.
#[derive(Debug, Clone)]
pub enum AnySizing {
    /// The distinct keys are counted first.
    Count(Size),
    /// Each group is planned for this many keys.
    Keys(u64, Size),
    /// These counters.
    Counters(Counters),
    /// Given parameters.
    Params(Params),
}

impl AnySizing {
    /// Sketches of this size.
    pub fn of(self, common: &Common, layers: Option<u32>, heavy: Option<f64>, distinct: bool) -> Sketches {
        let (size, keys) = match self {
            AnySizing::Params(params) => {
                return Sketches::Given(Given::new(params, distinct, heavy).unwrap());
            }
            AnySizing::Counters(counters) => {
                let conservative = common.kind == Kind::CountMinConservative;
                let update = if conservative { Update::Conservative } else { Update::Plain };
                return Sketches::Counts { hash: tamis::hash::Single::DEFAULT, update, counters, heavy };
            }
            AnySizing::Count(size) => (size, None),
            AnySizing::Keys(keys, size) => (size, Some(keys)),
        };
        let mut sizes = Sizes { keys, ..Sizes::default() };
        match size {
            Size::Fpr(fpr) => sizes.fpr = Some(fpr),
            Size::BitsPerKey(bits) => sizes.bits_per_key = Some(bits),
            Size::Total(bytes) => sizes.size = Some(bytes),
        }
        sketches(common, layers, (&sizes, &ByHand::default(), &Counting::default()), heavy, distinct).unwrap()
    }
}

/// A job that builds sketches of one key and one group.
pub fn job(inputs: Vec<String>, (kind, hash): (Kind, Scheme), sizing: AnySizing, threads: usize) -> Job {
    let common = Common { kind, hash, recipe: recipe() };
    let sketches = sizing.of(&common, None, None, false);
    job_of(inputs, &common, sketches, threads)
}

/// A job that builds these sketches.
pub fn job_of(inputs: Vec<String>, common: &Common, sketches: Sketches, threads: usize) -> Job {
    Job {
        inputs,
        options: Options::default(),
        recipe: common.recipe.clone(),
        sketches,
        bad_rows: BadRows::Fail,
        threads,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    }
}
