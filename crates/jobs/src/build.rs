//! The second phase: the sketches themselves.

use std::path::Path;
use std::time::{Duration, Instant};

use tamis::arch::map::Words;
use tamis::blocked::Blocked;
use tamis::bloom::Bloom;
use tamis::counting::Counting;
use tamis::countmin::Heavy;
use tamis::format::Tally;
use tamis::fuse::{self, Fuse};
use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::sizing::{Kind, Shape};
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Sources};

use crate::arena::{self, Placing, Private, Ranges, Shared};
use crate::count::{self, Counted, Making};
use crate::distinct::{Distinct, EXACT};
use crate::exact::{self, Gathered, Store};
use crate::hashes::{self, Wanted};
use crate::plan::{self, Counters, Size};
use crate::rows::{BadRows, Groups, KeyRows, Take};
use crate::{counts, output, parallel};

/// Where the parameters come from.
#[derive(Debug, Clone)]
pub enum Sizing {
    /// The distinct keys are counted first.
    Count(Size),
    /// Each group is planned for so many keys; nothing is counted.
    Keys(u64, Size),
    /// Sketches that count have so many counters, however many keys there are.
    Counters(Counters),
    /// They are given.
    Params(Params),
}

/// Filters to be built from a table.
#[derive(Debug, Clone)]
pub struct Job {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// Kind, hash and recipe.
    pub common: Common,
    /// How large.
    pub sizing: Sizing,
    /// The layers of a `layered`, where they are not to follow from the data.
    pub layers: Option<u32>,
    /// The share from which on keys are kept beside sketches that count.
    pub heavy: Option<f64>,
    /// Whether equal keys of a group go into a `counting` once; others hold each key once anyway.
    pub distinct: bool,
    /// Rows without a key.
    pub bad_rows: BadRows,
    /// Threads.
    pub threads: usize,
}

/// What was built.
#[derive(Debug)]
pub struct Report {
    /// The parameters.
    pub params: Params,
    /// What each sketch says of itself.
    pub tallies: Vec<Tally>,
    /// Rows left out.
    pub skipped: u64,
    /// Whether the keys were estimated, not counted.
    pub estimated: bool,
    /// Whether keywords were counted, and no record has more than one.
    pub lone_keywords: bool,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
    /// The time of each phase.
    pub phases: Vec<(&'static str, Duration)>,
    /// The (key, group) pairs that are kept beside the filters, where they are.
    pub exact: Option<u64>,
    /// The heavy keys that are kept beside sketches that count, where they are.
    pub heavy: Option<u64>,
}

/// Sketches in memory, on their way to a file.
pub(crate) struct Built {
    pub params: Params,
    pub rows: Vec<u64>,
    /// What stands as the seed in the directory: of sketches that count, the total weights.
    pub seeds: Vec<u64>,
    pub arena: Words,
    pub skipped: u64,
    pub estimated: bool,
    pub lone_keywords: bool,
    pub heavy: Option<Heavy>,
}

/// Builds the filters and writes them to a file.
pub fn build(job: &Job, output: &Path, control: &Control) -> Result<Report> {
    build_keeping(job, None, output, control)
}

/// The same, and keeps the keys themselves in a file beside it, collected in this much memory.
pub fn build_exact(job: &Job, memory: u64, output: &Path, control: &Control) -> Result<Report> {
    build_keeping(job, Some(memory), output, control)
}

fn build_keeping(job: &Job, exact: Option<u64>, output: &Path, control: &Control) -> Result<Report> {
    let start = Instant::now();
    output::check(output)?;
    refuse_early(job)?;
    let mut sources = Sources::open(&job.inputs, &job.options, &job.common.recipe.columns())?;
    let inputs = sources.explain();
    output::check_is_no_input(output, inputs.iter().map(|input| &input.path))?;
    if exact.is_some() {
        if job.common.kind.counts() {
            return Err(Error::told(
                "exact keys are for filters, and these sketches count: leave out --exact (--heavy SHARE keeps the keys that come most)".into(),
            ));
        }
        if job.common.kind == Kind::Layered {
            return Err(Error::told(
                "a layered filter is asked for some keywords of a record, and exact keys are whole ones: leave out --exact, or build another kind".into(),
            ));
        }
        if job.common.kind == Kind::Counting {
            return Err(Error::told(
                "exact keys are a set, and what is removed from a counting filter would stay among them: leave out --exact, or build another kind".into(),
            ));
        }
        let keys = exact::path_beside(output);
        output::check(&keys)?;
        output::check_is_no_input(&keys, inputs.iter().map(|input| &input.path))?;
        sources.keep(); // a pass of its own collects the keys
    }
    let mut phases = vec![("open", start.elapsed())];
    let mut phase = |name, since: Instant| phases.push((name, since.elapsed()));

    let making = making(job);
    let built = make(job, &mut sources, &mut phase, control)?;
    let collecting = Instant::now();
    let gathered = match exact {
        Some(memory) => {
            let found = gather(&sources, making, &built, memory, job.threads, output, control)?;
            phase("collect keys", collecting);
            Some(found)
        }
        None => None,
    };
    let writing = Instant::now();
    let (skipped, estimated, lone_keywords) = (built.skipped, built.estimated, built.lone_keywords);
    let heavy = built.heavy.as_ref().map(Heavy::keys);
    let (params, tallies, exact) = finish(built, gathered, None, output, job.threads, control)?;
    phase("write", writing);
    Ok(Report { params, tallies, skipped, estimated, lone_keywords, inputs, phases, exact, heavy })
}

/// How the keys of a job are made.
pub(crate) fn making(job: &Job) -> Making<'_> {
    let count_keywords = job.common.kind == Kind::Layered;
    Making { recipe: &job.common.recipe, hash: job.common.hash, bad_rows: job.bad_rows, count_keywords }
}

