//! The measured times as tables and charts, Collodi and Ghera's beside them.

use std::time::Duration;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Axis, Chart, Column, Csv, Figure, Format, Mark, Page, Section, Table, cells};

use crate::Findings;

use super::{Gain, MapReduce, PRINTED, PRINTED_BY_THREADS, Phases, Run, Scheme, Set, Speedup};

/// What Collodi and Ghera leave open, and where their figures do not fit together.
pub const REMARKS: &str = "Size of S: Collodi and Ghera print 39,176 for their million words. Their filter of 10,200 bits, at 2.56 \
bits per key like the others, is one for about 3,978, and gaps of up to 500 give about as many. Gaps of up to 50 give 39,216 on \
average. Both were run, in the same 10,200 bits; with 39,176 keys nearly every bit is set, and nearly every word passes.

Hash functions: Collodi and Ghera do not say how many. Two are best for 2.56 bits per key, and the rate is then 0.29. Their \
functions, h = (R·h + letter) mod n, are weak where R and n share a factor p, since h mod p is then that of the last letter \
alone. All their n are multiples of 10, so most R do: more words pass than the formula expects.

Speed-up: the text of Collodi and Ghera claims 1.3 on two cores, tending to 2. Their own tables give 7.67 / 6.56 = 1.17 and 7.22 / 6.44 = \
1.12 for two million words, and 1.27 at most, for their smallest set. Their milliseconds are too few for their hash: 7.67 ms for two \
million words are 3.8 ns each, for thirty remainders that wait for one another. What was timed must be less than that, or the \
unit another one; ratios may be compared, times not.

Times: those of Collodi and Ghera leave out the initialisation; ours are given without it and with it. Each phase starts its own \
threads, and starting them counts; Collodi and Ghera, too, blame starting them for the loss on many threads. The sequential version \
starts none. Words are in memory before the clock starts.";

impl Scheme {
    /// Both.
    pub const ALL: [Scheme; 2] = [Scheme::Printed, Scheme::Ours];

    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Printed => "Collodi and Ghera's scheme",
            Scheme::Ours => "ours",
        }
    }

    /// Its word in results for programs.
    fn word(self) -> &'static str {
        match self {
            Scheme::Printed => "printed",
            Scheme::Ours => "ours",
        }
    }
}

const PRINTS: &str = "Collodi and Ghera print";

fn threads_text(threads: usize) -> String {
    if threads == 1 { "sequential".into() } else { format!("{threads} threads") }
}

/// Milliseconds: the mean, to three digits, and the standard deviation, with the same decimals.
fn milliseconds((mean, deviation): (f64, f64)) -> String {
    let decimals = (2.0 - (1e3 * mean).max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    let write = |seconds: f64| match decimals {
        0 => number::count((1e3 * seconds).round() as u64),
        _ => format!("{:.decimals$}", 1e3 * seconds),
    };
    format!("{} ± {}", write(mean), write(deviation))
}

fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { String::new() }
}

/// A speed-up, or that the times differ too much to tell one.
fn gain(gain: Gain) -> String {
    match gain.is_clear() {
        true => ratio(gain.value),
        false if gain.error.is_finite() => format!("unclear ({:.2} ± {:.2})", gain.value, gain.error),
        false if gain.value.is_finite() => format!("unclear ({:.2} in one run)", gain.value),
        false => String::new(),
    }
}

/// The time and the speed-up of a run, for the analysis and for both phases.
fn cells(set: &Set, run: &Run) -> Vec<String> {
    let both = [Phases::Analysis, Phases::Both];
    let cells = both.map(|phases| [milliseconds(run.time(phases)), gain(set.speedup(run, phases))]);
    cells.into_iter().flatten().collect()
}

impl Speedup {
    fn small(&self) -> impl Iterator<Item = &Set> {
        self.sets.iter().filter(|set| !set.large)
    }

    /// The set on which all numbers of threads were tried.
    fn by_threads_set(&self) -> Option<&Set> {
        self.small().max_by_key(|set| set.runs.len())
    }

