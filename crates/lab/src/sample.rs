//! A random sample of the lines of a file, as Collodi and Ghera draw theirs.

use std::ops::{ControlFlow, Range};

use tamis::key::Recipe;
use tamis_make::destination::{self, Destination, Outlet};
use tamis_make::files;
use tamis_read::error::Result;
use tamis_read::{Control, Format, Next, Options, RowResult, Sift, Sink, Sources};

use crate::generate::Random;

/// A sample to be drawn.
#[derive(Debug, Clone)]
pub struct Job {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// The largest gap between two lines of it, at least 1.
    pub gap: u64,
    /// The seed.
    pub seed: u64,
    /// Where it goes.
    pub output: Destination,
}

/// What was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Lines read.
    pub lines: u64,
    /// Lines of the sample.
    pub sample: u64,
}

/// Where the lines of a sample stand, from 0 on without an end: the first is the ⌊U·gap⌋-th, and each next one
/// 1 + ⌊U·gap⌋ further, for a U of its own below 1.
pub fn places(gap: u64, seed: u64) -> impl Iterator<Item = u64> + Send {
    let mut random = Random::new(seed);
    let first = random.below(gap);
    std::iter::successors(Some(first), move |at| Some(at.saturating_add(1 + random.below(gap))))
}

/// Draws it: lines as they are, in their order.
pub fn draw(job: &Job, control: &Control) -> Result<Drawn> {
    let options = Options { format: Some(Format::Lines), ..Options::default() };
    let sources = Sources::open(&job.inputs, &options, &Recipe::lines().columns())?;
    let inputs: Vec<_> = sources.explain().into_iter().map(|input| input.path).collect();
    files::check_outputs([job.output.named()], &inputs)?;
    let mut outlet = Outlet::open(&job.output)?;
    // One thread: which line is drawn depends on all before it.
    let drawing = Drawing::new(places(job.gap, job.seed));
    let drawings = sources.sift(
        vec![drawing],
        |next| {
            if let Next::Batch(lines, _) = next {
                outlet.write(lines)?;
            }
            Ok(if outlet.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        },
        control,
    )?;
    destination::finish_all([outlet])?;
    Ok(drawings.into_iter().fold(Drawn { lines: 0, sample: 0 }, |all, drawing| Drawn {
        lines: all.lines + drawing.read,
        sample: all.sample + drawing.drawn,
    }))
}

/// Takes lines, and keeps those that are drawn.
struct Drawing<P> {
    places: P,
    next: Option<u64>,
    read: u64,
    drawn: u64,
    /// The places in the text of those of this batch.
    kept: Vec<Range<usize>>,
}

impl<P: Iterator<Item = u64> + Send> Drawing<P> {
    fn new(mut places: P) -> Self {
        let next = places.next();
        Drawing { places, next, read: 0, drawn: 0, kept: Vec::new() }
    }
}

impl<P: Iterator<Item = u64> + Send> Sink for Drawing<P> {
    fn row(&mut self, place: Range<usize>, _: &[Option<&[u8]>]) -> RowResult {
        if self.next == Some(self.read) {
            self.kept.push(place);
            self.drawn += 1;
            self.next = self.places.next();
        }
        self.read += 1;
        Ok(())
    }
}

impl<P: Iterator<Item = u64> + Send> Sift for Drawing<P> {
    type Batch = Vec<u8>;

    fn batch(&mut self, data: &[u8], batch: &mut Vec<u8>) {
        batch.clear();
        for place in self.kept.drain(..) {
            batch.extend_from_slice(&data[place]);
            if batch.last() != Some(&b'\n') {
                batch.push(b'\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Their loop, line by line, with the numbers that the places were drawn with.
        #[test]
        fn the_sample_is_that_of_their_loop(lines in 0u64..2000, gap in 1u64..60, seed: u64) {
            let folder = tempfile::tempdir().unwrap();
            let (from, to) = (folder.path().join("all.txt"), folder.path().join("sample.txt"));
            let all: Vec<String> = (0..lines).map(|line| format!("line {line}")).collect();
            std::fs::write(&from, all.join("\n")).unwrap();
            let output = Destination::at(&to);
            let job = Job { inputs: vec![from.display().to_string()], gap, seed, output };
            let drawn = draw(&job, &Control::default()).unwrap();

            let mut random = Random::new(seed);
            let mut chosen = random.below(gap);
            let mut expected = String::new();
            for (i, line) in all.iter().enumerate() {
                if i as u64 == chosen {
                    expected += &format!("{line}\n");
                    chosen += random.below(gap) + 1;
                }
            }
            prop_assert_eq!(std::fs::read_to_string(&to).unwrap(), &expected[..]);
            prop_assert_eq!(drawn, Drawn { lines, sample: expected.lines().count() as u64 });
        }
    }
}