/// Counts, plans and builds, as far as the job needs each of them.
pub(crate) fn make(
    job: &Job,
    sources: &mut Sources,
    phase: &mut dyn FnMut(&'static str, Instant),
    control: &Control,
) -> Result<Built> {
    let counting = Instant::now();
    let making = making(job);
    let put = |sources: &Sources, params| match job.distinct {
        true => insert_distinct(sources, making, params, None, job.threads, control),
        false => insert(sources, making, params, None, job.threads, control),
    };
    let built = match (&job.sizing, job.common.kind) {
        (_, Kind::Scalable) => unreachable!("refused before the input is read"),
        (_, kind) if kind.counts() => counts::build(job, sources, making, phase, control)?,
        (Sizing::Counters(_), _) => unreachable!("refused before the input is read"),
        (_, Kind::Fuse) => {
            let counted = count::distinct_keys(sources, making, usize::MAX, job.threads, control)?;
            phase("count", counting);
            let building = Instant::now();
            let built = fuse(job, counted, control)?;
            phase("build", building);
            built
        }
        (Sizing::Count(size), _) => {
            sources.keep(); // a second pass may be needed
            let counted = count::distinct_keys(sources, making, EXACT, job.threads, control)?;
            let params = planned(job, &counted, *size)?;
            phase("count", counting);
            let building = Instant::now();
            let built = if !from_hashes(job) || counted.estimating() {
                let mut built = put(sources, params)?;
                built.estimated = counted.estimating();
                built.lone_keywords = counted.lone_keywords();
                built
            } else {
                from_logs(params, counted, job.threads, control)?
            };
            phase("build", building);
            built
        }
        (Sizing::Keys(keys, size), _) => {
            let names = if job.common.recipe.group.is_some() {
                if matches!(size, Size::Total(_)) {
                    return Err(Error::told(
                        "a total --size is shared by the keys of each group: leave out --keys, or size by --fpr or --bits-per-key".into(),
                    ));
                }
                sources.keep();
                let names = count::group_names(sources, making, job.threads, control)?;
                if names.is_empty() {
                    return Err(Error::told("the input has no rows, and so no groups to build".into()));
                }
                phase("groups", counting);
                names
            } else {
                vec![Name::default()]
            };
            let counts = names.into_iter().map(|name| (name, *keys)).collect();
            let layers = plan::layers(&job.common, *size, job.layers, None)?;
            let params = plan::parameters(job.common.clone(), counts, *size, layers)?;
            let building = Instant::now();
            let built = put(sources, params)?;
            phase("build", building);
            built
        }
        (Sizing::Params(params), _) => {
            let built = put(sources, params.clone())?;
            phase("build", counting);
            built
        }
    };
    Ok(built)
}

/// Whether filters can be built of the distinct hashes of keys: positions by murmur3 and those of records
/// need the keys themselves; counters, every row.
pub(crate) fn from_hashes(job: &Job) -> bool {
    match job.common.kind {
        Kind::Layered => false,
        Kind::Counting => job.distinct,
        _ => job.common.hash != Scheme::Murmur3,
    }
}

/// Collects the keys of rows that went into filters.
fn gather(
    sources: &Sources,
    making: Making<'_>,
    built: &Built,
    memory: u64,
    threads: usize,
    output: &Path,
    control: &Control,
) -> Result<Gathered> {
    let gathered = exact::gather(sources, making, &built.params, memory, threads, output, control)?;
    if gathered.rows != built.rows.iter().sum::<u64>() {
        return Err(Error::told(
            "the input changed while it was read: its keys are not those of the filters; build again".into(),
        ));
    }
    Ok(gathered)
}

/// Writes the filters and, where keys are kept, the keys: both are whole before one is put in
/// its place. Should all end between the two, the digest tells that they do not belong together.
fn finish(
    built: Built,
    gathered: Option<Gathered>,
    before: Option<&(Store, Params)>,
    output: &Path,
    threads: usize,
    control: &Control,
) -> Result<(Params, Vec<Tally>, Option<u64>)> {
    let Built { params, rows, seeds, arena, heavy, .. } = built;
    let (mut draft, tallies) =
        output::draft_container(output, &params, (&rows, &seeds), &arena, heavy.as_ref(), threads)?;
    drop(arena);
    let mut pairs = None;
    if let Some(gathered) = gathered {
        let before: Vec<_> = before.iter().map(|(store, params)| (store, params)).collect();
        let (keys, count) = exact::write(output, draft.digest()?, &params, gathered, &before, control)?;
        keys.finish()?;
        pairs = Some(count);
    }
    draft.finish()?;
    Ok((params, tallies, pairs))
}

/// What was planned for a table.
#[derive(Debug)]
pub struct Planned {
    /// The parameters.
    pub params: Params,
    /// The counts that they come from.
    pub counted: Counted,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
}

/// The parameters for a table: the first phase alone.
pub fn plan(job: &Job, size: Size, control: &Control) -> Result<Planned> {
    refuse_early(job)?;
    let sources = Sources::open(&job.inputs, &job.options, &job.common.recipe.columns())?;
    let (params, counted) = count_and_plan(job, &sources, size, control)?;
    Ok(Planned { params, counted, inputs: sources.explain() })
}

/// Counts the keys of all groups, and plans filters for them.
pub(crate) fn count_and_plan(
    job: &Job,
    sources: &Sources,
    size: Size,
    control: &Control,
) -> Result<(Params, Counted)> {
    let limit = if job.common.kind == Kind::Fuse { usize::MAX } else { EXACT };
    let counted = count::distinct_keys(sources, making(job), limit, job.threads, control)?;
    Ok((planned(job, &counted, size)?, counted))
}

/// The parameters that follow from what was counted.
pub(crate) fn planned(job: &Job, counted: &Counted, size: Size) -> Result<Params> {
    let groups = counted.planned();
    plan::refuse_empty(&groups)?;
    let layers = plan::layers(&job.common, size, job.layers, counted.keywords_and_records())?;
    plan::parameters(job.common.clone(), groups, size, layers)
}

/// What cannot be served whatever the input holds is refused before it is read.
pub fn refuse_early(job: &Job) -> Result<()> {
    if job.common.kind == Kind::Scalable {
        return Err(Error::told(
            "a scalable filter is for keys that cannot be counted first (tamis dedup makes one); \
             here they are: use --kind blocked"
                .into(),
        ));
    }
    if let Some(share) = job.heavy {
        counts::check_share(job, share)?;
    }
    refuse_distinct(job.distinct, job.common.kind)?;
    match &job.sizing {
        Sizing::Counters(_) if !job.common.kind.counts() => Err(Error::told(format!(
            "a {} filter has no counters and is sized by --fpr; --kind count-min has them",
            job.common.kind
        ))),
        Sizing::Counters(_) => Ok(()),
        Sizing::Count(_) | Sizing::Keys(..) if job.common.kind.counts() => Err(Error::told(
            "sketches that count have no rate of false positives: size them by --epsilon and --delta".into(),
        )),
        Sizing::Keys(..) if job.common.kind == Kind::Fuse => Err(Error::told(
            "a fuse filter is sized by its own keys, which are counted: leave out --keys".into(),
        )),
        Sizing::Count(size) | Sizing::Keys(_, size) => {
            let counted = matches!(job.sizing, Sizing::Count(_)).then_some((1, 1));
            plan::layers(&job.common, *size, job.layers, counted)?;
            plan::check(&job.common, *size)
        }
        Sizing::Params(_) => Ok(()),
    }
}

/// Refuses to look for equal keys where that would change nothing, or make counts wrong.
pub(crate) fn refuse_distinct(distinct: bool, kind: Kind) -> Result<()> {
    match kind {
        Kind::Counting => Ok(()),
        _ if !distinct => Ok(()),
        kind if kind.counts() => Err(Error::told(
            "sketches that count are told how often keys come: leave out --distinct, or give --kind counting"
                .into(),
        )),
        kind => Err(Error::told(format!(
            "a {kind} filter holds each key once, however often it comes: leave out --distinct"
        ))),
    }
}

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
    /// Threads.
    pub threads: usize,
}