    /// Times by size at two threads.
    pub fn by_size(&self) -> Table {
        let mut columns = vec![Column::right("words"), Column::right("size of S"), Column::left("program")];
        let names = [
            "sequential, ms",
            "2 threads, ms",
            "speed-up",
            "sequential, both, ms",
            "2 threads, both, ms",
            "speed-up",
        ];
        columns.extend(names.map(Column::right));
        let mut rows = Vec::new();
        let mut said = None;
        for set in self.small() {
            let printed = PRINTED.iter().find(|printed| printed.records == set.records);
            if let Some(printed) = printed.filter(|_| said != Some(set.records)) {
                said = Some(set.records);
                rows.push(vec![
                    number::count(printed.records),
                    number::count(printed.sample),
                    PRINTS.into(),
                    format!("{:.2}", printed.sequential),
                    format!("{:.2}", printed.parallel),
                    ratio(printed.speedup()),
                ]);
            }
            for scheme in Scheme::ALL {
                let (Some(one), Some(two)) = (set.find(scheme, 1), set.find(scheme, 2)) else { continue };
                let mut row =
                    vec![number::count(set.records), number::count(set.sample), scheme.name().to_owned()];
                for phases in [Phases::Analysis, Phases::Both] {
                    row.extend([one, two].map(|run| milliseconds(run.time(phases))));
                    row.push(gain(set.speedup(two, phases)));
                }
                rows.push(row);
            }
        }
        Table {
            caption: format!(
                "Time by size, mean ± standard deviation of {}",
                number::counted(self.job.repeats as u64, "repeat")
            ),
            columns,
            rows,
            notes: vec![format!(
                "Analysis alone, as Collodi and Ghera time it, then both phases. On {}: whatever else runs there takes from the \
                 speed-up. One whose 95 % interval is wider than a tenth to either side is unclear, and in no chart. Ours is the blocked filter with XXH3, asked in batches, sized for 1 %.",
                number::counted(self.cores as u64, "core")
            )],
        }
    }

    /// Times by threads, for the largest of the sets.
    pub fn by_threads(&self) -> Table {
        let records = self.by_threads_set().map_or(0, |set| set.records);
        let mut rows = Vec::new();
        if records == PRINTED[4].records {
            let (_, one) = PRINTED_BY_THREADS[0];
            rows.extend(PRINTED_BY_THREADS.map(|(threads, ms)| {
                vec![PRINTS.into(), threads_text(threads), format!("{ms:.2}"), ratio(one / ms)]
            }));
        }
        rows.extend(self.by_threads_set().into_iter().flat_map(rows_by_threads));
        Table {
            caption: format!("Time by threads, {}", number::counted(records, "word")),
            columns: columns_by_threads(),
            rows,
            notes: Vec::new(),
        }
    }

    /// The much larger set, if there is one.
    pub fn large(&self) -> Option<Table> {
        let set = self.sets.iter().find(|set| set.large)?;
        Some(Table {
            caption: format!(
                "{} in {} of memory, mean ± standard deviation of {}",
                number::counted(set.records, "word"),
                number::bytes(set.records * super::LETTERS as u64),
                number::counted(self.job.records_repeats as u64, "repeat")
            ),
            columns: columns_by_threads(),
            rows: rows_by_threads(set),
            notes: Vec::new(),
        })
    }

    /// The report of each run.
    pub fn reports(&self) -> Table {
        let mut columns = vec![Column::left("program"), Column::right("threads")];
        let names = [
            "hash functions",
            "filter bits",
            "size of S",
            "analysed",
            "admitted",
            "expected",
            "rejected",
            "initialise, ms",
            "analyse, ms",
        ];
        columns.extend(names.map(Column::right));
        let mut rows = Vec::new();
        for set in &self.sets {
            for run in &set.runs {
                let (both, _) = run.time(Phases::Both);
                let (analyse, _) = run.time(Phases::Analysis);
                rows.push(vec![
                    run.scheme.name().into(),
                    run.threads.to_string(),
                    run.hashes.to_string(),
                    number::count(run.bits),
                    number::count(set.sample),
                    number::count(run.analysed),
                    number::count(run.admitted),
                    number::count(run.expected.round() as u64),
                    number::count(run.rejected()),
                    number::rate(1e3 * (both - analyse)),
                    number::rate(1e3 * analyse),
                ]);
            }
        }
        Table { caption: "Every run".into(), columns, rows, notes: vec![self.verdict().into()] }
    }

