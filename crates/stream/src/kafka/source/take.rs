//! How messages become records, and in which order they are taken.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::Message;
use tamis_read::error::Result;
use tamis_read::{BadRow, Sift, Sink};

use super::Topic;
use crate::job::Lost;
use crate::kafka::client::about;
use crate::kafka::merge::turn;
use crate::kafka::refusal::BadTopic;
use crate::kafka::{Address, Field};
use crate::source::{Reached, Records};

/// Messages that become records at a time, and their bytes.
const FEW: usize = 1024;
const FEW_BYTES: usize = 1 << 20;

/// The part of a message that is the record.
pub(super) fn record<'m>(address: &Address, message: &'m impl Message) -> Option<&'m [u8]> {
    match address.field {
        Field::Value => message.payload(),
        Field::Key => message.key(),
    }
}

/// Milliseconds of the broker or the producer; messages without a time come first.
pub(super) fn time(message: &impl Message) -> i64 {
    message.timestamp().to_millis().unwrap_or(i64::MIN)
}

impl Topic<'_> {
    /// Makes records of the next messages of a partition, if there are any now.
    fn fill(&mut self, number: usize) -> Result<()> {
        while std::mem::take(&mut self.unheard) {
            self.listen()?;
        }
        let mut complaint = None;
        let mut marks = Vec::new();
        let part = &mut self.parts[number];
        let mut bytes = 0;
        while marks.len() < FEW && bytes < FEW_BYTES {
            let polled;
            let (offset, time, record) = match part.early.pop_front() {
                Some((offset, time, record)) => (offset, time, record.map(std::borrow::Cow::Owned)),
                None => match part.queue.as_ref().and_then(|queue| queue.poll(Duration::ZERO)) {
                    None => break,
                    Some(Err(error)) => {
                        complaint = Some(error);
                        break;
                    }
                    Some(Ok(message)) => {
                        polled = message;
                        let record = record(self.address, &polled).map(std::borrow::Cow::Borrowed);
                        (polled.offset() as u64, time(&polled), record)
                    }
                },
            };
            if offset < part.read {
                continue;
            }
            if !self.follow && offset >= part.high {
                part.ended = true;
                break;
            }
            part.read = offset + 1;
            let place = marks.len()..marks.len() + 1;
            marks.push((offset + 1, time));
            bytes += record.as_ref().map_or(0, |record| record.len());
            let taken = match (&record, self.address.field) {
                (Some(record), _) => self.messages.row(record, place, &mut self.sifter),
                (None, Field::Key) => self.sifter.bad_row(place, BadRow::NoMessageKey),
                (None, Field::Value) => Ok(()), // a tombstone
            };
            if let Err(why) = taken {
                let why = BadTopic::Message { id: part.id, offset, why };
                part.failure = Some(about(self.address, why));
                break;
            }
            if !self.follow && part.read >= part.high {
                part.ended = true;
                break;
            }
        }
        if !marks.is_empty() {
            self.waiting = None;
            self.down = None;
            part.at_end = false;
            self.sifter.batch(&[], &mut self.piece);
            self.skipped += self.piece.skipped;
            let of = self.piece.stops.iter().map(|stop| marks[*stop as usize - 1]);
            part.waiting.refill(&mut self.piece.records, of);
        }
        match complaint {
            Some(error) => self.hear(Some(number), error),
            None => Ok(()),
        }
    }

    /// Takes what belongs to a batch that an earlier run had begun; whether that is all of it.
    pub(super) fn take_again(&mut self, target: &BTreeMap<i32, u64>, records: &mut Records) -> Result<bool> {
        let mut whole = true;
        for number in 0..self.parts.len() {
            let Some(&to) = target.get(&self.parts[number].id) else { continue };
            while self.parts[number].place != Some(to) {
                let read = self.parts[number].read;
                if self.parts[number].waiting.is_empty() {
                    if let Some(failure) = self.parts[number].failure.take() {
                        return Err(failure);
                    }
                    self.fill(number)?;
                }
                let part = &mut self.parts[number];
                let fits = |(after, _)| after <= to;
                if let Some((count, at)) = part.waiting.take_while(usize::MAX, fits, records) {
                    part.place = Some(at);
                    self.arrivals.push(number, count);
                } else if !part.waiting.is_empty() || part.read >= to || part.is_over() {
                    if self.settings.lost == Lost::GoOn {
                        part.place = Some(to); // how many are missing is counted when the batch is whole
                        break;
                    }
                    return Err(about(self.address, BadTopic::Compacted { id: part.id, offset: to - 1 }));
                } else if part.read == read {
                    whole = false;
                    break;
                }
            }
        }
        Ok(whole)
    }

    /// Takes records by turns, up to this many in all; how far that came.
    pub(super) fn take_next(&mut self, most: usize, records: &mut Records) -> Result<Reached> {
        while records.len() < most {
            let mut missing = false;
            for number in 0..self.parts.len() {
                while self.parts[number].waiting.is_empty() {
                    if let Some(failure) = self.parts[number].failure.take() {
                        return Err(failure);
                    }
                    let part = &self.parts[number];
                    if part.is_over() {
                        break;
                    }
                    let read = part.read;
                    self.fill(number)?;
                    // Messages that are no records are not worth a wait.
                    let part = &self.parts[number];
                    if part.read == read && part.waiting.is_empty() && part.failure.is_none() {
                        missing |= !part.is_over();
                        break;
                    }
                }
            }
            if missing && !self.follow {
                return Ok(Reached::Pause);
            }
            let heads = self.parts.iter().enumerate();
            let heads =
                heads.filter_map(|(number, part)| part.waiting.head().map(|(_, time)| (number, time)));
            let Some((number, until)) = turn(heads) else {
                return Ok(if missing || self.follow { Reached::Pause } else { Reached::End });
            };
            let part = &mut self.parts[number];
            let fits = |(_, time)| (time, number) <= until;
            if let Some((count, at)) = part.waiting.take_while(most - records.len(), fits, records) {
                part.place = Some(at);
                self.arrivals.push(number, count);
            }
        }
        Ok(Reached::Cut)
    }
}
