//! Laws of the ordered scan: what one thread makes of the whole, whatever the chunks and threads.

use std::fs;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use proptest::prelude::*;
use tamis::key::Column;

use super::super::pace::{Flow, Pace};
use super::super::{Options, Quotes, Sources};
use super::*;
use crate::binary;
use crate::chunks::Sizes;
use crate::tests::Refused;

/// Gives records as they stand there, each with its first value.
#[derive(Default)]
struct Copy(Vec<(Range<usize>, Vec<u8>)>);

type Copies = Vec<(Vec<u8>, Vec<u8>)>;

impl Sink for Copy {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        if values[0].is_some_and(|value| value.starts_with(b"!")) {
            return Err(Refused("refused".into()).into());
        }
        self.0.push((place, values[0].unwrap_or_default().to_vec()));
        Ok(())
    }
}

impl Sift for Copy {
    type Batch = Copies;

    fn batch(&mut self, data: &[u8], batch: &mut Copies) {
        batch.clear();
        batch.extend(self.0.drain(..).map(|(place, value)| (data[place].to_vec(), value)));
    }
}

/// All records in order, and the error that ended them.
fn records(sources: &Sources, threads: usize, most: usize) -> (Copies, Option<String>) {
    let mut all = Vec::new();
    let sifters = (0..threads).map(|_| Copy::default()).collect();
    let take = |next: Next<'_, Copies>| {
        if let Next::Batch(batch, _) = next {
            all.append(batch);
        }
        Ok(if all.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let error = sources.sift(sifters, take, &Control::default()).err().map(|error| error.to_string());
    (all, error)
}

/// A stream that gives a few bytes at a time and often has nothing for now.
struct Drops(Vec<u8>, usize, u64);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.2 = self.2.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let len = (1 + (self.2 >> 60) as usize).min(buffer.len()).min(self.0.len() - self.1);
        buffer[..len].copy_from_slice(&self.0[self.1..self.1 + len]);
        self.1 += len;
        Ok(len)
    }
}

fn drops(text: &[u8], seed: u64) -> Flow {
    let state = AtomicU64::new(seed);
    let pace = Pace::told_by(move |patience| {
        let drawn = state.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed).wrapping_mul(0xd1b5_4a32_d192_ed03);
        patience > Duration::ZERO || drawn >> 63 == 0
    });
    Flow { bytes: Box::new(Drops(text.to_vec(), 0, seed)), pace: Some(pace) }
}

/// A field: its text in the file and its value.
fn field() -> impl Strategy<Value = (String, String)> {
    let plain = "[a-z!]{0,3}".prop_map(|text| (text.clone(), text));
    let quoted = "[a-z,\n\r\"]{0,6}".prop_map(|text| (format!("\"{}\"", text.replace('"', "\"\"")), text));
    prop_oneof![3 => plain, 1 => quoted]
}

/// Rows of two fields, with their ends, some of them after empty lines.
fn rows() -> impl Strategy<Value = Vec<(String, String, String)>> {
    let row = (field(), field(), prop_oneof!["\n", "\r\n"], prop_oneof![9 => Just(""), 1 => Just("\r\n\n")]);
    let row =
        row.prop_map(|((a, value), (b, _), end, before)| (before.into(), format!("{a},{b}{end}"), value));
    prop::collection::vec(row, 0..25)
}

