//! A second, exact look at what the filters let pass.
//!
//! Candidates are collected with all records that stand between them, and checked against the
//! keys on disk together: sorted, so that each block of keys is read once. What waits is bounded by
//! memory (beyond it, records and questions go to disk) and, from a stream, by time.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tamis_read::Control;
use tamis_read::error::Result;

use super::sieve::Sieving;
use super::tape::{Suspects, Tape};
use tamis_make::destination::Outlet;
use tamis_make::exact::{ANY_GROUP, Answers, Questions, Store};

/// A stream is answered at least this often.
const SOON: Duration = Duration::from_millis(200);

/// And as seldom as this many times the time that an answer takes: most of the time is for the
/// input, not for reading the same keys again and again.
const TIMES: u32 = 3;

/// What checks candidates.
pub(super) struct Strict<'a> {
    sieving: &'a Sieving<'a>,
    store: &'a Store,
    questions: Questions,
    tape: Tape,
    /// Whether an input is a stream, in which no record may wait long.
    stream: bool,
    /// Since when the first waits.
    since: Option<Instant>,
    /// How long the last answer took.
    took: Duration,
    texts: [Vec<u8>; 2],
    control: &'a Control,
    pub(super) admitted: u64,
}

impl<'a> Strict<'a> {
    pub(super) fn new(
        sieving: &'a Sieving<'a>,
        store: &'a Store,
        memory: u64,
        folder: PathBuf,
        stream: bool,
        control: &'a Control,
    ) -> Self {
        Strict {
            sieving,
            store,
            questions: Questions::new(memory, &folder),
            tape: Tape::new(memory / 8, folder),
            stream,
            since: None,
            took: Duration::ZERO,
            texts: Default::default(),
            control,
            admitted: 0,
        }
    }

    /// Takes the records of a chunk; writes what is settled.
    pub(super) fn take(&mut self, suspects: &mut Suspects, outlets: &mut [Outlet; 2]) -> Result<()> {
        if self.questions.is_full(suspects.groups.len()) {
            self.settle(outlets)?;
        }
        self.ask(suspects)?;
        self.tape.push(suspects)?;
        let since = *self.since.get_or_insert_with(Instant::now);
        let due = self.stream && since.elapsed() > SOON.max(TIMES * self.took);
        // Without a question, all is settled.
        if due || self.questions.count() == 0 { self.settle(outlets) } else { Ok(()) }
    }

    fn ask(&mut self, suspects: &Suspects) -> Result<()> {
        let mut groups = suspects.groups.iter();
        let mut start = 0;
        let keys = suspects.hashes.iter().zip(&suspects.ends);
        let questions = suspects.items.iter().map(|[_, questions, _]| *questions).filter(|count| *count > 0);
        for (questions, (&hash, &end)) in questions.zip(keys) {
            let key = &suspects.keys[start..end as usize];
            start = end as usize;
            for &group in groups.by_ref().take(questions as usize) {
                self.questions.ask(hash, key, group)?;
            }
        }
        Ok(())
    }

    /// Answers all questions and writes all that waits.
    pub(super) fn settle(&mut self, outlets: &mut [Outlet; 2]) -> Result<()> {
        self.since = None;
        if self.tape.is_empty() {
            return Ok(());
        }
        let start = Instant::now();
        let answers = self.questions.answer(self.store, self.control)?;
        let mut number = 0;
        let Strict { sieving, tape, texts, admitted, .. } = self;
        tape.replay(|suspects| {
            *admitted += replay(sieving, suspects, &answers, &mut number, texts);
            for (outlet, text) in outlets.iter_mut().zip(&mut *texts) {
                outlet.write(text)?;
                text.clear();
            }
            Ok(())
        })?;
        self.took = start.elapsed();
        Ok(())
    }
}

/// Writes records as the answers have it; gives the number of those that are admitted.
fn replay(
    sieving: &Sieving<'_>,
    suspects: &Suspects,
    answers: &Answers,
    number: &mut u32,
    texts: &mut [Vec<u8>; 2],
) -> u64 {
    let (mut at, mut question, mut count) = (0, 0, 0);
    let mut found = Vec::new();
    for &[len, questions, decides] in &suspects.items {
        let asked = &suspects.groups[question..question + questions as usize];
        question += asked.len();
        found.clear();
        for &group in asked {
            if answers.get(*number) {
                found.push(group);
            }
            *number += 1;
        }
        let admitted = match decides {
            ANY_GROUP => !found.is_empty(),
            group => found.contains(&group),
        };
        count += u64::from(admitted);
        let place = at..at + len as usize;
        at = place.end;
        let to = usize::from(admitted == sieving.invert);
        if sieving.wanted[to] {
            match &sieving.tag {
                None => texts[to].extend_from_slice(&suspects.raw[place]),
                Some(tag) => tag.record(&suspects.raw, place, found.iter().copied(), &mut texts[to]),
            }
        }
    }
    count
}
