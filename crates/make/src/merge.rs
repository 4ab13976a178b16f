//! Filters of the same parameters brought together.

mod gather;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use tamis::about::{About, Classes};
use tamis::countmin::Heavy;
use tamis::error::Difference;
use tamis::format::{Beside, Extras, Tally};
use tamis::memory::Words;
use tamis::params::{GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};

use crate::arena::{self, Placing};
use crate::changing::Changing;
use crate::exact::{self, Gathered, Store};
use crate::files::{self, Mapped};
use crate::names::Content;
use crate::pipe::{self, Target};
use crate::{count_min, opt, parallel, place};
use gather::Gather;

/// What was merged.
#[derive(Debug)]
pub struct Merged {
    /// The parameters.
    pub params: Params,
    /// What each sketch says of itself.
    pub tallies: Vec<Tally>,
    /// Inputs that hold just what an earlier one holds (the same file, or a copy of it), after
    /// that one: the filters do not change, but the rows count twice.
    pub twice: Vec<(PathBuf, PathBuf)>,
    /// The (key, group) pairs that are kept beside the filters, where those of all files are.
    pub exact: Option<u64>,
    /// Whether all files have exact keys beside them, which standard output cannot have.
    pub left_keys: bool,
    /// The heavy keys that are kept beside sketches that count, where all files have some.
    pub heavy: Option<u64>,
    /// What was recorded about some of the files and not about all, and so is not about this one.
    pub dropped: Vec<String>,
}

/// Why files are not merged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// None were given.
    #[error("nothing to merge")]
    Nothing,
    /// Standard input was named more than once.
    #[error("- (standard input) can be given only once")]
    StdinTwice,
    /// A filter that grows.
    #[error(
        "the layer of a scalable filter that holds a key depends on the keys that came before it, so two \
         cannot be merged"
    )]
    Scalable,
    /// A static filter.
    #[error("a {0} filter is static and cannot be merged")]
    Static(Kind),
    /// Counters that depend on the order of rows.
    #[error(
        "what a conservative count-min sketch holds depends on the order of its rows, so two \
         cannot be merged"
    )]
    Conservative,
    /// Two files that were built with different parameters.
    #[error("{} and {} have different parameters: {difference}", a.display(), b.display())]
    Different {
        /// One of them.
        a: PathBuf,
        /// The other one.
        b: PathBuf,
        /// How they differ, as the library says it.
        difference: Difference,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        let whole = Help::Do("build one from all of the data");
        let kind = |kind: &str| Help::build_with(opt::KIND.with(kind));
        match self {
            Refusal::Nothing => vec![Help::Do("give at least one sketch")],
            Refusal::StdinTwice => vec![Help::Do("send all files through it, one after the other")],
            Refusal::Scalable => vec![kind("blocked")],
            Refusal::Static(_) => vec![whole, kind("blocked")],
            Refusal::Conservative => vec![whole, Help::BuildWithout(vec![opt::CONSERVATIVE])],
            Refusal::Different { .. } => vec![Help::PlanFirst],
        }
    }
}

/// Merges files group by group; groups that only some have are kept. What goes in is verified:
/// damage would come out under a checksum that matches. A `-` among the inputs is all files that come on standard
/// input, one after the other: they are merged as they come.
pub fn merge<'p>(
    inputs: &[PathBuf],
    to: impl Into<Target<'p>>,
    threads: usize,
    control: &Control,
) -> Result<Merged> {
    let to = to.into();
    if inputs.iter().filter(|input| pipe::is_stdin(input)).count() > 1 {
        return Err(Refusal::StdinTwice.into());
    }
    let changing = match to {
        Target::Stdout(form) => {
            pipe::check(form)?;
            None
        }
        Target::File(path) => check_file(inputs, path)?,
    };
    if inputs.iter().any(|input| pipe::is_stdin(input)) {
        let (joined, share) = gathered(inputs, control)?;
        return write(joined, share, None, Output { to, changing }, threads, control);
    }
    let files = files::open_all(inputs)?;
    // Keys are kept if those of all files are.
    let stores = files.iter().zip(inputs).map(|(file, path)| exact::beside(path, file));
    let stores: Option<Vec<Store>> = stores.collect::<Result<_>>()?;
    if let (Some(_), Some(path)) = (&stores, to.file()) {
        exact::check_place(path)?;
    }
    let open: Vec<&Mapped> = files.iter().collect();
    let joined = join(&open, inputs, threads, control)?;
    let (about, dropped) = merged_about(&open);
    let share = Share { about, dropped, twice: repeated(&files, inputs) };
    let kept = stores.as_ref().map(|stores| stores.iter().zip(files.iter().map(|file| file.params())));
    let kept = kept.map(|kept| kept.collect::<Vec<_>>());
    write(joined, share, kept.as_deref(), Output { to, changing }, threads, control)
}

