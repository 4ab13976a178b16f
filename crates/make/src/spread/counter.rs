//! The first phase, spread: who saw which keys.

use std::mem::take;
use std::path::Path;

use tamis::format::Extras;
use tamis::hash::{Scheme, xxh3};
use tamis::key::keywords_of;
use tamis::params::{Name, Params};
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};
use tamis_read::refusal;
use tamis_read::{Control, Sources};

use super::wire::{Content, Reader, Writer, damaged};
use super::{MOST_PARTS, Refusal, Rows};
use crate::build::{self, Job, Need, Putting};
use crate::count::{Counted, KeyRules, Keywords};
use crate::distinct::{Counts, Distinct, Piece, pieces};
use crate::files;
use crate::opt;
use crate::pairs::Pairs;
use crate::rows::{Groups, Ignore, Key, Names, Take};

/// What cannot be spread is refused before anything is read.
pub fn refuse(job: &Job) -> Result<(), Refusal> {
    let one_machine = |option| Err(Refusal::OneMachine(vec![option]));
    match job.sketches.putting() {
        Putting::Distinct => one_machine(opt::DISTINCT),
        Putting::Weights { heavy: Some(_) } => one_machine(opt::HEAVY),
        _ if job.sketches.kind() == Kind::CountMinConservative => Err(Refusal::Ordered),
        _ => Ok(()),
    }
}

/// The parameters of a job that needs no rows for them; none where rows must be counted, or groups found.
pub fn planned_without_rows(job: &Job) -> Result<Option<Params>> {
    refuse(job)?;
    Ok(job.parameters_without_rows()?)
}

/// A number of parts that hashes cannot be cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("keys are cut by their hash into a power of two of parts, up to {MOST_PARTS}, not into {0}")]
pub struct NotCut(usize);

impl refusal::Refusal for NotCut {}

/// What comes of counting.
#[derive(Debug)]
pub enum Outcome {
    /// The parameters: the sketches are built of the rows.
    Params {
        /// The parameters.
        params: Box<Params>,
        /// Whether keys were estimated.
        estimated: bool,
        /// Whether keywords were counted, and no record has more than one.
        lone_keywords: bool,
        /// Rows left out.
        skipped: u64,
    },
    /// The filters are built already, of the hashes that were counted.
    Built {
        /// Rows left out.
        skipped: u64,
    },
}

/// Counts rows, and what other counters saw.
pub struct Counter {
    job: Job,
    digest: u64,
    limit: usize,
    /// Whether keys are counted, not only the names of groups looked for.
    counting: bool,
    names: Names,
    rows: Vec<u64>,
    skipped: u64,
    see: See,
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a counter of {} groups", self.names.list.len())
    }
}

impl Counter {
    /// Has seen nothing.
    pub fn new(job: Job) -> Result<Counter> {
        let limit = job.exactly();
        Counter::up_to(job, limit)
    }

    /// The same, counting exactly up to this many keys in all.
    pub fn up_to(job: Job, limit: usize) -> Result<Counter> {
        refuse(&job)?;
        let counting = !matches!(job.sketches.need(), Need::Names(_));
        let see = See::new(&job.rules(None), limit);
        let digest = digest(&job)?;
        let names = if job.recipe.group.is_none() { without_groups() } else { Names::default() };
        Ok(Counter { job, digest, limit, counting, names, rows: Vec::new(), skipped: 0, see })
    }

    /// What the job is about, as its parts say it.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Counts rows. After an error nothing more can be done with it.
    pub fn add(&mut self, rows: Rows, control: &Control) -> Result<()> {
        let sources = rows.sources(&self.job.recipe.columns())?;
        if !self.counting {
            self.scan(&sources, Ignore, control)?;
            return Ok(());
        }
        let see = std::mem::replace(&mut self.see, See::new(&self.job.rules(None), self.limit));
        self.see = self.scan(&sources, see, control)?;
        Ok(())
    }

    fn scan<T: Take>(&mut self, sources: &Sources, taking: T, control: &Control) -> Result<T> {
        let names = Groups::Discover(take(&mut self.names));
        let mut sink = self.job.rules(None).rows(names, taking);
        sink.rows = take(&mut self.rows);
        let sink = sources.scan_dyn(vec![sink], control)?.pop().expect("as many sinks come back");
        self.skipped += sink.skipped;
        let (names, rows, taking) = sink.into_state();
        (self.names, self.rows) = (names.unwrap_or_else(without_groups), rows);
        Ok(taking)
    }