/// Adds rows to a file of filters, which is replaced whole.
pub fn add(path: &Path, addition: &Addition, control: &Control) -> Result<Report> {
    let start = Instant::now();
    output::check(path)?;
    let container = output::open(path)?;
    let params = container.params().clone();
    if params.common.kind == Kind::Scalable {
        return Err(Error::told(format!(
            "{}: what a scalable filter holds depends on the order of its keys, and several threads have none; \
             add to it with the verb that made it (tamis dedup --state)",
            path.display()
        )));
    }
    if params.common.kind == Kind::Fuse {
        return Err(Error::told(format!(
            "{}: a fuse filter is static and takes no more keys; build it again from all of the data, or build --kind blocked",
            path.display()
        )));
    }
    refuse_distinct(addition.distinct, params.common.kind)?;
    // Damage would come out under a checksum that matches.
    parallel::each(addition.threads, params.groups.len(), |group| {
        container.verify(group).map_err(Error::file(path))
    })?;
    let mut sources = Sources::open(&addition.inputs, &addition.options, &addition.recipe.columns())?;
    let inputs = sources.explain();
    output::check_is_no_input(path, inputs.iter().map(|input| &input.path))?;
    let store = exact::beside(path, &container)?.map(|store| (store, params.clone()));
    if store.is_some() {
        output::check(&exact::path_beside(path))?;
        sources.keep();
    }
    let heavy = container.heavy().cloned();
    if heavy.is_some() {
        sources.keep(); // a pass of its own finds those of the new rows
    }
    let hash = params.common.hash;
    let making =
        Making { recipe: &addition.recipe, hash, bad_rows: addition.bad_rows, count_keywords: false };
    let mut words = Placing::new(&params).empty()?;
    words.copy_from_slice(container.data());
    let before = container.tallies().to_vec();
    drop(container);
    let mut built = match addition.distinct {
        true => insert_distinct(&sources, making, params, Some(words), addition.threads, control)?,
        false => insert(&sources, making, params, Some(words), addition.threads, control)?,
    };
    let gathered = match &store {
        Some(_) => Some(gather(&sources, making, &built, exact::MEMORY, addition.threads, path, control)?),
        None => None,
    };
    if let Some(heavy) = heavy {
        let share = heavy.share;
        counts::keep_heavy(&sources, making, &mut built, &before, share, addition.threads, control)?;
        counts::join_heavy(&mut built, &before, [heavy])?;
    }
    for (group, before) in before.iter().enumerate() {
        built.rows[group] = built.rows[group].saturating_add(before.rows);
        let kind = built.params.common.kind;
        if kind.counts() || kind == Kind::Counting {
            built.seeds[group] = built.seeds[group].saturating_add(before.seed);
        }
    }
    let heavy = built.heavy.as_ref().map(Heavy::keys);
    let skipped = built.skipped;
    let (params, tallies, exact) = finish(built, gathered, store.as_ref(), path, addition.threads, control)?;
    Ok(Report {
        params,
        tallies,
        skipped,
        estimated: false,
        lone_keywords: false,
        inputs,
        phases: vec![("add", start.elapsed())],
        exact,
        heavy,
    })
}