/// Refuses a place that cannot be written. One of the files may be replaced by what they make together, and no
/// keys beside them.
fn check_file(inputs: &[PathBuf], to: &Path) -> Result<Option<Changing>> {
    files::check(to)?;
    if inputs.iter().any(|input| place::is_one_file(to, &exact::path_beside(input))) {
        return Err(Error::input(to, files::Refusal::IsInput));
    }
    Content::Sketches.check(to)?;
    let replaces = inputs.iter().any(|input| place::is_one_file(to, input));
    replaces.then(|| Changing::begin(to)).transpose()
}

/// Those on standard input and those of files, in the order in which they were named.
fn gathered(inputs: &[PathBuf], control: &Control) -> Result<(Joined, Share)> {
    let mut gather = Gather::default();
    control.begin(0);
    for path in inputs {
        if pipe::is_stdin(path) {
            let mut containers = pipe::stdin();
            let mut any = false;
            while let Some((file, name)) = containers.next_container()? {
                if file.heavy().is_some() {
                    file.params().common.hash.hashes_keys().map_err(Error::file(&name))?;
                }
                gather.add(&file, &name, control)?;
                any = true;
            }
            if !any {
                return Err(containers.refused(pipe::Refusal::Empty));
            }
        } else {
            gather.add(&files::open_to_merge(path)?, path, control)?;
        }
    }
    gather.finish()
}

/// Where the result goes.
struct Output<'p> {
    to: Target<'p>,
    /// That it replaces one of the inputs, where it does.
    changing: Option<Changing>,
}

/// What the files share beside their sketches.
struct Share {
    about: About,
    dropped: Vec<String>,
    twice: Vec<(PathBuf, PathBuf)>,
}

/// Writes what was brought together and, where all have them, the keys beside it.
fn write(
    Joined { params, rows, beside, data, heavy }: Joined,
    Share { about, dropped, twice }: Share,
    stores: Option<&[(&Store, &Params)]>,
    Output { to, changing }: Output<'_>,
    threads: usize,
    control: &Control,
) -> Result<Merged> {
    let extras = Extras { heavy: heavy.as_ref(), about: Some(&about), journal: b"" };
    let tallies = files::seal(&params, (&rows, &beside), &data, threads)?;
    let mut kept = None;
    match to {
        Target::Stdout(form) => pipe::write(form, &params, &tallies, &data, extras)?,
        Target::File(path) => {
            let mut draft = files::draft_sealed(path, &params, &tallies, &data, extras)?;
            drop(data);
            let mut keys = None;
            if let Some(stores) = stores {
                let none = Gathered::none(exact::MEMORY);
                let (draft, pairs) = exact::write(path, draft.digest()?, &params, none, stores, control)?;
                (keys, kept) = (Some(draft), Some(pairs));
            }
            changing.as_ref().map_or(Ok(()), Changing::still)?;
            files::finish_all(keys.into_iter().chain([draft]))?;
        }
    }
    let heavy = heavy.map(|heavy| heavy.keys());
    let left_keys = stores.is_some() && kept.is_none();
    Ok(Merged { params, tallies, twice, exact: kept, left_keys, heavy, dropped })
}

/// Sketches that were brought together, on their way to a file.
struct Joined {
    params: Params,
    rows: Vec<u64>,
    beside: Vec<Beside>,
    data: Words,
    heavy: Option<Heavy>,
}

/// The same for containers that are open, of these names; the result stays in memory. This is recorded
/// about it, or what all of them share.
pub fn merge_in_memory(
    files: &[&Mapped],
    names: &[PathBuf],
    about: Option<&About>,
    threads: usize,
    control: &Control,
) -> Result<Mapped> {
    if files.is_empty() {
        return Err(Refusal::Nothing.into());
    }
    let Joined { params, rows, beside, data, heavy } = join(files, names, threads, control)?;
    let (shared, _) = merged_about(files);
    // The classes of keys are those of all, whatever else is recorded.
    let mut recorded = about.unwrap_or(&shared).clone();
    recorded.classes.clone_from(&shared.classes);
    let extras = Extras { heavy: heavy.as_ref(), about: Some(&recorded), journal: b"" };
    files::in_memory(&params, (&rows, &beside), &data, extras, threads)
}

/// What is recorded about the file of these, and the names of what they do not share.
fn merged_about(files: &[&Mapped]) -> (About, Vec<String>) {
    let (mut about, dropped) = About::merged(files.iter().map(|file| file.about()));
    let classes = files.iter().map(|file| classes_of(file.about(), file.tallies()));
    about.record_classes(classes.fold(Classes::NONE, Classes::and));
    (about, dropped)
}

