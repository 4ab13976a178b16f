//! Makes a page as the test of ten Bloom filters has it, the same charts as files, and a chart for
//! the terminal.
//!
//! `cargo run -p tamis-engine --example report_sample -- FOLDER` writes `report.html`, one SVG file,
//! and the same page for 200 and for 10,000 groups.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use tamis_engine::report::{
    Axis, Chart, Column, Figure, Format, Kind, Mark, Page, Section, Table, number, plot,
};

/// Keys of each group: titles by their rating, from 1 to 10.
const KEYS: [u64; 10] = [2484, 7699, 17035, 50907, 96854, 253_265, 349_453, 370_225, 95158, 17737];
const TARGET: f64 = 0.01;

/// What the test of one filter found.
struct Group {
    name: String,
    keys: u64,
    bits: u64,
    hashes: u32,
    negatives: u64,
    false_positives: u64,
}

impl Group {
    fn bits_per_key(&self) -> f64 {
        self.bits as f64 / self.keys as f64
    }

    fn fill(&self) -> f64 {
        1.0 - (-f64::from(self.hashes) / self.bits_per_key()).exp()
    }

    fn expected(&self) -> f64 {
        self.fill().powi(self.hashes as i32)
    }

    fn measured(&self) -> f64 {
        self.false_positives as f64 / self.negatives as f64
    }

    /// Where the rate lies with 95 % confidence (Wilson's interval).
    fn interval(&self) -> (f64, f64) {
        let (z, n, p) = (1.96f64, self.negatives as f64, self.measured());
        let middle = p + z * z / (2.0 * n);
        let reach = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        let whole = 1.0 + z * z / n;
        ((middle - reach) / whole, (middle + reach) / whole)
    }
}

/// Invented, but as a test would find it: near the expected rate, by a little noise.
fn groups(keys: impl Iterator<Item = u64>, all: u64) -> Vec<Group> {
    let mut noise = 1u64;
    keys.enumerate()
        .map(|(i, keys)| {
            let bits = (-(keys as f64) * TARGET.ln() / 2f64.ln().powi(2)).round() as u64;
            let negatives = all - keys;
            let mut group =
                Group { name: (i + 1).to_string(), keys, bits, hashes: 7, negatives, false_positives: 0 };
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let shift = (noise >> 40) as f64 / (1u64 << 24) as f64 - 0.5;
            let expected = group.expected() * negatives as f64;
            group.false_positives = (expected + 4.0 * shift * expected.sqrt()) as u64;
            group
        })
        .collect()
}

fn table(groups: &[Group]) -> Table {
    let mut columns = vec![Column::left("group")];
    columns.extend(
        [
            "keys",
            "bits",
            "k",
            "bits/key",
            "expected rate",
            "false positives",
            "negatives",
            "measured rate",
            "95 % interval",
            "false negatives",
        ]
        .map(Column::right),
    );
    let rates = number::rates(&groups.iter().map(Group::measured).collect::<Vec<_>>());
    let row = |(group, rate): (&Group, String)| {
        let (low, high) = group.interval();
        vec![
            group.name.clone(),
            number::count(group.keys),
            number::count(group.bits),
            group.hashes.to_string(),
            format!("{:.3}", group.bits_per_key()),
            number::rate(group.expected()),
            number::count(group.false_positives),
            number::count(group.negatives),
            rate,
            number::interval(low, high),
            "0".to_owned(),
        ]
    };
    Table {
        caption: "Every group's filter, asked for the keys of all other groups".into(),
        columns,
        rows: groups.iter().zip(rates).map(row).collect(),
        notes: vec!["Measured rate: false positives by negatives; interval after Wilson.".into()],
    }
}