/// Puts all keys of the input into an arena, straight from the rows.
pub(crate) fn insert(
    sources: &Sources,
    making: Making<'_>,
    params: Params,
    words: Option<Words>,
    threads: usize,
    control: &Control,
) -> Result<Built> {
    if params.common.kind == Kind::CountMinConservative {
        return counts::in_order(sources, making, params, words, threads, control);
    }
    let placing = Placing::new(&params);
    let (arena, taken) = if arena::share(&placing, threads) {
        let mut words = words.map_or_else(|| placing.empty(), Ok)?;
        let ranges = Ranges::new(&placing, &mut words, threads);
        let sinks = (0..threads)
            .map(|_| making.rows(Groups::Known(&params), Shared::new(&placing, &ranges)))
            .collect();
        let (takes, taken) = taken(sources.scan(sinks, control)?, params.groups.len());
        takes.into_iter().for_each(Shared::finish);
        drop(ranges);
        (words, taken)
    } else {
        let mut words = words;
        let mut sinks = Vec::new();
        for _ in 0..threads {
            let private = words
                .take()
                .map_or_else(|| Private::new(&placing), |words| Ok(Private::with(&placing, words)))?;
            sinks.push(making.rows(Groups::Known(&params), private));
        }
        let (takes, taken) = taken(sources.scan(sinks, control)?, params.groups.len());
        let mut arenas = takes.into_iter().map(Private::finish);
        let mut all = arenas.next().map_or_else(|| placing.empty(), Ok)?;
        arenas.for_each(|words| placing.join(&mut all, &words));
        (all, taken)
    };
    let Taken { rows, totals, skipped } = taken;
    let seeds = if params.common.kind.counts() { totals } else { vec![0; params.groups.len()] };
    Ok(Built { params, rows, seeds, arena, skipped, estimated: false, lone_keywords: false, heavy: None })
}