    /// Sees what another counter saw: one of its parts.
    pub fn absorb(&mut self, part: &[u8]) -> Result<()> {
        let mut part = Reader::open(part, self.digest)?;
        if part.content != Content::Counts {
            return Err(damaged());
        }
        let (estimating, of_keywords) = (part.u8()?, part.u8()?);
        self.skipped = self.skipped.saturating_add(part.u64()?);
        let total = part.u64()?;
        let groups = part.u32()?;
        let mut numbers = Vec::new();
        for _ in 0..groups {
            let len = part.u32()? as usize;
            let number = self.names.number(part.bytes(len)?);
            let rows = part.u64()?;
            if self.rows.len() <= number as usize {
                self.rows.resize(number as usize + 1, 0);
            }
            self.rows[number as usize] = self.rows[number as usize].saturating_add(rows);
            numbers.push(number);
        }
        absorb(&mut part, &mut self.see.counts, &numbers, estimating & 1 != 0)?;
        match (&mut self.see.keywords, of_keywords) {
            (Some(keywords), 1) => {
                keywords.total = keywords.total.saturating_add(total);
                absorb(&mut part, &mut keywords.counts, &numbers, estimating & 2 != 0)?;
            }
            (None, 0) => {}
            _ => return Err(damaged()),
        }
        part.done()
    }

    /// All that was seen, cut by hash into `parts` parts (a power of two), each of them in pieces of
    /// about this many bytes at most. The counter has then seen nothing.
    pub fn parts(&mut self, parts: usize, most: usize) -> Result<Vec<(u32, Vec<u8>)>> {
        if !parts.is_power_of_two() || parts > MOST_PARTS {
            return Err(NotCut(parts).into());
        }
        self.see.counts.settled_whole();
        if let Some(keywords) = &mut self.see.keywords {
            keywords.counts.settled_whole();
        }
        let mut out = Vec::new();
        for part in 0..parts {
            let mut cutter = Cutter { counter: self, part, first: part == 0, most, out: &mut out };
            cutter.cut(parts);
        }
        self.names = if self.job.recipe.group.is_none() { without_groups() } else { Names::default() };
        self.rows.clear();
        self.skipped = 0;
        self.see = See::new(&self.job.rules(None), self.limit);
        Ok(out)
    }

    /// What was counted, in the order of the groups.
    fn counted(self) -> Result<Counted> {
        let Counter { names, mut rows, see, skipped, .. } = self;
        rows.resize(names.list.len(), 0);
        let mut groups: Vec<(Name, u64)> = names.list.iter().cloned().zip(rows).collect();
        groups.retain(|(_, rows)| *rows > 0);
        groups.sort();
        let place = |name: &Name| groups.binary_search_by(|(known, _)| known.cmp(name));
        let places: Vec<_> = names.list.iter().map(place).collect();
        let joined = |counts: Counts| {
            // Groups without rows have no keys, whatever a forged part says.
            let keyless =
                |(keys, place): (&Distinct, &Result<usize, usize>)| place.is_ok() || keys.is_empty();
            if !counts.groups().iter().zip(&places).all(keyless) {
                return Err(damaged());
            }
            let places = places.iter().map(|place| place.unwrap_or_else(|place| place)).collect();
            Counts::join(1, vec![(counts, places)], groups.len())
        };
        let planned = |counts: &Counts| counts.groups().iter().map(Distinct::planned).collect();
        let counts = joined(see.counts)?;
        let keywords = match see.keywords {
            Some(SeenKeywords { counts, total }) => {
                let counts = joined(counts)?;
                Some(Keywords { keys: planned(&counts), estimated: counts.estimating(), total })
            }
            None => None,
        };
        let keys: Vec<u64> = planned(&counts);
        let (names, rows): (Vec<Name>, Vec<u64>) = groups.into_iter().unzip();
        let groups = names.into_iter().zip(keys).collect();
        let estimated = counts.estimating();
        Counted { groups, rows, estimated, pairs: Pairs::of_counts(counts), keywords, skipped }.believed()
    }