fn charts(groups: &[Group]) -> Vec<Chart> {
    let names = || Axis::categories("group", groups.iter().map(|group| group.name.clone()).collect());
    let whisker = |(i, group): (usize, &Group)| {
        let (low, high) = group.interval();
        (i as f64, low, group.measured(), high)
    };
    let phases = ["read", "size", "build", "test", "write"].map(str::to_owned).to_vec();
    vec![
        Chart {
            title: "Measured rate of false positives".into(),
            x: names(),
            y: Axis::linear("rate, with 95 % interval", Format::Plain),
            marks: vec![
                Mark::Whiskers {
                    name: "measured".into(),
                    points: groups.iter().enumerate().map(whisker).collect(),
                },
                Mark::rule("target", TARGET),
            ],
        },
        Chart {
            title: "Keys per group".into(),
            x: names(),
            y: Axis::linear("keys", Format::Count),
            marks: vec![Mark::bars("keys", groups.iter().map(|group| group.keys as f64))],
        },
        Chart {
            title: "Fill of each filter".into(),
            x: names(),
            y: Axis::linear("bits that are 1", Format::Percent),
            marks: vec![Mark::bars("fill", groups.iter().map(Group::fill)), Mark::rule("best: half", 0.5)],
        },
        Chart {
            title: "Time per phase".into(),
            x: Axis::categories("", phases),
            y: Axis::linear("time", Format::Seconds),
            marks: vec![Mark::bars("time", [0.024, 0.0031, 0.0478, 0.182, 0.0064])],
        },
        plan(),
    ]
}

/// The rate by the number of hash functions, for 8 bits per key: what a plan is chosen from.
fn plan() -> Chart {
    let rate = |k: u32| (1.0 - (-f64::from(k) / 8.0).exp()).powi(k as i32);
    Chart {
        title: "Rate by number of hash functions, 8 bits per key".into(),
        x: Axis::linear("hash functions (k)", Format::Count),
        y: Axis::log("rate of false positives", Format::Plain),
        marks: vec![
            Mark::line("expected", (1..=20).map(|k| (f64::from(k), rate(k)))),
            Mark::Highlight { x: 6.0, y: rate(6), label: format!("best: k = 6, {}", number::rate(rate(6))) },
        ],
    }
}

fn page(groups: &[Group]) -> Page {
    let keys: u64 = groups.iter().map(|group| group.keys).sum();
    let false_positives: u64 = groups.iter().map(|group| group.false_positives).sum();
    let negatives: u64 = groups.iter().map(|group| group.negatives).sum();
    let overall = false_positives as f64 / negatives as f64;
    Page {
        title: "Test of ratings.tamis".into(),
        subtitle: "Bloom filters, one per rounded rating, against title.ratings.tsv".into(),
        sections: vec![
            Section::Figures(vec![
                Figure::new("keys", number::count(keys)),
                Figure::new("groups", number::count(groups.len() as u64)),
                Figure::new("false negatives", "0").note("there can be none"),
                Figure::new("false positives", number::count(false_positives))
                    .note(format!("of {} negatives", number::count(negatives))),
                Figure::new("overall rate", number::rate(overall)).note(format!("target {TARGET}")),
                Figure::new("verdict", "as designed").note("all within 5 % of the target"),
            ]),
            Section::Text(
                "Each row was asked of every filter but its own: what a filter lets pass then is a \
                 false positive. Each row was also asked of its own filter, which must let it pass."
                    .into(),
            ),
            Section::Note(
                Kind::Info,
                "the intervals cover what chance alone does, 19 times out of 20.".into(),
            ),
            Section::Heading("Groups".into()),
            Section::Table(table(groups)),
            Section::Heading("Charts".into()),
            Section::Charts(charts(groups)),
            Section::Note(Kind::Warning, "group 3 is 2 % fuller than it was planned to be.".into()),
            Section::Note(Kind::Error, "the checksum of group <3> does not match; build it again.".into()),
        ],
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("give a folder to write to")?);
    fs::create_dir_all(&folder)?;
    let ten = groups(KEYS.into_iter(), KEYS.iter().sum());
    fs::write(folder.join("report.html"), page(&ten).html())?;
    fs::write(folder.join("plan.svg"), plan().standalone_svg())?;
    for n in [200u64, 10_000] {
        let keys = (1..=n).map(|i| 1 + 400_000 / i);
        let mut many = groups(keys.clone(), keys.sum());
        many.iter_mut().for_each(|group| group.name = format!("tenant-{:05}", group.keys));
        fs::write(folder.join(format!("report-{n}.html")), page(&many).html())?;
    }
    print!("{}\n{}\n", table(&ten).text(), plot(&plan(), 72, 18));
    for chart in charts(&ten).iter().take(2) {
        println!("{}", plot(chart, 72, 18));
    }
    Ok(())
}
