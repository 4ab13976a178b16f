//! Records pass if, and only if, their key may be in the set; unchanged and in their order.

pub mod apart;
mod copy;
mod expected;
mod refusal;
mod several;
mod sieve;
mod skip;
mod strict;
mod tag;
mod tape;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tamis::key::{Column, Recipe};
use tamis::params::{Name, Params};
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};
use tamis_read::parquet::Codec;
use tamis_read::{Control, Explained, Form, Format, Next, NoColumn, Sources};

pub use self::expected::Rate;
pub use self::refusal::Refusal;
use self::several::Other;
pub use self::several::{Also, OfFile};
use self::sieve::{Asked, Counts, Sieve, Sieving};
pub use self::skip::Skipped;
use self::skip::Skipping;
use self::strict::Strict;
use self::tag::Tag;
use crate::ask::{Extent, Filters};
use crate::classes::{self, Doubt, Hits};
use crate::removed_keys::RemovedKeys;
use tamis_make::destination::{self, Destination, Outlet};
use tamis_make::exact::Store;
use tamis_make::files::{self, Mapped};
use tamis_make::foreign::{self, Said};
use tamis_make::groups;
use tamis_make::health::of_sketch;
use tamis_make::names::Content;
use tamis_make::rows::{BadRows, Groups};
use tamis_make::written::Written;
use tamis_make::{count_min, opt};

/// Which groups a key is sought in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// All of them; one that has it is enough.
    Any,
    /// This one.
    Group(Name),
    /// The record's own, by the group column of the recipe.
    Own,
}

/// Records to be sieved.
#[derive(Debug, Clone)]
pub struct Job {
    /// The file of filters.
    pub filters: PathBuf,
    /// What is said of it, if it is of another system.
    pub said: Said,
    /// What the file is called, where others are asked besides.
    pub name: Name,
    /// These.
    pub also: Vec<Also>,
    /// Filters of keys that were removed since.
    pub removed: Option<PathBuf>,
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// The recipe, with the columns of these inputs.
    pub recipe: Recipe,
    /// Which groups are asked.
    pub ask: Ask,
    /// How much of records is asked.
    pub extent: Extent,
    /// Whether the others pass.
    pub invert: bool,
    /// The name of a column for the groups that a key may be in.
    pub tag: Option<String>,
    /// The file for the records that pass.
    pub output: Destination,
    /// Where the others go.
    pub rejected: Option<PathBuf>,
    /// How records are written, where the name of the output does not say it.
    pub format: Option<Format>,
    /// How pages of Parquet are compressed.
    pub codec: Option<Codec>,
    /// Records without a key; left out, they are among the others, but not where they are set aside.
    pub bad_rows: BadRows,
    /// Threads.
    pub threads: usize,
    /// Whether what passes the filters is checked against the keys themselves, and in how much
    /// memory.
    pub strict: Option<u64>,
}

/// The distinct keys of a set, and how they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    /// The keys.
    pub keys: u64,
    /// How they are known.
    pub by: KnownBy,
}

/// How the size of a set is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy {
    /// A static filter holds exactly the keys that it was built from.
    Static,
    /// The keys themselves are kept beside the file.
    Keys,
    /// They were counted when the file was built, and it is as it was then.
    Count,
}

