//! Patimo's figures beside ours: the grid of rates, the times, a page with charts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tamis_jobs::check;
use tamis_make::number;
use tamis_report::{Axis, Chart, Column, Csv, Figure, Format, Mark, Page, Section, Table, cells};

use super::{Ours, PHASES, PRINTED, Place, RATES, Reproduction, Run, THREADS, TIMES};
use crate::Findings;

/// Patimo divides by false positives and all keys outside together, which counts the
/// false positives twice in the denominator.
fn as_printed(filter: &check::FilterResult) -> f64 {
    filter.false_positives as f64 / (filter.false_positives + filter.negatives) as f64
}

/// What Patimo prints for a group at a target.
fn printed(group: &check::GroupResult, fpr: f64) -> Option<f64> {
    let rating: usize = group.group.to_string().parse().ok()?;
    let column = RATES.iter().position(|rate| *rate == fpr)?;
    Some(PRINTED.get(rating.checked_sub(1)?)?[column])
}

/// The time that Patimo prints for as many executors.
fn printed_time(run: &Run) -> Option<Duration> {
    let row = RATES.iter().position(|rate| *rate == run.fpr)?;
    let column = THREADS.iter().position(|threads| *threads == run.place.workers())?;
    Some(Duration::from_millis(TIMES[row][column]))
}

/// The groups that have filters.
fn filters(run: &Run) -> impl Iterator<Item = (&check::GroupResult, &check::FilterResult)> {
    run.report.groups.iter().filter_map(|group| Some((group, group.filter.as_ref()?)))
}

/// Why Patimo's rate is not the rate.
pub const WHY: &str = "Patimo divides the false positives by (false positives + true negatives), and takes for the \
true negatives all rows outside the group. These include the false positives, which so count twice below the line: a true \
rate r is printed as r / (1 + r). He prints 0.0914 where the rate is 0.1007; at one in a thousand the two agree.";

/// A name, a scheme, and where it ran with a number of workers.
type Program = (String, Ours, fn(usize) -> Place);

impl Reproduction {
    fn find(&self, fpr: f64, scheme: Ours, place: Place) -> Option<&Run> {
        self.runs.iter().find(|run| run.fpr == fpr && run.scheme == scheme && run.place == place)
    }

    /// The run whose rates are shown: they are the same wherever it runs.
    fn shown(&self, fpr: f64, scheme: Ours) -> Option<&Run> {
        self.find(fpr, scheme, Place::Threads(1))
    }

    /// The rates of every group at every target with Patimo's scheme: the true rate, the rate by his formula,
    /// and what he prints.
    pub fn grid(&self) -> Table {
        let mut columns = vec![Column::right("rating")];
        let mut rows: BTreeMap<(i64, String), Vec<String>> = BTreeMap::new();
        for fpr in RATES {
            columns.extend([&*format!("p = {fpr}"), "FP/(FP+TN)", "printed"].map(Column::right));
            for (group, filter) in self.shown(fpr, Ours::Printed).into_iter().flat_map(filters) {
                let name = group.group.to_string();
                let place = (name.parse().unwrap_or(i64::MAX), name.clone()); // 10 after 9
                let row = rows.entry(place).or_insert_with(|| vec![name]);
                row.extend([filter.rate(), as_printed(filter)].map(|rate| format!("{rate:.4}")));
                row.push(printed(group, fpr).map_or(String::new(), |rate| format!("{rate:.4}")));
            }
        }
        Table {
            caption: "Rates of false positives by rating and target p, Patimo's scheme: the true rate, the rate as \
                      he divides, and what he prints"
                .into(),
            columns,
            rows: rows.into_values().collect(),
            notes: vec![WHY.into()],
        }
    }