/// The same into `counting` filters, equal keys of a group once.
fn insert_distinct(
    sources: &Sources,
    making: Making<'_>,
    params: Params,
    words: Option<Words>,
    threads: usize,
    control: &Control,
) -> Result<Built> {
    let wanted = Wanted { distinct: true, known_groups: true };
    let hashes = hashes::by_group(sources, making, &params, wanted, threads, control)?;
    let mut arena = words.map_or_else(|| Placing::new(&params).empty(), Ok)?;
    let sections = arena::sections(&params, &mut arena);
    parallel::each(threads, sections.len(), |group| {
        control.check()?;
        let mut section = sections[group].lock().expect("no holder panics");
        let mut filter = Counting::from_words(&mut **section, params.groups[group].shape.hashes)?;
        filter.insert_hashes(&hashes.groups[group]);
        Ok(())
    })?;
    drop(sections);
    let rows = hashes.groups.iter().map(|hashes| hashes.len() as u64).collect();
    let (seeds, skipped) = (vec![0; params.groups.len()], hashes.skipped);
    Ok(Built { params, rows, seeds, arena, skipped, estimated: false, lone_keywords: false, heavy: None })
}

/// What was taken, summed over threads.
pub(crate) struct Taken {
    /// The rows of each group.
    pub rows: Vec<u64>,
    /// Their weights.
    pub totals: Vec<u64>,
    /// Rows left out.
    pub skipped: u64,
}

