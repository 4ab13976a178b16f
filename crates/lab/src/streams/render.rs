//! What the streams did, as tables, CSV and a page with charts.

use serde_json::{Value, json};
use tamis_jobs::statistics::wilson;
use tamis_make::number;
use tamis_report::{Axis, Chart, Column, Csv, Figure, Format, Mark, Page, Section, Table, cells};

use super::{Answers, Data, Run, Sieved, Spark, Streams};
use crate::Findings;

impl Streams {
    /// Whether all is as promised: nothing missing, nothing below the truth, and not more over the
    /// bound than six standard deviations above what δ lets expect; and on Spark nothing is wrong, either.
    pub fn passed(&self) -> bool {
        self.spark.as_ref().is_none_or(|spark| spark.wrong == 0)
            && self.data.iter().all(|data| {
                let counts = &data.answers.counts;
                let expected = counts.asked as f64 * self.job.delta;
                data.answers.missing == 0
                    && counts.below == 0
                    && counts.over as f64 <= expected + 6.0 * expected.sqrt() + 3.0
            })
    }

    /// What was found, in every form.
    pub fn findings(&self) -> Findings {
        Findings {
            name: "streams",
            tables: vec![self.speed(), self.filters(), self.counts()],
            remarks: vec![REMARKS.into()],
            page: self.page(),
            csv: self.csv(),
            more: Vec::new(),
            json: self.json(),
            holds: self.passed(),
        }
    }