/// What was done.
#[derive(Debug, Clone)]
pub struct Report {
    /// The kind of the filters.
    pub kind: Kind,
    /// How much of records was asked.
    pub extent: Extent,
    /// Hash functions, the fewest and the most of any filter that was asked.
    pub hashes: (u32, u32),
    /// Filters that were asked.
    pub filters: u64,
    /// Their bits.
    pub bits: u64,
    /// Their distinct keys, estimated from their fill: the size of the set, at least and at most, since
    /// groups may share keys. None where one is full.
    pub keys: Option<(f64, f64)>,
    /// The size of the set, where it is known exactly.
    pub exact: Option<Exact>,
    /// The keys that they were planned for.
    pub planned: u64,
    /// Where several files were asked: what was found in each of them, the first first.
    pub files: Vec<OfFile>,
    /// Records read.
    pub records: u64,
    /// Records whose key may be in the set.
    pub admitted: u64,
    /// Records that the filters let pass and the keys themselves did not, where these were asked.
    pub refuted: Option<u64>,
    /// Records without a key, which are not admitted.
    pub keyless: u64,
    /// Records whose own group is asked, and not in the file: they are not admitted.
    pub groupless: u64,
    /// The rate of false positives of the filters asked, from the bits that are set; that of own
    /// groups is a mean over the records. None where nobody will see it.
    pub rate: Option<Rate>,
    /// The expected number of admitted records that are not in the set.
    pub false_admissions: Option<f64>,
    /// Where there are filters of removed keys: how probably a key that was not removed is taken for one
    /// that was, and how many records are to be expected to be missed so.
    pub lost: Option<(f64, f64)>,
    /// Row groups of Parquet that were not read, because no record of them can pass: their records are among those
    /// read, and not admitted.
    pub skipped: Skipped,
    /// The reader of the output went away before the end.
    pub closed: bool,
    /// What is to be said of keys that are of another class than those of the file.
    pub doubts: Vec<Doubt>,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
    /// The time of each phase.
    pub phases: Vec<(&'static str, Duration)>,
}

impl Report {
    /// Records that were not admitted.
    pub fn rejected(&self) -> u64 {
        self.records - self.admitted
    }
}

/// Sieves records.
pub fn filter(job: &Job, control: &Control) -> Result<Report> {
    filter_in_chunks(job, None, control)
}

/// The same, reading this much at a time: the result does not depend on it.
fn filter_in_chunks(job: &Job, chunk: Option<usize>, control: &Control) -> Result<Report> {
    let start = Instant::now();
    let (file, _) = foreign::open_to_ask(&job.filters, &job.said)?;
    let params = file.params();
    refuse(job, params)?;
    let removed = job.removed.as_ref().map(|path| RemovedKeys::open(path, params)).transpose()?;
    let filters = Filters::of_file(&file)?.without_some(removed.as_ref())?.asked_for(job.extent);
    // Whatever the record's group is, it is not looked at unless it is asked.
    let group = if job.ask == Ask::Own { job.recipe.group.clone() } else { None };
    let recipe = Recipe { group, ..job.recipe.clone() };
    let opened = job.also.iter().map(Also::open).collect::<Result<Vec<Mapped>>>()?;
    let others = job
        .also
        .iter()
        .zip(&opened)
        .map(|(also, file)| Other::of(also, file))
        .collect::<Result<Vec<Other<'_>>>>()?;
    let mut sources = open(job, &recipe, &others, params)?;
    if let Some(chunk) = chunk {
        sources.in_chunks_of(chunk);
    }
    let to = check_outputs(job, &sources)?;
    let form = form(job, &mut sources)?;
    let tag = job.tag.as_deref().map(|name| Tag::new(&form, name, names(job, params, &others)));
    let (mut outlets, mut aside) = open_outlets(&to, &form)?;
    let asked = asked(job, params)?;
    let store = job.strict.map(|_| Store::open(&job.filters, &file)).transpose()?;
    let sieving = Sieving {
        filters,
        others,
        order: params.natural_order(),
        invert: job.invert,
        wanted: [outlets[0].takes(), outlets[1].takes()],
        skipping: Skipping::of(job, &recipe, (&file, &asked), &sources, control),
        asked,
        tag,
        strict: job.strict.is_some(),
    };
    let prelude = sieving.tag.as_ref().map_or_else(|| form.prelude.clone(), Tag::prelude);
    for outlet in &mut outlets {
        outlet.write(&prelude)?;
    }
    let sieve = |_| {
        let groups = match job.ask {
            Ask::Own => Groups::KnownOr(params, params.groups.len() as u32),
            _ => Groups::One(0),
        };
        Sieve::new(&sieving, &recipe, &params.common, groups, (&job.bad_rows).into())
    };
    let sieves = (0..job.threads).map(sieve).collect();
    let mut phases = vec![("open", start.elapsed())];
    let analysing = Instant::now();
    let mut strict = store.as_ref().zip(job.strict).map(|(store, memory)| {
        Strict::new(&sieving, store, memory, std::env::temp_dir(), sources.are_streams(), control)
    });
    let sieves = sift(&sources, sieves, strict.as_mut(), (&mut outlets, &mut aside), control)?;
    phases.push(("analyse", analysing.elapsed()));
    let closed = outlets.iter().any(Outlet::is_closed);
    let writing = Instant::now();
    destination::finish_all(outlets.into_iter().chain([aside]))?;
    if job.output.path().is_some() || job.rejected.is_some() {
        phases.push(("write", writing.elapsed()));
    }
    let counts = sum(sieves.into_iter().map(|sieve| sieve.counts));
    let exactly = strict.map(|strict| strict.admitted);
    let report = report(job, &file, &sieving, counts, exactly, closed, phases)?;
    let hits = Hits { asked: report.records - report.keyless, found: report.admitted };
    let asks = sources.classes(&recipe.key_columns());
    let doubts = classes::of_scan(file.about().key_classes(), &recipe.key, asks, hits);
    Ok(Report { inputs: sources.explain(), doubts, ..report })
}

/// Sends all records through the sieves, and what passes, or does not, to its outlet.
fn sift<'a>(
    sources: &Sources,
    sieves: Vec<Sieve<'a>>,
    mut strict: Option<&mut Strict<'a>>,
    (outlets, aside): (&mut [Outlet; 2], &mut Outlet),
    control: &Control,
) -> Result<Vec<Sieve<'a>>> {
    let sieves = sources.sift(
        sieves,
        |next| {
            if let Next::Batch(sieved, _) = &next {
                aside.write(&sieved.aside)?;
            }
            match (next, &mut strict) {
                (Next::Batch(sieved, _), Some(strict)) => strict.take(&mut sieved.suspects, outlets)?,
                (Next::Pause, Some(strict)) => strict.settle(outlets)?,
                (Next::Batch(sieved, _), None) => {
                    outlets[0].write(sieved.passed())?;
                    outlets[1].write(sieved.rejected())?;
                }
                (Next::Pause, None) => {}
            }
            // Without a reader of what passes, there may still be a file to complete.
            let done = outlets[0].is_closed() && !outlets[1].takes() && !aside.takes();
            Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        },
        control,
    );
    // What stood before a record that cannot be used is settled, too.
    if let Some(strict) = strict
        && !matches!(sieves, Err(Error::Interrupted))
    {
        strict.settle(outlets)?;
    }
    sieves
}