/// What took the keys, and what was taken.
pub(crate) fn taken<T: Take>(sinks: Vec<KeyRows<'_, T>>, groups: usize) -> (Vec<T>, Taken) {
    let mut taken = Taken { rows: vec![0; groups], totals: vec![0; groups], skipped: 0 };
    let mut takes = Vec::new();
    for sink in sinks {
        taken.rows.iter_mut().zip(&sink.rows).for_each(|(all, rows)| *all += rows);
        let totals = taken.totals.iter_mut().zip(sink.totals());
        totals.for_each(|(all, total)| *all = all.saturating_add(*total));
        taken.skipped += sink.skipped;
        takes.push(sink.take);
    }
    (takes, taken)
}

/// Puts the keys that were counted into an arena, each once: no second pass over the input.
pub(crate) fn from_logs(
    params: Params,
    counted: Counted,
    threads: usize,
    control: &Control,
) -> Result<Built> {
    let placing = Placing::new(&params);
    let mut arena = placing.empty()?;
    let sections = arena::sections(&params, &mut arena);
    parallel::each(threads, sections.len(), |group| {
        control.check()?;
        let Distinct::Exact(log) = &counted.counts.groups()[group] else {
            unreachable!("an estimated job is built from its rows");
        };
        let mut section = sections[group].lock().expect("no holder panics");
        let shape = params.groups[group].shape;
        match params.common.kind {
            Kind::Blocked => Blocked::from_words(&mut **section, shape.hashes)?.insert_hashes(log.hashes()),
            Kind::Bloom => {
                Bloom::from_words(&mut **section, shape.slots, shape.hashes)?.insert_hashes(log.hashes())
            }
            Kind::Counting => {
                Counting::from_words(&mut **section, shape.hashes)?.insert_hashes(log.hashes());
            }
            Kind::Fuse => unreachable!("a fuse filter is built from hashes of its own"),
            Kind::Layered => unreachable!("records are added from their keywords"),
            Kind::Scalable => unreachable!("refused before the input is read"),
            Kind::CountMin | Kind::CountMinConservative => unreachable!("rows are counted, not keys"),
        }
        Ok(())
    })?;
    drop(sections);
    let rows = match params.common.kind {
        Kind::Counting => counted.counts.groups().iter().map(Distinct::planned).collect(),
        _ => counted.groups.iter().map(|(_, rows)| *rows).collect(),
    };
    let seeds = vec![0; params.groups.len()];
    Ok(Built {
        params,
        rows,
        seeds,
        arena,
        skipped: counted.skipped,
        estimated: false,
        lone_keywords: false,
        heavy: None,
    })
}

/// Static filters, from the sets of all groups.
pub(crate) fn fuse(job: &Job, counted: Counted, control: &Control) -> Result<Built> {
    plan::refuse_empty(&counted.planned())?;
    let params = match &job.sizing {
        Sizing::Count(size) => planned(job, &counted, *size)?,
        Sizing::Keys(..) | Sizing::Counters(_) => unreachable!("refused before the input is read"),
        Sizing::Params(given) => {
            // Width and rate as planned; the number of slots follows from the keys.
            let mut groups = Vec::new();
            for (name, keys) in counted.planned() {
                let planned = given.find(&name.0).map(|at| &given.groups[at]).ok_or_else(|| {
                    Error::told(format!("group {name} is not in the parameters; plan over all of the data"))
                })?;
                let shape = Shape { slots: fuse::shape(keys)?.slots, ..planned.shape };
                groups.push(GroupParams { group: name, keys, fpr: planned.fpr, shape });
            }
            Params::new(given.common.clone(), groups)?
        }
    };
    let mut arena = Placing::new(&params).empty()?;
    let sections = arena::sections(&params, &mut arena);
    let seeds = parallel::each(job.threads, sections.len(), |group| {
        control.check()?;
        let Distinct::Exact(log) = &counted.counts.groups()[group] else {
            unreachable!("the keys of a fuse filter are always counted exactly");
        };
        let mut hashes = log.hashes().to_vec();
        let built = Fuse::build(&mut hashes, params.groups[group].shape.width)?;
        sections[group].lock().expect("no holder panics").copy_from_slice(built.words());
        Ok(built.seed())
    })?;
    drop(sections);
    let rows = counted.groups.iter().map(|(_, rows)| *rows).collect();
    Ok(Built {
        params,
        rows,
        seeds,
        arena,
        skipped: counted.skipped,
        estimated: false,
        lone_keywords: false,
        heavy: None,
    })
}
