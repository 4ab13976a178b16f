//! What was measured of the layers, as tables, CSV and a page with charts.

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Axis, Chart, Column, Csv, Figure, Format, Mark, Page, Section, Table, cells};

use crate::Findings;
use crate::layers::{Choice, Count, Measured, Memory, Probe, SUBJECTS, Subject};

/// What Sharma hopes for.
const HOPED: (f64, f64) = (0.15, 0.30);

/// What was measured on all data sets.
#[derive(Debug, Clone)]
pub struct Layers {
    /// By data set.
    pub sets: Vec<Measured>,
    /// How the filters were made.
    pub choice: Choice,
}

fn title(subject: Subject, memory: Memory) -> String {
    match subject {
        Subject::Layered => subject.name().into(),
        _ => format!("{}, {}", subject.name(), memory.name()),
    }
}

impl Measured {
    fn count(&self, subject: Subject, memory: Memory, probe: Probe) -> Count {
        self.counts.get(&(subject, memory, probe)).copied().unwrap_or_default()
    }

    fn layered(&self, probe: Probe) -> Count {
        self.count(Subject::Layered, Memory::Total, probe)
    }

    /// By how much the precision of the multi-layer filter is above that of another, relatively.
    fn gain(&self, subject: Subject, memory: Memory) -> f64 {
        let other = self.count(subject, memory, Probe::Rows).precision();
        self.layered(Probe::Rows).precision() / other - 1.0
    }
}

fn signed(part: f64) -> String {
    let tenths = (part * 1000.0).round();
    let sign = if tenths < 0.0 { "−" } else { "+" };
    format!("{sign}{:.1} %", tenths.abs() / 10.0)
}

impl Layers {
    /// The data sets and the shapes of their filters.
    pub fn data(&self) -> Table {
        let mut columns = vec![Column::left("data set")];
        let names = [
            "unique records",
            "left out",
            "keywords each",
            "different keywords",
            "layers",
            "m",
            "k",
            "all bits",
        ];
        columns.extend(names.map(Column::right));
        let row = |set: &Measured| {
            vec![
                set.name.clone(),
                number::count(set.records as u64),
                number::count(set.skipped),
                format!("{:.2}", set.mean),
                number::count(set.vocabulary as u64),
                format!("{} + XOR", set.shape.layers()),
                number::count(set.shape.slots()),
                set.shape.hashes().to_string(),
                number::count(set.shape.bits()),
            ]
        };
        let rows = self.sets.iter().map(row).collect();
        let layers = match self.choice.layers {
            Some(_) => "were chosen",
            None => "are max(1, round(keywords each / k))",
        };
        let notes = vec![format!(
            "m is the power of two at which a layer has a rate of at most {} with the different keywords or the \
             records of a half, whichever are more; the layers {layers}. Rows without keywords are left out.",
            self.choice.fpr
        )];
        Table { caption: "Data sets, and the filter of each half".into(), columns, rows, notes }
    }

    /// The rates of all filters with all probes.
    pub fn rates(&self) -> Table {
        let mut columns =
            vec![Column::left("data set"), Column::left("filter"), Column::right("bits"), Column::right("k")];
        columns.extend(Probe::ALL.map(|probe| Column::right(probe.name())));
        let mut rows = Vec::new();
        for set in &self.sets {
            for (subject, memory) in SUBJECTS {
                let first = set.count(subject, memory, Probe::Rows);
                let mut row = vec![
                    set.name.clone(),
                    title(subject, memory),
                    number::count(first.bits),
                    first.hashes.to_string(),
                ];
                row.extend(Probe::ALL.map(|probe| {
                    let count = set.count(subject, memory, probe);
                    match count.probes {
                        0 => "-".into(),
                        _ => number::rate(count.rate()),
                    }
                }));
                rows.push(row);
            }
        }
        let notes = vec![
            "The share of records that are not in and yet are found. Rows: found in the half that they are not in. \
             Random, recombined from members' keywords (each at a place where a member has it), and members' keywords \
             in another order: asked of one half."
                .into(),
        ];
        Table { caption: "Rates of false positives".into(), columns, rows, notes }
    }

    /// The formulas beside what was measured.
    pub fn formulas(&self) -> Table {
        let names = ["probes", "expected", "found", "95 % interval of the rate", "expected rate"];
        let mut columns = vec![Column::left("data set"), Column::left("filter"), Column::left("probe")];
        columns.extend(names.map(Column::right));
        let mut rows = Vec::new();
        for set in &self.sets {
            for (subject, memory) in SUBJECTS {
                for probe in Probe::ALL {
                    let count = set.count(subject, memory, probe);
                    let Some(expected) = count.expected.filter(|_| count.probes > 0) else { continue };
                    let (interval, rate) = (count.interval(), expected / count.probes as f64);
                    let rates = number::Rates::of([rate, interval.1]);
                    rows.push(vec![
                        set.name.clone(),
                        title(subject, memory),
                        probe.name().into(),
                        number::count(count.probes),
                        format!("{expected:.1}"),
                        number::count(count.hits),
                        rates.interval(interval),
                        rates.text(rate),
                    ]);
                }
            }
        }
        let notes = vec![
            "Where the formulas of the module `tamis::layered` say something. Recombined records may hold the keywords \
             of a member in another order: the XOR layer cannot tell these, so in small vocabularies more pass than \
             the formula says."
                .into(),
        ];
        Table { caption: "The formulas, checked".into(), columns, rows, notes }
    }