/// What these filters cannot be asked.
fn refuse(job: &Job, params: &Params) -> Result<()> {
    count_min::refuse(&job.filters, params, count_min::OfSets::Filter)?;
    job.extent.check(params.common.kind).map_err(|refusal| Error::input(&job.filters, refusal))?;
    if job.removed.is_some() && job.strict.is_some() {
        return Err(Refusal::RemovedStrict.into());
    }
    if params.common.recipe.record.is_some() {
        return Err(Refusal::Documents.into());
    }
    let grouped = params.common.recipe.group.is_some() || !job.also.is_empty();
    let option = match (&job.ask, &job.tag) {
        (Ask::Group(_), _) => opt::GROUP,
        (Ask::Own, _) => opt::OWN_GROUP,
        (_, Some(_)) => opt::TAG,
        _ => return Ok(()),
    };
    if grouped {
        return Ok(());
    }
    Err(Error::input(&job.filters, Refusal::NoGroups { option }))
}

/// Opens the inputs. Where they lack the columns that the filters were built from, that is said.
fn open(job: &Job, recipe: &Recipe, others: &[Other<'_>], params: &Params) -> Result<Sources> {
    let stored = params.common.recipe.key == recipe.key;
    let columns: Vec<Column> =
        recipe.columns().into_iter().chain(others.iter().flat_map(Other::columns)).collect();
    Sources::open(&job.inputs, &job.options, &columns).map_err(|error| match error {
        Error::Input { path, why } if stored && why.as_a::<NoColumn>().is_some() => {
            Error::input(path, Refusal::Columns { why, recipe: Box::new(params.common.recipe.clone()) })
        }
        error => error,
    })
}

/// How records are written, with the column of their groups.
fn form(job: &Job, sources: &mut Sources) -> Result<Form> {
    let (rejected, format, codec) = (job.rejected.as_deref(), job.format, job.codec);
    let form = Written { output: &job.output, rejected, format, codec }.form(sources)?;
    match (&form.schema, &job.tag) {
        (Some(schema), Some(name)) => Ok(Form { schema: Some(schema.with_list(name)?), ..form }),
        _ => Ok(form),
    }
}

/// Where passing records go, the others, and bad ones; refuses to write over what is read.
fn check_outputs(job: &Job, sources: &Sources) -> Result<[Destination; 3]> {
    let to = [
        job.output.clone(),
        Destination::of_file(job.rejected.as_deref()),
        Destination::of_file(job.bad_rows.path()),
    ];
    let inputs: Vec<PathBuf> = sources.explain().into_iter().map(|input| input.path).collect();
    let also = job.also.iter().map(|also| &also.path);
    let read = inputs.iter().chain([&job.filters]).chain(&job.removed).chain(also);
    files::check_outputs(to.each_ref().map(Destination::named), read)?;
    job.bad_rows.path().map_or(Ok(()), |path| Content::BAD_ROWS.check(path))?;
    Ok(to)
}

fn open_outlets([passing, others, aside]: &[Destination; 3], form: &Form) -> Result<([Outlet; 2], Outlet)> {
    let open = |to| Outlet::open_for(to, form.schema.as_ref());
    Ok(([open(passing)?, open(others)?], Outlet::open(aside)?))
}

fn asked(job: &Job, params: &Params) -> Result<Asked> {
    match &job.ask {
        Ask::Any => Ok(Asked::Any((0..params.groups.len()).collect())),
        Ask::Own => Ok(Asked::Own),
        Ask::Group(name) => {
            let at = groups::find(params, name).map_err(|refusal| Error::input(&job.filters, refusal))?;
            Ok(Asked::Any(vec![at]))
        }
    }
}

/// What records are tagged with: the names of groups, or of several files.
fn names<'a>(job: &'a Job, params: &'a Params, others: &[Other<'a>]) -> Vec<&'a Name> {
    match others.is_empty() {
        true => params.groups.iter().map(|group| &group.group).collect(),
        false => [&job.name].into_iter().chain(others.iter().map(Other::name)).collect(),
    }
}