    /// One line for each run; what was answered stands in those of both streams side by side.
    fn csv(&self) -> Csv<'static> {
        let columns = [
            "addresses",
            "distinct",
            "run",
            "rows",
            "queries",
            "batch",
            "seconds",
            "rows_per_second",
            "spark_seconds",
            "spark_rows_per_second",
            "asked",
            "seen",
            "answered",
            "missing",
            "false_positives",
            "rate",
            "counts_below",
            "counts_over_bound",
            "counts_mean_error",
            "counts_largest_error",
        ];
        let row = |data: &Data, run: &Run| {
            let answers = (run.rows > 0 && run.queries > 0).then_some(&data.answers);
            let (total, counts) = (answers.map(Answers::total), answers.map(|answers| answers.counts));
            cells![
                data.name,
                data.distinct,
                run.name,
                run.rows,
                run.queries,
                self.job.batch,
                run.time.as_secs_f64(),
                run.per_second(),
                run.spark.map(|time| time.as_secs_f64()),
                run.spark_per_second(),
                total.map(|total| total.asked),
                total.map(|total| total.seen),
                total.map(|total| total.answered),
                answers.map(|answers| answers.missing),
                total.map(|total| total.false_positives()),
                total.map(|total| total.rate()),
                counts.map(|counts| counts.below),
                counts.map(|counts| counts.over),
                counts.map(|counts| counts.errors as f64 / (counts.asked as f64).max(1.0)),
                counts.map(|counts| counts.largest),
            ]
        };
        let rows = self.data.iter().flat_map(|data| data.runs.iter().map(move |run| row(data, run)));
        Csv::new(columns, rows.collect::<Vec<_>>())
    }

    /// How fast.
    pub fn speed(&self) -> Table {
        let mut columns = vec![Column::left("addresses"), Column::left("run")];
        columns.extend(["rows", "queries", "seconds", "rows/s"].map(Column::right));
        if self.spark.is_some() {
            columns.extend(["Spark, rows/s", "times Spark"].map(Column::right));
        }
        let row = |data: &Data, run: &Run| {
            let mut row = vec![
                data.name.to_owned(),
                run.name.to_owned(),
                number::count(run.rows),
                number::count(run.queries),
                format!("{:.3}", run.time.as_secs_f64()),
                number::short(run.per_second()),
            ];
            if self.spark.is_some() {
                row.push(run.spark_per_second().map_or(String::new(), number::short));
                row.push(run.times_spark().map_or(String::new(), |times| format!("{times:.0}")));
            }
            row
        };
        let mut notes = vec![
            "Training fills both sketches; both streams side by side fill both, and ask both.".to_owned(),
        ];
        notes.extend(self.spark.as_ref().map(Spark::note));
        Table {
            caption: "From files, with start, commits and writing the answers".into(),
            columns,
            rows: self.data.iter().flat_map(|data| data.runs.iter().map(move |run| row(data, run))).collect(),
            notes,
        }
    }

    /// What the filter answered.
    pub fn filters(&self) -> Table {
        let mut columns = vec![Column::left("addresses")];
        let names = [
            "different",
            "asked",
            "had come",
            "given",
            "missing",
            "false positives",
            "rate",
            "95 % interval",
            "target",
        ];
        columns.extend(names.map(Column::right));
        let row = |data: &Data| {
            let total = data.answers.total();
            let (low, high) = wilson(total.false_positives(), total.negatives());
            vec![
                data.name.to_owned(),
                number::count(data.distinct),
                number::count(total.asked),
                number::count(total.seen),
                number::count(total.answered),
                number::count(data.answers.missing),
                number::count(total.false_positives()),
                number::rate(total.rate()),
                format!("{}–{}", number::rate(low), number::rate(high)),
                number::rate(self.job.fpr),
            ]
        };
        Table {
            caption: "The filter: answers of both streams side by side".into(),
            columns,
            rows: self.data.iter().map(row).collect(),
            notes: vec![
                "Each query once per batch, against what had come in the training stream by then. The filter grows, and keeps below its target until its last layer is full.".into(),
            ],
        }
    }

    /// What the counts are worth.
    pub fn counts(&self) -> Table {
        let mut columns = vec![Column::left("addresses")];
        let names = [
            "asked",
            "below the truth",
            "over the bound",
            "promised at most",
            "mean error",
            "largest error",
            "bound at the end",
        ];
        columns.extend(names.map(Column::right));
        let row = |data: &Data| {
            let counts = &data.answers.counts;
            let share = |part: f64| part / (counts.asked as f64).max(1.0);
            vec![
                data.name.to_owned(),
                number::count(counts.asked),
                number::count(counts.below),
                number::percent(share(counts.over as f64)),
                number::percent(self.job.delta),
                format!("{:.2}", share(counts.errors as f64)),
                number::count(counts.largest),
                format!("{:.1}", self.job.epsilon * self.job.rows as f64),
            ]
        };
        Table {
            caption: format!("The Count-Min sketch: epsilon {}, delta {}", self.job.epsilon, self.job.delta),
            columns,
            rows: self.data.iter().map(row).collect(),
            notes: vec![
                "An estimate is never below the truth; the bound is epsilon times the rows so far.".into(),
            ],
        }
    }

    fn charts(&self) -> Vec<Chart> {
        let rate = |data: &Data| {
            let point = |(i, batch): (usize, &Sieved)| {
                let (low, high) = wilson(batch.false_positives(), batch.negatives());
                (i as f64 + 1.0, low, batch.rate(), high)
            };
            let batches = data.answers.batches.iter().enumerate().filter(|(_, batch)| batch.negatives() > 0);
            Mark::Whiskers { name: data.name.into(), points: batches.map(point).collect() }
        };
        let mut marks: Vec<Mark> = self.data.iter().map(rate).collect();
        marks.push(Mark::rule("target", self.job.fpr));
        let rates = Chart {
            title: "False positives as the stream goes on".into(),
            x: Axis::linear("batch", Format::Count),
            y: Axis::linear("rate of false positives", Format::Plain),
            marks,
        };
        let names = self.data[0].runs.iter().map(|run| run.name.to_owned()).collect();
        let speeds = |data: &Data| Mark::bars(data.name, data.runs.iter().map(Run::per_second));
        let mut marks: Vec<Mark> = self.data.iter().map(speeds).collect();
        if self.spark.is_some() {
            let there = |run: &Run| run.spark_per_second().unwrap_or(0.0);
            let speeds =
                |data: &Data| Mark::bars(format!("Spark, {}", data.name), data.runs.iter().map(there));
            marks.extend(self.data.iter().map(speeds));
        }
        let speed = Chart {
            title: "Rows per second".into(),
            x: Axis::categories("", names),
            y: Axis::linear("rows per second", Format::Count),
            marks,
        };
        let mut charts = vec![rates, speed];
        for data in &self.data {
            let title = format!("Error of the counts against rank: {}", data.name);
            let bound = (self.job.epsilon * self.job.rows as f64) as u64;
            charts.push(tamis_report::rank::errors(&title, &[("", &data.ranks)], Some(bound)));
        }
        charts
    }

    /// All of it as a page.
    pub fn page(&self) -> Page {
        let compared = self.data.iter().flat_map(|data| &data.runs).filter_map(Run::times_spark);
        let least = compared.reduce(f64::min);
        let total = |pick: fn(&Data) -> u64| number::count(self.data.iter().map(pick).sum());
        let mut figures = vec![
            Figure::new(
                "addresses",
                format!("{} + {}", number::count(self.job.rows), number::count(self.job.queries)),
            )
            .note("trained and asked"),
            Figure::new("answers missing", total(|data| data.answers.missing)),
            Figure::new("counts below the truth", total(|data| data.answers.counts.below)),
        ];
        figures.extend(least.map(|least| {
            Figure::new("times Spark", format!("{least:.0}")).note("rows per second, the slowest run")
        }));
        let mut sections =
            vec![Section::Figures(figures), Section::Text(REMARKS.into()), Section::Charts(self.charts())];
        sections.extend([self.speed(), self.filters(), self.counts()].map(Section::Table));
        Page {
            title: "A filter and a sketch that learn from a stream".into(),
            subtitle: "The streams of Fragkoulis (Implementation of Bloom Filter and Count-Min Sketch in Apache Spark), every answer compared with the exact truth".into(),
            sections,
        }
    }

    /// All of it for programs.
    fn json(&self) -> Value {
        let run = |run: &Run| {
            json!({
                "run": run.name, "rows": run.rows, "queries": run.queries, "seconds": run.time.as_secs_f64(),
                "rows_per_second": run.per_second(),
                "spark_seconds": run.spark.map(|time| time.as_secs_f64()),
                "spark_rows_per_second": run.spark_per_second(),
            })
        };
        let data = |data: &Data| {
            let (total, counts) = (data.answers.total(), &data.answers.counts);
            json!({
                "addresses": data.name, "distinct": data.distinct,
                "runs": data.runs.iter().map(run).collect::<Vec<_>>(),
                "filter": {
                    "asked": total.asked, "seen": total.seen, "answered": total.answered,
                    "missing": data.answers.missing, "false_positives": total.false_positives(),
                    "negatives": total.negatives(), "rate": total.rate(),
                },
                "counts": {
                    "asked": counts.asked, "below": counts.below, "over": counts.over,
                    "mean_error": counts.errors as f64 / (counts.asked as f64).max(1.0), "largest_error": counts.largest,
                },
            })
        };
        json!({
            "passed": self.passed(), "fpr": self.job.fpr, "epsilon": self.job.epsilon, "delta": self.job.delta,
            "batch": self.job.batch, "on": self.spark.as_ref().map(|spark| &spark.on),
            "data": self.data.iter().map(data).collect::<Vec<_>>(),
        })
    }
}

/// What differs from Fragkoulis, and why.
pub const REMARKS: &str = "Fragkoulis writes addresses without their dots, which makes different ones equal (1.11.1.1 and \
11.1.1.1); here they keep them. His state is the set of positions that are 1, joined again with every batch; ours is the filter \
itself. Addresses drawn at random hardly ever come twice, so there is little to count: skewed ones, as logs have them, are \
streamed as well.";