proptest! {
    #[test]
    fn records_come_whole_and_in_order_whatever_the_chunks_and_threads(
        rows in rows(), open_end: bool, chunk in 1usize..80, threads in 1usize..5, seed: u64, from_stream: bool,
    ) {
        let mut text: String = rows.iter().map(|(before, row, _)| format!("{before}{row}")).collect();
        let mut model: Copies =
            rows.iter().map(|(_, row, value)| (row.clone().into_bytes(), value.clone().into_bytes())).collect();
        if open_end && let Some((row, _)) = model.last_mut() && row.ends_with(b"\n") && !row.ends_with(b"\r\n") {
            row.pop();
            text.pop();
        }
        let refused = model.iter().position(|(_, value)| value.starts_with(b"!"));
        model.truncate(refused.unwrap_or(model.len()));

        prop_assume!(binary::is_text(text.as_bytes(), Quotes::Csv));
        let options = Options { delimiter: Some(b','.into()), no_header: true, ..Options::default() };
        let columns = [Column::Number(1)];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        fs::write(&path, &text).unwrap();
        let mut sources = if from_stream {
            Sources::open_with(&["-".into()], &options, &columns, || drops(text.as_bytes(), seed)).unwrap()
        } else {
            Sources::open(&[path.display().to_string()], &options, &columns).unwrap()
        };
        sources.in_chunks_of(chunk);
        let (found, error) = records(&sources, threads, usize::MAX);
        prop_assert_eq!(&found, &model);
        prop_assert_eq!(error.is_some(), refused.is_some());
        if let Some(error) = error {
            let before: String = rows[..refused.unwrap()].iter().map(|(before, row, _)| format!("{before}{row}")).collect();
            let line = 1 + before.matches('\n').count() + rows[refused.unwrap()].0.matches('\n').count();
            prop_assert!(error.ends_with(&format!("line {line}: refused")), "{} {}", error, line);
        }
    }

    #[test]
    fn lines_come_whole_and_in_order(
        text in prop::collection::vec(prop::sample::select(&b"ab\r\n\n"[..]), 0..300),
        chunk in 1usize..40, threads in 1usize..4, seed: u64,
    ) {
        prop_assume!(binary::is_text(&text, Quotes::None));
        let mut sources = Sources::open_with(&["-".into()], &Options::default(), &[Column::Line], || drops(&text, seed)).unwrap();
        sources.in_chunks_of(chunk);
        let (found, _) = records(&sources, threads, usize::MAX);
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let model: Vec<&[u8]> = lines.filter(|line| !matches!(line, [b'\n'] | [b'\r', b'\n'])).collect();
        prop_assert_eq!(found.iter().map(|(record, _)| &record[..]).collect::<Vec<_>>(), model);
    }
}

#[test]
fn whoever_has_enough_gets_no_more() {
    let text: String = (0..10_000).map(|i| format!("{i}\n")).collect();
    for threads in [1, 3] {
        let mut sources = Sources::open_with(&["-".into()], &Options::default(), &[Column::Line], || {
            drops(text.as_bytes(), 7)
        })
        .unwrap();
        sources.in_chunks_of(100);
        let (found, error) = records(&sources, threads, 50);
        assert!((50..1000).contains(&found.len()) && error.is_none(), "{} {error:?}", found.len());
    }
}

/// A second thread cannot run away while the first is slow.
#[test]
fn what_waits_for_its_turn_is_bounded() {
    struct Slow;
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    static DONE: AtomicU64 = AtomicU64::new(0);
    static AHEAD: AtomicU64 = AtomicU64::new(0);
    impl Sink for Slow {
        fn row(&mut self, _: Range<usize>, _: &[Option<&[u8]>]) -> RowResult {
            Ok(())
        }
    }
    impl Sift for Slow {
        type Batch = ();
        fn batch(&mut self, data: &[u8], _: &mut ()) {
            AHEAD.fetch_max(BEGUN.fetch_add(1, Relaxed) - DONE.load(Relaxed), Relaxed);
            if data.starts_with(b"0\n") {
                thread::sleep(Duration::from_millis(200));
            }
        }
    }
    let text: String = (0..100_000).map(|i| format!("{i}\n")).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    fs::write(&path, &text).unwrap();
    let mut sources =
        Sources::open(&[path.display().to_string()], &Options::default(), &[Column::Line]).unwrap();
    sources.in_chunks_of(100);
    let take = |next: Next<'_, ()>| {
        DONE.fetch_add(u64::from(matches!(next, Next::Batch(..))), Relaxed);
        Ok(ControlFlow::Continue(()))
    };
    sources.sift(vec![Slow, Slow], take, &Control::default()).unwrap();
    assert!(DONE.load(Relaxed) > 1000);
    assert!(AHEAD.load(Relaxed) <= (WAITING * 2 + 4) as u64, "{AHEAD:?}");
}

#[test]
fn a_record_longer_than_the_limit_is_refused_after_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv").display().to_string();
    fs::write(&path, format!("a\nshort\n{}\nend\n", "x".repeat(3 << 20))).unwrap();
    let mut sources = Sources::open(&[path], &Options::default(), &[Column::Name("a".into())]).unwrap();
    for threads in [1, 3] {
        sources.sizes = Sizes { chunk: 1000, row: 4 << 20 };
        assert_eq!(records(&sources, threads, usize::MAX).0.len(), 3);
        sources.sizes.row = 1 << 20;
        let (before, error) = records(&sources, threads, usize::MAX);
        assert_eq!(before, [(b"short\n".to_vec(), b"short".to_vec())]);
        assert!(error.unwrap().contains("x.csv, line 3: this row is longer than 1 MiB"));
    }
}