fn sum(counts: impl Iterator<Item = Counts>) -> Counts {
    let mut total = Counts::default();
    for counts in counts {
        total.records += counts.records;
        total.admitted += counts.admitted;
        total.keyless += counts.keyless;
        total.skipped.add(counts.skipped);
        total.refuted += counts.refuted;
        total.rejected.resize(total.rejected.len().max(counts.rejected.len()), 0);
        total.rejected.iter_mut().zip(&counts.rejected).for_each(|(all, some)| *all += some);
        total.by_file.resize(total.by_file.len().max(counts.by_file.len()), 0);
        total.by_file.iter_mut().zip(&counts.by_file).for_each(|(all, some)| *all += some);
    }
    total
}

fn report(
    job: &Job,
    file: &Mapped,
    sieving: &Sieving<'_>,
    counts: Counts,
    exactly: Option<u64>,
    closed: bool,
    phases: Vec<(&'static str, Duration)>,
) -> Result<Report> {
    let params = file.params();
    let groups = match &sieving.asked {
        Asked::Any(groups) => groups.clone(),
        Asked::Own => (0..params.groups.len()).collect(),
    };
    let mut report = Report {
        records: counts.records,
        admitted: exactly.unwrap_or(counts.admitted),
        refuted: exactly.map(|admitted| counts.admitted.saturating_sub(admitted)),
        keyless: counts.keyless,
        groupless: match sieving.asked {
            Asked::Any(_) => 0,
            // What was rejected is counted by the groups that there are.
            Asked::Own => {
                let known: u64 = counts.rejected.iter().sum();
                counts.records.saturating_sub(counts.admitted + counts.keyless + known)
            }
        },
        skipped: counts.skipped,
        closed,
        phases,
        ..described(file, &sieving.filters, &groups)
    };
    if !sieving.others.is_empty() {
        return of_several(job, file, sieving, &counts, report);
    }
    // Only where somebody will see it; what was removed is not counted.
    if job.output != Destination::Stdout && !sieving.filters.are_pairs() {
        report.exact = expected::exact(&job.filters, file, &groups);
    }
    if exactly.is_some() {
        report.false_admissions = Some(0.0);
        return Ok(report);
    }
    // What layers let pass depends on the keywords that records share: nothing is known of it.
    if job.output != Destination::Stdout && params.common.kind != Kind::Layered {
        // The rate comes from every bit of the filters: only where somebody will see it.
        let (rates, gone) = expected::rates(&sieving.filters, &groups, job.threads)?;
        if sieving.filters.are_pairs() {
            // Of records that should pass a share g is missed; so for each that did, g / (1 − g) did not.
            // Of several groups the worst: which one a record is in is not known.
            let rate = gone.into_iter().fold(0.0, f64::max);
            report.lost = Some((rate, counts.admitted as f64 * rate / (1.0 - rate).max(f64::MIN_POSITIVE)));
        }
        report.keys = report.keys.map(|keys| expected::shared(&sieving.filters, &groups, keys));
        let (rate, false_admissions) = expectation(sieving, &counts, &rates);
        report.rate = Some(rate);
        report.false_admissions = Some(false_admissions.min(counts.admitted as f64));
    }
    Ok(report)
}

/// The same of several files: what was found in each, and what is to be expected of all.
fn of_several(
    job: &Job,
    file: &Mapped,
    sieving: &Sieving<'_>,
    counts: &Counts,
    mut report: Report,
) -> Result<Report> {
    let rated = (job.output != Destination::Stdout).then_some(job.threads);
    let common = &file.params().common;
    let admitted = |at: usize| counts.by_file.get(at).copied().unwrap_or(0);
    let rate = rated.map(|threads| several::rate(&sieving.filters, common.kind, threads)).transpose()?;
    report.files.push(OfFile {
        name: job.name.clone(),
        path: job.filters.clone(),
        kind: common.kind,
        hash: common.hash,
        admitted: admitted(0),
        rate: rate.flatten(),
    });
    for (at, other) in (1..).zip(&sieving.others) {
        report.files.push(other.found(admitted(at), rated)?);
    }
    // Files may share keys: then they err together, and fewer pass.
    let passing = report.files.iter().map(|file| file.rate.map(|rate| 1.0 - rate)).product::<Option<f64>>();
    if let Some(value) = passing.map(|passing| 1.0 - passing) {
        let rejected = counts.records - counts.admitted - counts.keyless;
        report.rate = Some(Rate { value, at_most: true });
        report.false_admissions = Some(expected::passed(rejected, value).min(counts.admitted as f64));
    }
    (report.keys, report.exact) = (None, None);
    Ok(report)
}

/// What is to be said of the filters of these groups, before any record.
fn described(file: &Mapped, filters: &Filters<'_>, groups: &[usize]) -> Report {
    let (params, kind) = (file.params(), file.params().common.kind);
    let hashes = groups.iter().map(|&group| params.groups[group].shape.hashes());
    let of = |&group: &usize| {
        of_sketch(kind, &params.groups[group], &file.tallies()[group], filters.sketch(group)).keys
    };
    let (largest, all) =
        groups.iter().map(of).fold((0.0f64, 0.0), |(largest, all), keys| (largest.max(keys), all + keys));
    Report {
        kind,
        extent: filters.extent(),
        hashes: (hashes.clone().min().unwrap_or(0), hashes.max().unwrap_or(0)),
        files: Vec::new(),
        filters: groups.len() as u64,
        bits: groups.iter().map(|&group| params.groups[group].shape.bits()).sum(),
        keys: all.is_finite().then_some((largest, all)),
        exact: None,
        planned: groups.iter().map(|&group| params.groups[group].keys()).sum(),
        records: 0,
        admitted: 0,
        refuted: None,
        keyless: 0,
        groupless: 0,
        rate: None,
        false_admissions: None,
        lost: None,
        skipped: Skipped::default(),
        closed: false,
        doubts: Vec::new(),
        inputs: Vec::new(),
        phases: Vec::new(),
    }
}

/// Records that were sieved on other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sieved {
    /// Records read.
    pub records: u64,
    /// Records whose key may be in the set.
    pub admitted: u64,
    /// Records without a key, which are not admitted.
    pub keyless: u64,
}