    /// The precision with Sharma's probes, and the gain beside what he hopes for.
    pub fn gains(&self) -> Table {
        let mut columns = vec![Column::left("data set"), Column::left("against"), Column::left("memory")];
        columns.extend(["its precision", "multi-layer", "gain", "hoped for", "holds"].map(Column::right));
        let mut rows = Vec::new();
        for set in &self.sets {
            for (subject, memory) in SUBJECTS.into_iter().filter(|(subject, _)| *subject != Subject::Layered)
            {
                let gain = set.gain(subject, memory);
                rows.push(vec![
                    set.name.clone(),
                    subject.name().into(),
                    memory.name().into(),
                    format!("{:.4}", set.count(subject, memory, Probe::Rows).precision()),
                    format!("{:.4}", set.layered(Probe::Rows).precision()),
                    signed(gain),
                    "15–30 %".into(),
                    match gain {
                        gain if gain >= HOPED.0 => "yes",
                        _ => "no",
                    }
                    .into(),
                ]);
            }
        }
        let notes = vec![
            "Precision: of all answers that a record is in a half, the share that is right, for Sharma's probes. \
             Each record is rightly found once, so it is 1 / (1 + rate)."
                .into(),
        ];
        Table { caption: "Precision".into(), columns, rows, notes }
    }

    /// What holds of Sharma's hope, in words.
    pub fn verdict(&self) -> Vec<String> {
        let gains = |subject: Subject, memory: Memory| -> (f64, f64, usize) {
            let gains: Vec<f64> = self.sets.iter().map(|set| set.gain(subject, memory)).collect();
            let low = gains.iter().copied().fold(f64::INFINITY, f64::min);
            let high = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (low, high, gains.iter().filter(|&&gain| gain >= HOPED.0).count())
        };
        let sets = self.sets.len();
        let mut lines = Vec::new();
        let fpr = self.choice.fpr;
        let most = fpr / (1.0 + fpr);
        for (subject, memory, why) in [
            (
                Subject::Whole,
                Memory::Layer,
                format!(
                    "A classic filter of whole records at {fpr} is right in at least {:.1} % of its answers: no filter can \
                     gain more than {} on it. The multi-layer filter has several times its memory.",
                    100.0 / (1.0 + fpr),
                    signed(most / (1.0 - most))
                ),
            ),
            (
                Subject::Whole,
                Memory::Total,
                "With the same memory in all, the classic filter of whole records has more bits and hashes for each record: \
                 nothing is left to gain."
                    .into(),
            ),
            (
                Subject::Keywords,
                Memory::Layer,
                "A classic filter of single keywords finds every record whose keywords occur in the half at all. What is \
                 gained on it is gained by looking at the record as a whole, and the more so the more the records share \
                 their keywords."
                    .into(),
            ),
            (
                Subject::Keywords,
                Memory::Total,
                "More memory does not help a filter of single keywords where the keywords really are in the half.".into(),
            ),
        ] {
            let (low, high, held) = gains(subject, memory);
            lines.push(format!(
                "Against {} with the {}: {} to {}; the hoped-for 15–30 % (or more) holds for {held} of {sets} data sets. {why}",
                subject.name(),
                memory.name(),
                signed(low),
                signed(high)
            ));
        }
        let worse_in = |probe: Probe| {
            let worse = |set: &&Measured| {
                set.layered(probe).rate() > set.count(Subject::Whole, Memory::Total, probe).rate()
            };
            self.sets.iter().filter(worse).count()
        };
        lines.push(format!(
            "With equal memory in all, the multi-layer filter errs more often than the classic filter of whole records for \
             the rows in {} of {sets} data sets, for recombined records in {}, for members in another order in {}: there the \
             XOR layer, a filter of one layer's bits, decides alone, or cannot tell.",
            worse_in(Probe::Rows),
            worse_in(Probe::Recombined),
            worse_in(Probe::Reordered)
        ));
        lines
    }

    /// What was found, in every form.
    pub fn findings(&self) -> Findings {
        Findings {
            name: "layers",
            tables: vec![self.rates(), self.gains()],
            remarks: vec![self.verdict().join("\n")],
            page: self.page(),
            csv: self.csv(),
            more: Vec::new(),
            json: self.json(),
            holds: true,
        }
    }

