//! Both phases as Collodi and Ghera's two jobs of MapReduce: a filter of each split, OR-ed by the reducer; and the
//! admitted and rejected words of each split, summed up.

use std::time::Duration;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

/// Words that passed a filter, and those that did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Those that passed.
    pub admitted: u64,
    /// The others.
    pub rejected: u64,
}

/// What both jobs did, and what this machine did with the same words.
#[derive(Debug, Clone)]
pub struct MapReduce {
    /// Words.
    pub records: u64,
    /// Words in S.
    pub sample: u64,
    /// Splits that were asked for.
    pub maps: usize,
    /// Bytes of the file of the filter.
    pub bytes: u64,
    /// Whether the file of the jobs is the file of this machine, byte for byte.
    pub same_bytes: bool,
    /// The counts of this machine.
    pub here: Counted,
    /// Those of the second job.
    pub there: Counted,
    /// The time of planning, which both need.
    pub plan: Duration,
    /// The times of both phases on this machine, each a program of its own.
    pub here_seconds: [Duration; 2],
    /// The time in which the words went to the file system of Hadoop.
    pub put: Duration,
    /// The times of both jobs, from their start to their end.
    pub jobs: [Duration; 2],
    /// The time in which the reduced filter became a binary file there.
    pub fetch: Duration,
}

impl MapReduce {
    /// Whether the jobs gave what this machine gave.
    pub fn holds(&self) -> bool {
        self.same_bytes && self.here == self.there && self.here.admitted + self.here.rejected == self.records
    }

    /// As a table.
    pub fn table(&self) -> Table {
        let row = |what: &str, here: String, there: String| vec![what.to_owned(), here, there];
        let [build, count] = self.here_seconds.map(number::duration);
        let [first, second] = self.jobs.map(number::duration);
        let counts = |counted: Counted| {
            format!("{} / {}", number::count(counted.admitted), number::count(counted.rejected))
        };
        let same = if self.same_bytes { "the same bytes" } else { "other bytes" };
        let rows = vec![
            row("plan", number::duration(self.plan), "the same file".into()),
            row("words to the file system", String::new(), number::duration(self.put)),
            row("build: map a filter of each split, reduce by OR", build, first),
            row("the filter as a binary file there", String::new(), number::duration(self.fetch)),
            row("file of the filter", number::bytes(self.bytes), same.into()),
            row("count: map each split, reduce by sums", count, second),
            row("admitted / rejected", counts(self.here), counts(self.there)),
        ];
        let verdict = match self.holds() {
            true => "The file and the counts of the jobs are those of this machine.",
            false => "The jobs gave something else than this machine: this must not be.",
        };
        Table {
            caption: format!(
                "Two jobs of Hadoop Streaming, {}, {} in S",
                number::counted(self.records, "word"),
                number::count(self.sample)
            ),
            columns: vec![
                Column::left("what"),
                Column::right("this machine"),
                Column::right("Hadoop Streaming"),
            ],
            rows,
            notes: vec![format!(
                "One run. {} splits were asked for. Times of Hadoop are from the start of a job to its end: of so few words, \
                 nearly all of it is the start of processes. Collodi and Ghera print no times of theirs. {verdict}",
                self.maps
            )],
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let seconds = |time: &Duration| time.as_secs_f64();
        let counts = |counted: Counted| json!({ "admitted": counted.admitted, "rejected": counted.rejected });
        json!({
            "records": self.records, "sample": self.sample, "maps": self.maps, "bytes": self.bytes,
            "same_bytes": self.same_bytes, "here": counts(self.here), "there": counts(self.there),
            "seconds": {
                "plan": seconds(&self.plan), "build_here": seconds(&self.here_seconds[0]),
                "count_here": seconds(&self.here_seconds[1]), "put": seconds(&self.put),
                "build_job": seconds(&self.jobs[0]), "count_job": seconds(&self.jobs[1]),
                "fetch": seconds(&self.fetch),
            },
        })
    }
}