    /// Rates: Patimo's figures beside ours, both formulas.
    pub fn rates(&self) -> Table {
        let mut columns = vec![Column::right("p"), Column::left("scheme")];
        let names = [
            "lowest true rate",
            "highest true rate",
            "as Patimo divides",
            "Patimo prints",
            "false negatives",
        ];
        columns.extend(names.map(Column::right));
        let mut rows = Vec::new();
        for (at, fpr) in RATES.into_iter().enumerate() {
            for scheme in Ours::ALL {
                let Some(run) = self.shown(fpr, scheme) else { continue };
                let filters: Vec<_> = filters(run).map(|(_, filter)| filter).collect();
                let printed = |pick: fn(f64, f64) -> f64| PRINTED.map(|row| row[at]).into_iter().reduce(pick);
                let low = |of: fn(&check::FilterResult) -> f64| {
                    filters.iter().map(|f| of(f)).fold(f64::INFINITY, f64::min)
                };
                let high =
                    |of: fn(&check::FilterResult) -> f64| filters.iter().map(|f| of(f)).fold(0.0, f64::max);
                rows.push(vec![
                    fpr.to_string(),
                    scheme.name().into(),
                    format!("{:.4}", low(check::FilterResult::rate)),
                    format!("{:.4}", high(check::FilterResult::rate)),
                    format!("{:.4}–{:.4}", low(as_printed), high(as_printed)),
                    if scheme == Ours::Printed {
                        let (low, high) = (printed(f64::min), printed(f64::max));
                        format!("{:.4}–{:.4}", low.unwrap_or_default(), high.unwrap_or_default())
                    } else {
                        String::new()
                    },
                    number::count(run.report.false_negatives()),
                ]);
            }
        }
        Table {
            caption: "Rates of false positives over the ten groups".into(),
            columns,
            rows,
            notes: Vec::new(),
        }
    }

    /// Run times: Patimo's beside ours.
    pub fn times(&self) -> Table {
        let mut columns = vec![Column::right("p"), Column::left("program")];
        let workers = self.workers();
        columns.extend(workers.iter().map(|workers| Column::right(workers.to_string())));
        let mut rows = Vec::new();
        for (fpr, times) in RATES.into_iter().zip(TIMES) {
            let mut row = vec![fpr.to_string(), "Patimo (PySpark, 4 vcores, executors)".into()];
            let his =
                |workers: &usize| THREADS.iter().position(|threads| threads == workers).map(|at| times[at]);
            let text = |ms: u64| number::duration(Duration::from_millis(ms));
            row.extend(workers.iter().map(|workers| his(workers).map_or(String::new(), text)));
            rows.push(row);
            for (name, scheme, place) in self.programs() {
                let mut row = vec![fpr.to_string(), name];
                row.extend(workers.iter().map(|&workers| {
                    let run = self.find(fpr, scheme, place(workers));
                    run.map_or(String::new(), |run| number::duration(run.time()))
                }));
                rows.push(row);
            }
        }
        let notes = vec![
            "Patimo gives no unit; milliseconds are the only one that fits. His machine had 4 vcores; ours are \
             from this run, on this machine: build and test, best of the repeats, warm page cache; on Spark one \
             application, with its start."
                .into(),
        ];
        Table {
            caption: "Run time of building and testing, by threads or executors".into(),
            columns,
            rows,
            notes,
        }
    }

    /// All numbers of threads and executors, ascending.
    fn workers(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.runs.iter().map(|run| run.place.workers()).chain(THREADS).collect();
        all.into_iter().collect()
    }

    /// What was measured.
    fn programs(&self) -> Vec<Program> {
        let here =
            Ours::ALL.map(|scheme| (scheme.name().to_owned(), scheme, Place::Threads as fn(usize) -> Place));
        let there = self.on.as_ref().map(|on| {
            let name = format!("Patimo's scheme on Spark ({on}, executors)");
            (name, Ours::Printed, Place::Executors as fn(usize) -> Place)
        });
        here.into_iter().chain(there).collect()
    }