/// The classes of the keys in a file: none, where it has no rows and says nothing of them.
pub fn classes_of(about: &About, tallies: &[Tally]) -> Classes {
    match about.classes.is_empty() && tallies.iter().all(|tally| tally.rows == 0) {
        true => Classes::NONE,
        false => about.key_classes(),
    }
}

fn join(files: &[&Mapped], names: &[PathBuf], threads: usize, control: &Control) -> Result<Joined> {
    // Before all differences: those of static filters cannot be mended.
    for (file, path) in files.iter().zip(names) {
        refuse_kind(file.params().common.kind, path)?;
    }
    for (file, path) in files.iter().zip(names) {
        mergeable(files[0], &names[0], file, path)?;
    }
    // Each group with the file it was first seen in: a later file may differ from that one, not
    // from the first of all.
    let mut groups: BTreeMap<&Name, (&GroupParams, usize)> = BTreeMap::new();
    for (i, file) in files.iter().enumerate() {
        for group in &file.params().groups {
            let (known, first) = *groups.entry(&group.group).or_insert((group, i));
            if known != group {
                mergeable(files[first], &names[first], file, &names[i])?;
            }
        }
    }
    let groups = groups.into_values().map(|(group, _)| group.clone()).collect();
    let params = Params::new(files[0].params().common.clone(), groups)?;
    let placing = Placing::new(&params);
    let mut data = placing.empty()?;
    let sections = arena::sections(&params, &mut data);
    control.begin(params.groups.len() as u64);
    let sums = parallel::each(threads, sections.len(), |group| {
        control.check()?;
        let mut section = sections[group].lock().expect("no holder panics");
        let (mut rows, mut beside) = (0u64, Beside::empty(params.common.kind));
        for (file, path) in files.iter().zip(names) {
            if let Some(at) = file.params().find(&params.groups[group].group.0) {
                file.verify(at).map_err(Error::file(path))?;
                placing.join(&mut section, file.section(at));
                rows = rows.saturating_add(file.tallies()[at].rows);
                beside = beside.plus(file.tallies()[at].beside);
            }
        }
        control.advance(1);
        Ok((rows, beside))
    })?;
    drop(sections);
    let (rows, beside): (Vec<u64>, Vec<Beside>) = sums.into_iter().unzip();
    let heavy = count_min::merged_heavy(files, &params, &data, &beside)?;
    Ok(Joined { params, rows, beside, data, heavy })
}

/// Refuses kinds of which no two can be merged.
fn refuse_kind(kind: Kind, path: &Path) -> Result<()> {
    Err(Error::input(
        path,
        match kind {
            Kind::Scalable => Refusal::Scalable,
            Kind::Fuse | Kind::Ribbon => Refusal::Static(kind),
            Kind::CountMinConservative => Refusal::Conservative,
            _ => return Ok(()),
        },
    ))
}

/// Files that are equal to one before them. Their sections were verified, so equal checksums say it.
fn repeated(files: &[Mapped], paths: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
    let mut known: HashMap<Vec<(&Name, u64)>, &PathBuf> = HashMap::new();
    let mut twice = Vec::new();
    for (file, path) in files.iter().zip(paths) {
        if file.tallies().iter().all(|tally| tally.rows == 0) {
            continue; // filters that are still empty are all alike
        }
        let names = file.params().groups.iter().map(|group| &group.group);
        let sums = names.zip(file.tallies().iter().map(|tally| tally.sum)).collect();
        if let Some(first) = known.get(&sums) {
            twice.push(((*first).clone(), path.clone()));
        } else {
            known.insert(sums, path);
        }
    }
    twice
}

/// The names of the groups of both files, each once, in the order for people.
pub(crate) fn names_of_both<'f>(a: &'f Mapped, b: &'f Mapped) -> Vec<&'f Name> {
    let groups = a.params().groups.iter().chain(&b.params().groups);
    let mut names: Vec<&Name> = groups.map(|group| &group.group).collect();
    names.sort_by(|a, b| a.compare_naturally(b));
    names.dedup();
    names
}

/// Refuses two files whose filters have different parameters.
pub(crate) fn mergeable(a: &Mapped, a_path: &Path, b: &Mapped, b_path: &Path) -> Result<()> {
    different((a.params(), a_path), (b.params(), b_path))
}

/// The same of their parameters.
fn different((a, a_path): (&Params, &Path), (b, b_path): (&Params, &Path)) -> Result<()> {
    match a.difference(b) {
        None => Ok(()),
        Some(difference) => Err(Refusal::Different { a: a_path.into(), b: b_path.into(), difference }.into()),
    }
}