    /// Whether the laws held.
    pub fn verdict(&self) -> &'static str {
        if self.holds() {
            "Every number of threads gave the filter and the answers of the sequential version; no word of S was rejected."
        } else {
            "Some run gave other answers than the sequential version, or rejected words of S: this must not be."
        }
    }

    /// What was found, in every form.
    pub fn findings(&self) -> Findings {
        let mut tables = vec![self.by_size(), self.by_threads()];
        tables.extend(self.large());
        tables.push(self.reports());
        tables.extend(self.mapreduce.as_ref().map(MapReduce::table));
        Findings {
            name: "speedup",
            tables,
            remarks: vec![REMARKS.into()],
            page: self.page(),
            csv: self.csv(),
            more: Vec::new(),
            json: self.json(),
            holds: self.holds(),
        }
    }

    /// One line for each run; beside those of Collodi and Ghera's scheme their times.
    fn csv(&self) -> Csv<'static> {
        let columns = [
            "records",
            "sample",
            "scheme",
            "threads",
            "hashes",
            "bits",
            "admitted",
            "expected_admitted",
            "rejected",
            "false_negatives",
            "same_answers",
            "repeats",
            "initialise_seconds",
            "analyse_seconds",
            "analyse_seconds_deviation",
            "speedup",
            "speedup_error_95",
            "printed_analyse_seconds",
        ];
        let row = |set: &Set, run: &Run| {
            let ((both, _), (analyse, deviation)) = (run.time(Phases::Both), run.time(Phases::Analysis));
            let gain = set.speedup(run, Phases::Analysis);
            cells![
                set.records,
                set.sample,
                run.scheme.word(),
                run.threads,
                run.hashes,
                run.bits,
                run.admitted,
                run.expected,
                run.rejected(),
                run.lost,
                run.same,
                run.analyse.len(),
                both - analyse,
                analyse,
                deviation,
                gain.value,
                gain.error,
                printed(set, run).map(|ms| ms / 1e3),
            ]
        };
        let rows = self.sets.iter().flat_map(|set| set.runs.iter().map(move |run| row(set, run)));
        Csv::new(columns, rows.collect::<Vec<_>>())
    }

    fn json(&self) -> Value {
        let seconds = |times: &[Duration]| times.iter().map(Duration::as_secs_f64).collect::<Vec<_>>();
        let gain = |set: &Set, run: &Run, phases| {
            let gain = set.speedup(run, phases);
            json!({ "value": gain.value, "error_95": gain.error, "clear": gain.is_clear() })
        };
        let set = |set: &Set| {
            let run = |run: &Run| {
                json!({
                    "scheme": run.scheme.word(), "threads": run.threads,
                    "hashes": run.hashes, "bits": run.bits, "analysed": run.analysed, "admitted": run.admitted,
                    "expected_admitted": run.expected, "rejected": run.rejected(), "false_negatives": run.lost,
                    "same_answers": run.same, "initialise_seconds": seconds(&run.initialise),
                    "analyse_seconds": seconds(&run.analyse), "speedup": gain(set, run, Phases::Analysis),
                    "speedup_of_both_phases": gain(set, run, Phases::Both),
                })
            };
            let runs: Vec<_> = set.runs.iter().map(run).collect();
            json!({ "records": set.records, "limit": set.limit, "sample": set.sample, "large": set.large, "runs": runs })
        };
        let printed = PRINTED.map(|printed| {
            json!({
                "records": printed.records, "sample": printed.sample, "bits": printed.bits,
                "sequential_ms": printed.sequential, "two_threads_ms": printed.parallel, "speedup": printed.speedup(),
            })
        });
        let by_threads =
            PRINTED_BY_THREADS.map(|(threads, ms)| json!({ "threads": threads, "analyse_ms": ms }));
        json!({
            "cores": self.cores, "sets": self.sets.iter().map(set).collect::<Vec<_>>(),
            "document": { "by_size": printed, "by_threads": by_threads },
            "mapreduce": self.mapreduce.as_ref().map(MapReduce::json),
        })
    }

    /// All of it as a page.
    pub fn page(&self) -> Page {
        let mut figures = vec![Figure::new("cores", self.cores.to_string())];
        if let Some(set) = self.sets.iter().max_by_key(|set| set.records) {
            for scheme in Scheme::ALL {
                let Some(two) = set.find(scheme, 2) else { continue };
                let speedup = gain(set.speedup(two, Phases::Analysis));
                let note = format!("speed-up of two threads, {} words", number::short(set.records as f64));
                figures.push(Figure::new(scheme.name(), speedup).note(note));
            }
        }
        let printed = ratio(PRINTED[4].speedup());
        figures.push(Figure::new(PRINTS, printed).note("two threads, 2M words; their text says 1.3"));
        let mut sections = vec![
            Section::Figures(figures),
            Section::Text(self.verdict().into()),
            Section::Charts(vec![self.size_chart(), self.threads_chart()]),
            Section::Table(self.by_size()),
            Section::Table(self.by_threads()),
        ];
        sections.extend(self.large().map(Section::Table));
        sections.push(Section::Table(self.reports()));
        sections.extend(self.mapreduce.as_ref().map(|jobs| Section::Table(jobs.table())));
        sections.push(Section::Text(REMARKS.into()));
        Page {
            title: "A data flow on threads, measured again".into(),
            subtitle: "The tables of Collodi and Ghera (Implementation of Bloom Filter using Java and Java Hadoop) beside ours".into(),
            sections,
        }
    }

    fn size_chart(&self) -> Chart {
        let mut marks =
            vec![Mark::line(PRINTS, PRINTED.map(|printed| (printed.records as f64, printed.speedup())))];
        for scheme in Scheme::ALL {
            // One line through the series of sizes: the larger S of the million stands in the table.
            let sets = self.sets.iter().filter(|set| set.limit == super::LIMIT);
            let points = sets.filter_map(|set| {
                let gain = set.speedup(set.find(scheme, 2)?, Phases::Analysis);
                gain.is_clear().then_some((set.records as f64, gain.value))
            });
            marks.push(Mark::line(scheme.name(), points));
        }
        marks.push(Mark::rule("sequential", 1.0));
        Chart {
            title: "Speed-up of two threads by size".into(),
            x: Axis::log("words", Format::Count),
            y: Axis::linear("speed-up of the analysis", Format::Plain),
            marks,
        }
    }

    fn threads_chart(&self) -> Chart {
        let (_, one) = PRINTED_BY_THREADS[0];
        let printed = PRINTED_BY_THREADS.map(|(threads, ms)| (threads as f64, one / ms));
        let mut marks = vec![Mark::line(format!("{PRINTS} (2M)"), printed)];
        for scheme in Scheme::ALL {
            let sets = self.by_threads_set().into_iter();
            let points = sets.flat_map(|set| {
                let runs = set.runs.iter().filter(|run| run.scheme == scheme);
                let gains = runs.map(|run| (run.threads as f64, set.speedup(run, Phases::Analysis)));
                gains.filter(|(_, gain)| gain.is_clear()).map(|(threads, gain)| (threads, gain.value))
            });
            marks.push(Mark::line(scheme.name(), points));
        }
        marks.push(Mark::rule("sequential", 1.0));
        let records = self.by_threads_set().map_or(0, |set| set.records);
        Chart {
            title: format!("Speed-up by threads, {} words", number::short(records as f64)),
            x: Axis::linear("threads", Format::Count),
            y: Axis::linear("speed-up of the analysis", Format::Plain),
            marks,
        }
    }
}

/// The milliseconds that Collodi and Ghera print for such a run.
fn printed(set: &Set, run: &Run) -> Option<f64> {
    let of_size =
        PRINTED.iter().find(|printed| printed.records == set.records && set.limit == super::LIMIT)?;
    match (run.scheme, run.threads) {
        (Scheme::Printed, 1) => Some(of_size.sequential),
        (Scheme::Printed, 2) => Some(of_size.parallel),
        (Scheme::Printed, threads) if set.records == PRINTED[4].records => {
            PRINTED_BY_THREADS.iter().find(|(of, _)| *of == threads).map(|(_, ms)| *ms)
        }
        _ => None,
    }
}

fn columns_by_threads() -> Vec<Column> {
    let mut columns = vec![Column::left("program"), Column::left("version")];
    columns.extend(["analysis, ms", "speed-up", "both phases, ms", "speed-up"].map(Column::right));
    columns
}

fn rows_by_threads(set: &Set) -> Vec<Vec<String>> {
    let row = |run: &Run| {
        let mut row = vec![run.scheme.name().to_owned(), threads_text(run.threads)];
        row.extend(cells(set, run));
        row
    };
    set.runs.iter().map(row).collect()
}