    /// Plans, with all seen; and builds at once where the hashes suffice and `path` is given.
    pub fn conclude(self, path: Option<&Path>, threads: usize, control: &Control) -> Result<Outcome> {
        // What the driver holds is bounded elsewhere.
        let job = Job { threads, memory: u64::MAX, ..self.job.clone() };
        if let Need::Names(each) = job.sketches.need() {
            let counted = self.counted()?;
            let names: Vec<Name> = counted.groups.into_iter().map(|(name, _)| name).collect();
            if names.is_empty() {
                return Err(build::Refusal::NoRows.into());
            }
            let params = Box::new(each.parameters(job.common(), names)?);
            let skipped = counted.skipped;
            return Ok(Outcome::Params { params, estimated: false, lone_keywords: false, skipped });
        }
        let mut counted = self.counted()?;
        let (estimated, lone_keywords) = (counted.estimating(), counted.lone_keywords());
        let built = match (job.sketches.putting(), path) {
            (Putting::Static, Some(path)) => (build::static_filters(&job, counted, control)?, path),
            (_, path) => {
                let params = build::of_counted(&job, &mut counted)?;
                match (path, job.sketches.of_hashes(), &counted.pairs) {
                    (Some(path), Some(kind), Some(_)) => {
                        (build::from_pairs(params, kind, counted, threads, control)?, path)
                    }
                    _ => {
                        let (params, skipped) = (Box::new(params), counted.skipped);
                        return Ok(Outcome::Params { params, estimated, lone_keywords, skipped });
                    }
                }
            }
        };
        let (built, path) = built;
        let mut about = job.about.clone();
        job.record_count(&mut about, estimated, &built.rows);
        let extras = Extras { about: Some(&about), ..Extras::default() };
        let numbers = (&built.rows[..], &built.beside[..]);
        let (draft, _) = files::draft_container(path, &built.params, numbers, &built.arena, extras, threads)?;
        draft.finish()?;
        Ok(Outcome::Built { skipped: built.skipped })
    }
}

/// Sees keys, of records their keywords, too.
struct See {
    counts: Counts,
    hash: Scheme,
    keywords: Option<SeenKeywords>,
}

struct SeenKeywords {
    counts: Counts,
    total: u64,
}

impl See {
    /// Counts exactly up to `limit` keys in all.
    fn new(rules: &KeyRules<'_>, limit: usize) -> See {
        See {
            counts: Counts::new(limit),
            hash: rules.hash,
            keywords: rules.count_keywords.then(|| SeenKeywords { counts: Counts::new(limit), total: 0 }),
        }
    }
}

impl Take for See {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        self.counts.see(key.group, key.hash);
        if let Some(keywords) = &mut self.keywords {
            for word in keywords_of(key.bytes) {
                keywords.counts.see(key.group, self.hash.identity(word));
                keywords.total += 1;
            }
        }
    }

    fn reads_bytes(&self) -> bool {
        self.keywords.is_some()
    }
}

fn without_groups() -> Names {
    let mut names = Names::default();
    names.number(b"");
    names
}

/// What all parts of a job share: those of another are not taken.
fn digest(job: &Job) -> Result<u64> {
    let common = serde_json::to_vec(&job.common()).map_err(|error| Error::io("the job")(error.into()))?;
    Ok(xxh3(&common, 1))
}

/// Reads the pieces of one kind, up to the mark of their end.
fn absorb(part: &mut Reader<'_>, counts: &mut Counts, numbers: &[u32], estimating: bool) -> Result<()> {
    if estimating {
        counts.see_estimates();
    }
    loop {
        let (what, group) = (part.u8()?, part.u32()? as usize);
        if what == END {
            return Ok(());
        }
        let number = *numbers.get(group).ok_or_else(damaged)?;
        let len = part.u32()? as usize;
        let seen = match what {
            HASHES => counts.see_piece(number, Piece::Hashes(&part.words(len)?)),
            RANKS => {
                let first = part.u32()? as usize;
                counts.see_piece(number, Piece::Ranks(first, part.bytes(len)?))
            }
            _ => false,
        };
        if !seen {
            return Err(damaged());
        }
    }
}

const END: u8 = 0;
const HASHES: u8 = 1;
const RANKS: u8 = 2;

/// Cuts what was seen into parts. A part names the groups of which it has something, with their rows
/// in the first part of all.
struct Cutter<'a> {
    counter: &'a Counter,
    part: usize,
    /// Rows and sums are told once.
    first: bool,
    most: usize,
    out: &'a mut Vec<(u32, Vec<u8>)>,
}