    /// The phases on Spark, where it ran there: Patimo's times beside ours.
    pub fn phases(&self) -> Option<Table> {
        let on = self.on.as_ref()?;
        let mut columns = vec![Column::right("p"), Column::right("executors")];
        columns.extend(["start", "parameters", "filters", "test", "all", "Patimo (all)"].map(Column::right));
        let mut rows = Vec::new();
        for (fpr, times) in RATES.into_iter().zip(TIMES) {
            for run in self.runs.iter().filter(|run| run.fpr == fpr) {
                let Place::Executors(executors) = run.place else { continue };
                let mut row = vec![fpr.to_string(), executors.to_string()];
                let text = |time: Option<Duration>| time.map_or(String::new(), number::duration);
                row.extend(run.phases.into_iter().chain([Some(run.time())]).map(text));
                let his = THREADS.iter().position(|threads| *threads == executors);
                row.push(text(his.map(|at| Duration::from_millis(times[at]))));
                rows.push(row);
            }
        }
        let caption = format!("Phases on Spark ({on}), Patimo's scheme");
        let notes = vec!["One application for each rate and number of executors, as Patimo ran it.".into()];
        Some(Table { caption, columns, rows, notes })
    }

    /// What was found, in every form.
    pub fn findings(&self) -> Findings {
        let mut tables = vec![self.grid(), self.rates(), self.times()];
        tables.extend(self.phases());
        Findings {
            name: "ratings",
            tables,
            remarks: Vec::new(),
            page: self.page(),
            csv: self.csv(),
            more: Vec::new(),
            json: self.json(),
            holds: self.runs.iter().all(|run| run.report.passed()),
        }
    }

