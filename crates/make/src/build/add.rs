//! Rows added to filters that exist.

use std::path::Path;
use std::time::Instant;

use tamis::countmin::Heavy;
use tamis::key::Recipe;
use tamis::sizing::Kind;
use tamis_read::Control;
use tamis_read::Sources;
use tamis_read::error::{Error, Result};

use super::finish::{Output, finish, gather};
use super::{Refusal, Report, insert, insert_distinct};
use crate::aside::{self, Aside};
use crate::changing::Changing;
use crate::count::KeyRules;
use crate::groups::{self, Moved, New};
use crate::merge::classes_of;
use crate::rows::{BadRows, Unusable};
use crate::{count, count_min, exact, files, parallel};

/// Rows to be added to filters that exist.
#[derive(Debug, Clone)]
pub struct Addition {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// The recipe, with the columns of these inputs.
    pub recipe: Recipe,
    /// Rows without a key.
    pub bad_rows: BadRows,
    /// Whether equal keys of a group, among these rows, go into a `counting` once.
    pub distinct: bool,
    /// Whether rows of groups that the file lacks make new ones; otherwise they are bad rows.
    pub new_groups: bool,
    /// Threads.
    pub threads: usize,
}

/// Adds rows to a file of filters, which is replaced whole.
pub fn add(path: &Path, addition: &Addition, control: &Control) -> Result<Report> {
    let start = Instant::now();
    files::check(path)?;
    let changing = Changing::begin(path)?;
    let container = files::open(path)?;
    let params = container.params().clone();
    refuse_kind(path, params.common.kind)?;
    super::refuse_distinct(addition.distinct, params.common.kind)?;
    // Damage would come out under a checksum that matches.
    parallel::each(addition.threads, params.groups.len(), |group| {
        container.verify(group).map_err(Error::file(path))
    })?;
    let mut sources = Sources::open(&addition.inputs, &addition.options, &addition.recipe.columns())?;
    let inputs = sources.explain();
    files::check_is_no_input(path, inputs.iter().map(|input| &input.path))?;
    let store = exact::beside(path, &container)?.map(|store| (store, params.clone()));
    let keys = store.as_ref().map(|_| exact::path_beside(path));
    if keys.is_some() {
        exact::check_place(path)?;
        sources.keep();
    }
    if container.heavy().is_some() {
        sources.keep(); // a pass of its own finds those of the new rows
    }
    let hash = params.common.hash;
    let outputs = [Some(path), keys.as_deref()];
    let aside = Aside::open(&addition.bad_rows, outputs, inputs.iter().map(|input| &input.path))?;
    let on_bad = (&addition.bad_rows).into();
    let rules =
        KeyRules { recipe: &addition.recipe, hash, on_bad, aside: aside.as_ref(), count_keywords: false };
    let (New { params, names: new_groups, estimated }, rules) = match addition.new_groups {
        true => {
            sources.keep();
            (groups::with_new(&params, &sources, rules, addition.threads, control)?, rules.again())
        }
        false => (New { params, names: Vec::new(), estimated: false }, rules),
    };
    let Moved { words, tallies: before, heavy } = groups::moved(&container, &params)?;
    let mut about = container.about().clone();
    let new = sources.classes(&addition.recipe.key_columns());
    about.record_classes(classes_of(&about, container.tallies()).and(new));
    drop(container);
    let mut built = match addition.distinct {
        true => {
            let means = (count::MEMORY, addition.threads);
            insert_distinct(&sources, rules, params, Some(words), means, control).map_err(of_new_group)?
        }
        false => {
            insert(&sources, rules, params, Some(words), addition.threads, control).map_err(of_new_group)?
        }
    };
    let rules = rules.again();
    let gathered = match &store {
        Some(_) => Some(gather(&sources, rules, &built, exact::MEMORY, addition.threads, path, control)?),
        None => None,
    };
    if let Some(heavy) = heavy {
        let share = heavy.share;
        count_min::keep_heavy(&sources, rules, &mut built, &before, share, addition.threads, control)?;
        count_min::join_heavy(&mut built, &before, [heavy])?;
    }
    for (group, before) in before.iter().enumerate() {
        built.rows[group] = built.rows[group].saturating_add(before.rows);
        built.beside[group] = built.beside[group].plus(before.beside);
    }
    built.about = about;
    let (heavy, skipped) = (built.heavy.as_ref().map(Heavy::keys), built.skipped);
    let output = Output { to: path.into(), changing: Some(&changing), aside: aside::end(aside)? };
    let (params, tallies, exact) =
        finish(built, gathered, store.as_ref(), output, addition.threads, control)?;
    Ok(Report {
        params,
        tallies,
        skipped,
        estimated,
        lone_keywords: false,
        new_groups,
        inputs,
        phases: vec![("add", start.elapsed())],
        exact,
        heavy,
    })
}

/// Refuses kinds that take no rows of another run.
fn refuse_kind(path: &Path, kind: Kind) -> Result<()> {
    match kind {
        Kind::Scalable => Err(Error::input(path, Refusal::AddToScalable)),
        Kind::Fuse | Kind::Ribbon => Err(Error::input(path, Refusal::AddToStatic(kind))),
        _ => Ok(()),
    }
}

/// Says of a row whose group the file lacks that it can be made.
fn of_new_group(error: Error) -> Error {
    let found = |why: &dyn tamis_read::refusal::Refusal| why.as_a::<Unusable>()?.of_new_group();
    match error {
        Error::Row { path, line, why } => {
            let why = found(&*why).map_or(why, Into::into);
            Error::Row { path, line, why }
        }
        Error::FileRow { path, row, why } => {
            let why = found(&*why).map_or(why, Into::into);
            Error::FileRow { path, row, why }
        }
        other => other,
    }
}