impl Cutter<'_> {
    fn cut(&mut self, parts: usize) {
        let counter = self.counter;
        if self.first {
            // All groups, that their rows are told.
            let all: Vec<u32> = (0..counter.names.list.len() as u32).collect();
            for groups in all.chunks((self.most / 32).max(1)) {
                self.put(groups, &[], &[]);
            }
            if all.is_empty() {
                self.put(&[], &[], &[]);
            }
        }
        let of_keys: Vec<_> = pieces(&counter.see.counts, self.part, parts).collect();
        let of_keywords: Vec<_> = match &counter.see.keywords {
            Some(keywords) => pieces(&keywords.counts, self.part, parts).collect(),
            None => Vec::new(),
        };
        for some in in_pieces(of_keys, self.most) {
            self.put(&groups_of(&some), &some, &[]);
        }
        for some in in_pieces(of_keywords, self.most) {
            self.put(&groups_of(&some), &[], &some);
        }
    }

    fn put(&mut self, groups: &[u32], keys: &[(usize, Piece<'_>)], keywords: &[(usize, Piece<'_>)]) {
        let counter = self.counter;
        let mut out = Writer::new(Content::Counts, counter.digest);
        let estimating = |counts: &Counts| counts.estimating();
        let of_keywords = counter.see.keywords.as_ref();
        out.u8(u8::from(estimating(&counter.see.counts))
            | u8::from(of_keywords.is_some_and(|keywords| estimating(&keywords.counts))) << 1);
        out.u8(u8::from(of_keywords.is_some()));
        let (first, told) = (self.first, keys.is_empty() && keywords.is_empty());
        out.u64(if first { counter.skipped } else { 0 });
        out.u64(if first { of_keywords.map_or(0, |keywords| keywords.total) } else { 0 });
        self.first = false;
        out.u32(groups.len() as u32);
        for &group in groups {
            let name = &counter.names.list[group as usize].0;
            out.u32(name.len() as u32);
            out.bytes(name);
            out.u64(if told { counter.rows.get(group as usize).copied().unwrap_or(0) } else { 0 });
        }
        let mut write = |pieces: &[(usize, Piece<'_>)]| {
            for (group, piece) in pieces {
                let group =
                    groups.binary_search(&(*group as u32)).expect("the groups of these pieces") as u32;
                match piece {
                    Piece::Hashes(hashes) => {
                        out.u8(HASHES);
                        out.u32(group);
                        out.u32(hashes.len() as u32);
                        out.words(hashes);
                    }
                    Piece::Ranks(first, ranks) => {
                        out.u8(RANKS);
                        out.u32(group);
                        out.u32(ranks.len() as u32);
                        out.u32(*first as u32);
                        out.bytes(ranks);
                    }
                }
            }
            out.u8(END);
            out.u32(0);
        };
        write(keys);
        if of_keywords.is_some() {
            write(keywords);
        }
        self.out.push((self.part as u32, out.finish()));
    }
}

fn groups_of(pieces: &[(usize, Piece<'_>)]) -> Vec<u32> {
    let mut groups: Vec<u32> = pieces.iter().map(|(group, _)| *group as u32).collect();
    groups.dedup(); // they come in order
    groups
}

/// Pieces in bundles of about this many bytes; lists of hashes are cut where they are longer.
fn in_pieces(all: Vec<(usize, Piece<'_>)>, most: usize) -> Vec<Vec<(usize, Piece<'_>)>> {
    let longest = (most / 8).clamp(1, 1 << 24);
    let mut bundles = vec![Vec::new()];
    let mut held = 0;
    let cut = all.into_iter().flat_map(|(group, piece)| match piece {
        Piece::Hashes(hashes) => hashes.chunks(longest).map(|some| (group, Piece::Hashes(some))).collect(),
        ranks => vec![(group, ranks)],
    });
    for (group, piece) in cut {
        let bytes = 40
            + match &piece {
                Piece::Hashes(hashes) => 8 * hashes.len(),
                Piece::Ranks(_, ranks) => ranks.len(),
            };
        if held > 0 && held + bytes > most {
            bundles.push(Vec::new());
            held = 0;
        }
        held += bytes;
        bundles.last_mut().expect("there is one").push((group, piece));
    }
    bundles.retain(|bundle| !bundle.is_empty());
    bundles
}