    /// One line for each run and group.
    fn csv(&self) -> Csv<'static> {
        let columns = [
            "p",
            "scheme",
            "program",
            "workers",
            "group",
            "keys",
            "bits",
            "hashes",
            "false_positives",
            "negatives",
            "rate",
            "rate_as_printed",
            "printed_rate",
            "false_negatives",
            "start_seconds",
            "parameters_seconds",
            "filters_seconds",
            "test_seconds",
            "seconds",
            "printed_seconds",
        ];
        let row = |run: &Run, group: &check::GroupResult, filter: &check::FilterResult| {
            let of_patimo = run.scheme == Ours::Printed;
            let [start, parameters, filters, test] =
                run.phases.map(|time| time.map(|time| time.as_secs_f64()));
            cells![
                run.fpr,
                run.scheme.word(),
                if matches!(run.place, Place::Threads(_)) { "tamis" } else { "tamis on Spark" },
                run.place.workers(),
                &group.group,
                group.keys,
                filter.bits,
                filter.hashes,
                filter.false_positives,
                filter.negatives,
                filter.rate(),
                as_printed(filter),
                printed(group, run.fpr).filter(|_| of_patimo),
                group.false_negatives,
                start,
                parameters,
                filters,
                test,
                run.time().as_secs_f64(),
                printed_time(run).filter(|_| of_patimo).map(|time| time.as_secs_f64()),
            ]
        };
        let rows =
            self.runs.iter().flat_map(|run| filters(run).map(move |(group, filter)| row(run, group, filter)));
        Csv::new(columns, rows.collect::<Vec<_>>())
    }

    fn json(&self) -> Value {
        let run = |run: &Run| {
            let workers = if let Place::Threads(_) = run.place { "threads" } else { "executors" };
            let phases = PHASES.into_iter().zip(run.phases);
            let phases =
                phases.filter_map(|(name, time)| Some((name.to_owned(), json!(time?.as_secs_f64()))));
            let mut json = json!({
                "fpr": run.fpr, "scheme": run.scheme.word(), "seconds": run.time().as_secs_f64(),
                "phases": phases.collect::<Map<_, _>>(), "test": tamis_report::check::json(&run.report),
            });
            json[workers] = run.place.workers().into();
            json
        };
        let runs: Vec<_> = self.runs.iter().map(run).collect();
        json!({ "rows": self.rows, "on": self.on, "runs": runs })
    }

    /// Rates per group at one target, with Patimo's scheme.
    pub fn by_group(&self, fpr: f64) -> Table {
        let columns =
            ["group", "keys", "bits", "k", "false positives", "negatives", "true rate", "as Patimo divides"];
        let columns = columns.map(Column::right).to_vec();
        let mut rows = Vec::new();
        if let Some(run) = self.shown(fpr, Ours::Printed) {
            for (group, filter) in filters(run) {
                rows.push(vec![
                    group.group.to_string(),
                    number::count(group.keys),
                    number::count(filter.bits),
                    filter.hashes.to_string(),
                    number::count(filter.false_positives),
                    number::count(filter.negatives),
                    format!("{:.4}", filter.rate()),
                    format!("{:.4}", as_printed(filter)),
                ]);
            }
        }
        Table {
            caption: format!("Every group at p = {fpr}, Patimo's scheme"),
            columns,
            rows,
            notes: Vec::new(),
        }
    }

    /// All of it as a page.
    pub fn page(&self) -> Page {
        let fastest = |scheme: Ours| {
            let here = |run: &&Run| {
                matches!(run.place, Place::Threads(_)) && run.scheme == scheme && run.fpr == 0.01
            };
            self.runs.iter().filter(here).map(Run::time).min()
        };
        let mut figures = vec![Figure::new("titles", number::count(self.rows))];
        for scheme in Ours::ALL {
            if let Some(time) = fastest(scheme) {
                figures.push(
                    Figure::new(scheme.name(), number::duration(time))
                        .note("build and test at p = 0.01, fastest"),
                );
            }
        }
        let lost: u64 = self.runs.iter().map(|run| run.report.false_negatives()).sum();
        figures.push(
            Figure::new("false negatives", number::count(lost)).note(format!("in {} runs", self.runs.len())),
        );
        let mut sections = vec![Section::Figures(figures), Section::Text(WHY.into())];
        sections.push(Section::Charts(self.charts()));
        sections.extend([self.grid(), self.rates(), self.times()].map(Section::Table));
        sections.extend(self.phases().map(Section::Table));
        sections.extend(RATES.map(|fpr| Section::Table(self.by_group(fpr))));
        Page {
            title: "Ten Bloom filters of film ratings, measured again".into(),
            subtitle: "The tables of Patimo (Bloom Filters in Spark) beside ours".into(),
            sections,
        }
    }

    fn charts(&self) -> Vec<Chart> {
        let mut charts = Vec::new();
        for fpr in RATES {
            let Some(run) = self.shown(fpr, Ours::Printed) else { continue };
            let groups: Vec<_> = filters(run).collect();
            let whisker = |(i, (_, filter)): (usize, &(&check::GroupResult, &check::FilterResult))| {
                let (low, high) = filter.interval();
                (i as f64, low, filter.rate(), high)
            };
            let printed = |(i, (_, filter)): (usize, &(&check::GroupResult, &check::FilterResult))| {
                (i as f64, as_printed(filter))
            };
            charts.push(Chart {
                title: format!("Patimo's scheme, p = {fpr}"),
                x: Axis::categories(
                    "rating",
                    groups.iter().map(|(group, _)| group.group.to_string()).collect(),
                ),
                y: Axis::linear("rate of false positives", Format::Plain),
                marks: vec![
                    Mark::Whiskers {
                        name: "true rate".into(),
                        points: groups.iter().enumerate().map(whisker).collect(),
                    },
                    Mark::Points {
                        name: "as Patimo divides".into(),
                        points: groups.iter().enumerate().map(printed).collect(),
                    },
                    Mark::rule("target", fpr),
                ],
            });
        }
        let line = |(name, scheme, place): Program| {
            let points = self.workers().into_iter().filter_map(move |workers| {
                Some((workers as f64, self.find(0.01, scheme, place(workers))?.time().as_secs_f64()))
            });
            Mark::line(name, points)
        };
        let printed =
            THREADS.into_iter().zip(TIMES[1]).map(|(threads, ms)| (threads as f64, ms as f64 / 1000.0));
        charts.push(Chart {
            title: "Run time by threads or executors, p = 0.01".into(),
            x: Axis::linear("threads (Patimo, Spark: executors)", Format::Count),
            y: Axis::log("time", Format::Seconds),
            marks: [Mark::line("Patimo (PySpark)", printed)]
                .into_iter()
                .chain(self.programs().into_iter().map(line))
                .collect(),
        });
        charts
    }
}
