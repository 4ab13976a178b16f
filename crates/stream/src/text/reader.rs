//! The side of the thread that reads: inputs are understood, parsed and put into the queue.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use tamis::key::Column;
use tamis_read::error::{Error, Result};
use tamis_read::{Explained, Flow, Format, Next, Position, Sources};

use super::generations::Waiting;
use super::{Setup, Shared};
use crate::bookmark::Understood;
use crate::follow::Told;
use crate::live::{LONGEST_LINE, Live};
use crate::lock;
use crate::peer::Manner;
use crate::queue::Piece;
use crate::refusal::{CannotResume, Failed, Impossible};
use crate::sift::Sifter;

/// The source, on the side of the thread that reads.
pub(crate) struct Reader<'a> {
    pub(super) setup: Setup<'a>,
    pub(super) shared: Arc<Shared>,
    pub(super) begin: Position,
    /// The lines before that, of live text.
    pub(super) lines: Option<u64>,
    pub(super) prepared: Prepared,
}

/// What is ready to be read.
pub(super) enum Prepared {
    /// Files, from the one on with which it begins.
    Files(Sources),
    /// A live text.
    Live(PathBuf, Live),
    /// Files, and then those that have, or had, a name that is followed.
    Followed(Vec<PathBuf>, PathBuf, VecDeque<Waiting>),
}

/// Inputs that are read together.
pub(super) struct Pass {
    pub(super) inputs: Vec<(PathBuf, Option<Flow>)>,
    /// The number of the first of them, and where it begins.
    pub(super) begin: Position,
    /// Which of them is live.
    pub(super) live: usize,
    /// How that is understood, where this is known; and whether it begins with what was kept of its beginning.
    pub(super) known: Option<Understood>,
    pub(super) late: bool,
    /// The lines before the place where that begins; none where they were not counted.
    pub(super) lines: Option<u64>,
}

/// The live one of some inputs.
#[derive(Clone, Copy)]
struct LiveInput {
    number: usize,
    /// How far its offsets lie behind, where it begins with what was kept of its beginning.
    behind: Option<i64>,
    counts_lines: bool,
}

impl Reader<'_> {
    /// Reads to the end, or until the run has ended.
    pub(crate) fn run(self) {
        let shared = Arc::clone(&self.shared);
        let _ends = EndInPanic(&shared);
        let result = self.read();
        let stopped = shared.control.check().is_err();
        shared.queue.end(if stopped { Ok(()) } else { result });
    }

    fn read(self) -> Result<()> {
        let Reader { setup, shared, begin, lines, prepared } = self;
        let reading = Reading { setup, shared: &shared };
        match prepared {
            Prepared::Files(sources) => {
                let forms = sources.explain();
                reading.sift(sources, &forms, begin, None, None)
            }
            Prepared::Live(path, text) => {
                let known = lock(&shared.live).get(&0).cloned();
                let late = known.is_some() && begin.offset > 0;
                let inputs = vec![(path, Some(text.flow(Arc::clone(&shared.control))))];
                reading.pass(Pass { inputs, begin, live: 0, known, late, lines }, None).map(drop)
            }
            Prepared::Followed(before, name, waiting) => reading.follow(before, &name, waiting, begin, lines),
        }
    }
}

/// What a reading thread has at hand.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) setup: Setup<'a>,
    pub(super) shared: &'a Shared,
}

impl Reading<'_> {
    /// Understands inputs, and reads them to their end; how the live one was understood.
    pub(super) fn pass(self, pass: Pass, told: Option<&Mutex<Told>>) -> Result<Option<Understood>> {
        let Reading { setup, shared } = self;
        let Pass { inputs, begin, live, known, late, lines } = pass;
        let options = known.as_ref().map(|live| live.options(setup.options));
        let options = options.as_ref().unwrap_or(setup.options);
        let mut sources = Sources::of(inputs, options, &setup.making.columns())?;
        let forms = sources.explain();
        let (form, prelude) = (&forms[live], sources.prelude(live));
        if form.compression.is_some() {
            return Err(Error::input(form.path.clone(), Impossible::Compressed));
        }
        let understood = Understood::of(form, prelude);
        let _ = shared.known.set(Arc::new(Manner::new(form, prelude, sources.row_ends(live))));
        let by_number = |column: &Column| matches!(column, Column::Number(_));
        if let Some(known) = known.filter(|_| !late && begin.offset == 0)
            && form.header
            && !understood.begins_like(&known)
            && setup.making.columns().iter().any(by_number)
        {
            return Err(Error::input(form.path.clone(), CannotResume::OtherHeader));
        }
        // How far the offsets of a late text lie behind those of the input.
        let behind = if late { begin.offset as i64 - prelude.len() as i64 } else { 0 };
        lock(&shared.live).insert(begin.input + live, understood.clone());
        sources.in_rows_of(LONGEST_LINE);
        if let Some(lines) = lines.filter(|_| late) {
            sources.count_lines_after(live, lines);
        }
        let live = LiveInput { number: live, behind: late.then_some(behind), counts_lines: lines.is_some() };
        self.sift(sources, &forms, begin, Some(live), told)?;
        Ok(Some(understood))
    }

    /// Reads inputs to their end; one of them may be live, and its offsets lie behind.
    fn sift(
        self,
        mut sources: Sources,
        forms: &[Explained],
        begin: Position,
        live: Option<LiveInput>,
        told: Option<&Mutex<Told>>,
    ) -> Result<()> {
        let Reading { setup, shared } = self;
        let by_rows = |input: usize| forms.get(input).is_some_and(|form| form.format == Format::Parquet);
        let late = live.and_then(|live| live.behind);
        if late.is_none() && !forms.is_empty() && !by_rows(0) {
            sources.begin_at(Position { input: 0, offset: begin.offset });
        }
        let counts = live.is_some_and(|live| live.counts_lines);
        let sifters = (0..setup.threads).map(|_| Sifter::new(setup.making).counting_lines(counts)).collect();
        let is_live = |input: usize| live.is_some_and(|live| live.number == input);
        let mut lines = live.map_or(0, |live| sources.lines_before(live.number));
        let take = |next: Next<'_, Piece>| {
            if let Some(loss) = told.and_then(|told| lock(told).late.take()) {
                setup.naming(&forms[forms.len() - 1].path, 0).lose(loss)?;
            }
            let Next::Batch(batch, end) = next else { return Ok(ControlFlow::Continue(())) };
            batch.lines = batch.lines.take().filter(|_| is_live(end.input));
            if let Some(ends) = &mut batch.lines {
                (ends.before, lines) = (lines, lines + ends.all);
            }
            if batch.records.is_empty() && batch.skipped == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            let mut piece = std::mem::replace(batch, shared.queue.spare());
            piece.input = begin.input + end.input;
            piece.by_rows = by_rows(end.input);
            let by = late.filter(|_| is_live(end.input)).unwrap_or(0);
            piece.base = end.offset.saturating_sub(piece.base).saturating_add_signed(by);
            let taken = shared.queue.push(piece);
            Ok(if taken { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        };
        sources.sift(sifters, take, &shared.control).map(drop)
    }
}

/// That nobody waits for a reader that panicked.
struct EndInPanic<'a>(&'a Shared);

impl Drop for EndInPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.queue.end(Err(Failed::Reader.into()));
        }
    }
}