    /// All counts, one line for each data set, filter and probe.
    fn csv(&self) -> Csv<'static> {
        let columns = [
            "data_set",
            "unique_records",
            "keywords_each",
            "different_keywords",
            "layers",
            "layer_bits",
            "filter",
            "memory",
            "bits",
            "hashes",
            "probe",
            "probes",
            "false_positives",
            "rate",
            "rate_low",
            "rate_high",
            "expected_rate",
            "precision",
        ];
        let mut rows = Vec::new();
        for set in &self.sets {
            for (subject, memory) in SUBJECTS {
                for probe in Probe::ALL {
                    let count = set.count(subject, memory, probe);
                    let (low, high) = count.interval();
                    let expected = count.expected.filter(|_| count.probes > 0);
                    rows.push(cells![
                        set.name.clone(),
                        set.records,
                        set.mean,
                        set.vocabulary,
                        set.shape.layers(),
                        set.shape.slots(),
                        subject.name(),
                        memory.name(),
                        count.bits,
                        count.hashes,
                        probe.name(),
                        count.probes,
                        count.hits,
                        count.rate(),
                        low,
                        high,
                        expected.map(|sum| sum / count.probes as f64),
                        (probe == Probe::Rows).then(|| count.precision()),
                    ]);
                }
            }
        }
        Csv::new(columns, rows)
    }

    /// The same as JSON.
    fn json(&self) -> Value {
        let count = |set: &Measured, subject: Subject, memory: Memory, probe: Probe| {
            let count = set.count(subject, memory, probe);
            json!({
                "filter": subject.name(), "memory": memory.name(), "bits": count.bits, "hashes": count.hashes,
                "probe": probe.name(), "probes": count.probes, "false_positives": count.hits, "fpr": count.rate(),
                "expected_false_positives": count.expected,
            })
        };
        let set = |set: &Measured| {
            let filters = SUBJECTS
                .into_iter()
                .flat_map(|(subject, memory)| Probe::ALL.map(|probe| count(set, subject, memory, probe)));
            json!({
                "data_set": set.name, "unique_records": set.records, "left_out": set.skipped,
                "keywords_each": set.mean, "different_keywords": set.vocabulary, "layers": set.shape.layers(),
                "layer_bits": set.shape.slots(), "hashes": set.shape.hashes(), "measured": filters.collect::<Vec<_>>(),
            })
        };
        json!({ "fpr": self.choice.fpr, "data_sets": self.sets.iter().map(set).collect::<Vec<_>>(), "verdict": self.verdict() })
    }

    /// All of it as a page.
    pub fn page(&self) -> Page {
        let mut figures = vec![Figure::new("data sets", self.sets.len().to_string())];
        for (subject, memory) in [(Subject::Whole, Memory::Layer), (Subject::Whole, Memory::Total)] {
            let best =
                self.sets.iter().map(|set| set.gain(subject, memory)).fold(f64::NEG_INFINITY, f64::max);
            figures.push(
                Figure::new("best gain in precision", signed(best))
                    .note(format!("against whole records, {}; hoped for: 15–30 %", memory.name())),
            );
        }
        let sections = vec![
            Section::Figures(figures),
            Section::Text(self.verdict().join("\n\n")),
            Section::Charts(self.charts()),
            Section::Table(self.gains()),
            Section::Table(self.rates()),
            Section::Table(self.formulas()),
            Section::Table(self.data()),
        ];
        Page {
            title: "Classic and multi-layer filters of records, measured".into(),
            subtitle: "Sharma's detection of false positives (Searching in large dataset using multi-layered Bloom filter): halves B and C, and other probes".into(),
            sections,
        }
    }

    fn charts(&self) -> Vec<Chart> {
        let mut charts = Vec::new();
        for set in &self.sets {
            let bars = |(subject, memory): (Subject, Memory)| {
                Mark::bars(
                    title(subject, memory),
                    Probe::ALL.map(|probe| set.count(subject, memory, probe).rate()),
                )
            };
            charts.push(Chart {
                title: set.name.clone(),
                x: Axis::categories("probes", Probe::ALL.map(|probe| probe.name().to_owned()).to_vec()),
                y: Axis::log("rate of false positives", Format::Plain),
                marks: SUBJECTS.into_iter().map(bars).collect(),
            });
        }
        for (title, pick) in [
            ("Rate by the number of layers: rows", 0),
            ("Rate by the number of layers: recombined records", 1),
        ] {
            let line = |set: &Measured| {
                let of = |(_, rows, recombined): &(u32, Count, Count)| [rows.rate(), recombined.rate()][pick];
                let points: Vec<(f64, f64)> =
                    set.by_layers.iter().map(|each| (f64::from(each.0), of(each))).collect();
                Mark::line(set.name.clone(), points)
            };
            charts.push(Chart {
                title: title.into(),
                x: Axis::linear("layers (each with the same bits)", Format::Count),
                y: Axis::log("rate of false positives", Format::Plain),
                marks: self.sets.iter().map(line).collect(),
            });
        }
        charts
    }
}