/// What follows from numbers of records that asked all groups, or the one of this name, for this much.
pub fn conclude(
    path: &Path,
    (group, extent): (Option<&Name>, Extent),
    sieved: Sieved,
    threads: usize,
) -> Result<Report> {
    let file = foreign::open(path)?;
    let (params, filters) = (file.params(), Filters::of_file(&file)?.asked_for(extent));
    let groups: Vec<usize> = match group {
        None => (0..params.groups.len()).collect(),
        Some(name) => params.find(&name.0).into_iter().collect(),
    };
    let mut report = described(&file, &filters, &groups);
    report.exact = expected::exact(path, &file, &groups);
    (report.records, report.admitted, report.keyless) = (sieved.records, sieved.admitted, sieved.keyless);
    if params.common.kind != Kind::Layered {
        let (rates, _) = expected::rates(&filters, &groups, threads)?;
        report.keys = report.keys.map(|keys| expected::shared(&filters, &groups, keys));
        let rate = expected::of_any(&filters, &groups, &rates);
        let rejected = sieved.records.saturating_sub(sieved.admitted + sieved.keyless);
        let expected = expected::passed(rejected, rate.value);
        (report.rate, report.false_admissions) = (Some(rate), Some(expected.min(sieved.admitted as f64)));
    }
    Ok(report)
}

/// The rate of the filters that were asked, and the false admissions to expect.
fn expectation(sieving: &Sieving<'_>, counts: &Counts, rates: &[f64]) -> (Rate, f64) {
    match &sieving.asked {
        Asked::Any(groups) => {
            let rate = expected::of_any(&sieving.filters, groups, rates);
            // What the keys themselves refuted was not asked of the filters.
            let rejected = counts.records - counts.admitted - counts.keyless - counts.refuted;
            (rate, expected::passed(rejected, rate.value))
        }
        Asked::Own => {
            let by_group =
                counts.rejected.iter().zip(rates).map(|(&rejected, &rate)| expected::passed(rejected, rate));
            let expected: f64 = by_group.sum();
            let rejected: u64 = counts.rejected.iter().sum();
            let outside = expected + rejected as f64;
            let value = if outside > 0.0 { expected / outside } else { 0.0 };
            (Rate { value, at_most: false }, expected)
        }
    }
}
