//! From pieces to batches: the run takes records from the queue up to a cut, and knows the place that it
//! has reached.

use std::fs;
use std::time::{Duration, Instant};

use tamis_make::resume::Mark;
use tamis_read::Position;
use tamis_read::error::{Error, Result};

use super::earlier::position;
use super::{InputFile, Text};
use crate::queue::{Piece, Popped};
use crate::refusal::CannotResume;
use crate::source::{Cut, Place, Reached, Records};

impl Text {
    /// Moves records from the queue into a batch: up to the cut, or as far as they come within this time.
    pub(super) fn gather(
        &mut self,
        cut: Cut<'_>,
        patience: Duration,
        records: &mut Records,
    ) -> Result<Reached> {
        let deadline = Instant::now() + patience;
        let target = match cut {
            // Lines tell nothing that the offset does not.
            Cut::At(Place(place)) => {
                let (target, beside) = position(place)?;
                Some((target, if self.lines.is_some() { 0 } else { beside.unwrap_or(0) }))
            }
            Cut::Records(_) => None,
        };
        loop {
            if is_full(cut, records) || target == Some((self.at, self.since)) {
                return Ok(Reached::Cut);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.piece(left)? {
                Some(Popped::End | Popped::Piece(_)) if target.is_some() => {
                    return Err(CannotResume::Ends.into());
                }
                Some(Popped::End) => return Ok(Reached::End),
                Some(Popped::Piece(_)) => return Ok(Reached::Edge),
                Some(Popped::Nothing) => return Ok(Reached::Pause),
                None => {}
            }
            let Some(piece) = self.piece.take() else { continue };
            self.take_of(&piece, cut, target, records);
            if self.next == piece.records.len() && self.next_bad == piece.bad.len() {
                self.shared.queue.give_back(piece);
                continue;
            }
            self.piece = Some(piece);
            if target.is_some_and(|target| target != (self.at, self.since)) {
                return Err(CannotResume::OtherRecords.into());
            }
        }
    }

    /// The piece with the next records, if there is one within this time.
    fn piece(&mut self, patience: Duration) -> Result<Option<Popped>> {
        if self.piece.is_none() {
            match self.shared.queue.pop(patience)? {
                Popped::Piece(piece) if piece.edge => {
                    if piece.input != self.at.input {
                        self.begin_input(piece.input);
                    }
                    return Ok(Some(Popped::Piece(piece)));
                }
                Popped::Piece(mut piece) => {
                    self.skipped += piece.skipped;
                    if piece.input != self.at.input && !(piece.records.is_empty() && piece.bad.is_empty()) {
                        self.pass_on(piece.input)?;
                    }
                    (self.next, self.next_bad) = (0, 0);
                    if piece.by_rows {
                        // Rows are counted here; those that were done before are passed over.
                        piece.stops.iter_mut().zip(1..).for_each(|(stop, number)| *stop = number);
                        piece.base = self.rows;
                        self.rows += piece.stops.len() as u64;
                        self.next =
                            self.at.offset.saturating_sub(piece.base).min(piece.stops.len() as u64) as usize;
                        self.pass_over(&piece);
                    }
                    self.piece = Some(piece);
                }
                nothing => return Ok(Some(nothing)),
            }
        }
        Ok(None)
    }

    /// Passes over rows of Parquet that were left out in an earlier run.
    fn pass_over(&mut self, piece: &Piece) {
        for bad in &piece.bad {
            let before = piece.base + u64::from(bad.before);
            let here = before == self.at.offset && self.passed > 0;
            if before >= self.at.offset && !here {
                break;
            }
            self.passed -= u64::from(here);
            self.next_bad += 1;
        }
    }

    /// Takes what there is of a piece, up to the cut.
    fn take_of(
        &mut self,
        piece: &Piece,
        cut: Cut<'_>,
        target: Option<(Position, u64)>,
        records: &mut Records,
    ) {
        loop {
            // Rows that were left out go with the record that they stand before: where a batch ends must not
            // depend on how the text was cut into pieces.
            while let Some(bad) = piece.bad.get(self.next_bad).filter(|bad| bad.before as usize <= self.next)
            {
                let after = match piece.by_rows {
                    true => (self.at, self.since + 1),
                    false => (Position { input: piece.input, offset: piece.base + u64::from(bad.stop) }, 0),
                };
                if is_full(cut, records) || target.is_some_and(|target| after > target) {
                    return;
                }
                let from = self.next_bad.checked_sub(1).map_or(0, |last| piece.bad[last].aside);
                records.aside.extend_from_slice(&piece.aside[from as usize..bad.aside as usize]);
                (self.at, self.since) = after;
                self.count_lines(piece.lines.as_ref().and_then(|lines| lines.up_to_bad(self.next_bad)));
                self.next_bad += 1;
            }
            let end = piece.bad.get(self.next_bad).map_or(piece.records.len(), |bad| bad.before as usize);
            let left = end - self.next;
            let count = match (cut, target) {
                (Cut::Records(most), _) => left.min(most.saturating_sub(records.len())),
                (_, Some(target)) => {
                    (self.next..end).take_while(|&record| (piece.after(record), 0) <= target).count()
                }
                _ => 0,
            };
            if count == 0 {
                return;
            }
            records.extend(&piece.records, self.next..self.next + count);
            self.next += count;
            (self.at, self.since) = (piece.after(self.next - 1), 0);
            self.count_lines(piece.lines.as_ref().and_then(|lines| lines.up_to(self.next - 1)));
        }
    }

    /// Notes the lines before the place that was reached, where they are counted.
    fn count_lines(&mut self, now: Option<u64>) {
        self.lines = self.lines.and(now).or(self.lines);
    }

    /// Goes on to another input.
    fn pass_on(&mut self, input: usize) -> Result<()> {
        for done in self.marks.len()..input.min(self.inputs.len()) {
            let InputFile { path, .. } = &self.inputs[done];
            let length = fs::metadata(path).map_err(Error::io(path))?.len();
            // Of a plain file no more than was read, even if it has grown since.
            let offset =
                if done == self.at.input && self.inputs[done].plain { self.at.offset } else { length };
            self.marks.push(Mark::of(path, offset).map_err(Error::io(path))?);
        }
        self.begin_input(input);
        Ok(())
    }

    fn begin_input(&mut self, input: usize) {
        self.at = Position { input, offset: 0 };
        (self.rows, self.since, self.passed) = (0, 0, 0);
        if self.followed.is_some_and(|name| input >= name) {
            self.lines = Some(0);
        }
    }
}

/// Whether no more goes into a batch: rows that are set aside have a bound, too.
fn is_full(cut: Cut<'_>, records: &Records) -> bool {
    matches!(cut, Cut::Records(most) if records.len() >= most || records.aside.len() >= MOST_ASIDE)
}

/// Bytes that are set aside in one batch, but for the last row.
const MOST_ASIDE: usize = 4 << 20;

impl Piece {
    /// The place after a record.
    fn after(&self, record: usize) -> Position {
        Position { input: self.input, offset: self.base + u64::from(self.stops[record]) }
    }
}
