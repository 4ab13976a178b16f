//! Bloom filters inside Parquet files, as tables and as JSON.

use serde_json::{Value, json};
use tamis_jobs::parquet::check::{Asked, File};
use tamis_jobs::parquet::index::{Made, Report as Indexed};
use tamis_jobs::parquet::inspect::{Distinct, Inspected, Report as Inspection, Worth};
use tamis_jobs::parquet::sized::Count;
use tamis_jobs::statistics::wilson;
use tamis_make::number::{self, Rates};

use crate::{Column, Table};

/// The filters that were made: a line per column.
pub fn indexed(report: &Indexed) -> Table {
    let of_columns = || report.filters.chunk_by(|one, next| one.column == next.column);
    let highest = |some: &[Made]| some.iter().map(|made| made.rate).fold(0.0, f64::max);
    let rates = Rates::of(of_columns().map(highest));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for some in of_columns() {
        let values: u64 = some.iter().map(|made| made.values.number()).sum();
        let about = some.iter().any(|made| matches!(made.values, Count::Estimated(_)));
        let bytes: u64 = some.iter().map(|made| made.bytes).sum();
        rows.push(vec![
            some[0].column.clone(),
            number::count(some.len() as u64),
            if about { estimated(values) } else { number::count(values) },
            number::bytes(bytes),
            rates.text(highest(some)),
            number::count(some.iter().filter(|made| made.replaces).count() as u64),
        ]);
    }
    let columns = vec![
        Column::left("column"),
        Column::right("filters"),
        Column::right("distinct values"),
        Column::right("bytes"),
        Column::right("highest rate"),
        Column::right("replaced"),
    ];
    Table { columns, rows, ..Table::default() }
}

/// The same for programs.
pub fn indexed_json(report: &Indexed) -> Value {
    let of = |made: &Made| {
        json!({
            "column": made.column, "row_group": made.group, "distinct": made.values.number(),
            "distinct_estimated": matches!(made.values, Count::Estimated(_)), "bytes": made.bytes,
            "rate": made.rate, "by_dictionary": made.by_dictionary, "replaced": made.replaces,
        })
    };
    json!({
        "bytes_before": report.bytes.0, "bytes": report.bytes.1, "unused_bytes": report.unused,
        "filters": report.filters.iter().map(of).collect::<Vec<_>>(),
    })
}

/// What is in files, per row group and column.
pub fn inspected(files: &[Inspection]) -> Table {
    let several = files.len() > 1;
    let mut columns = vec![
        Column::right("row group"),
        Column::left("column"),
        Column::left("type"),
        Column::right("rows"),
        Column::right("distinct"),
        Column::right("filter"),
        Column::right("fill"),
        Column::right("rate now"),
        Column::left("is a filter worth it?"),
    ];
    if several {
        columns.insert(0, Column::left("file"));
    }
    let all = files.iter().flat_map(|file| &file.chunks);
    let rates = Rates::of(all.filter_map(|chunk| chunk.filter).map(|filter| filter.rate));
    let row = |file: &Inspection, chunk: &Inspected| {
        let mut row = vec![
            chunk.group.to_string(),
            chunk.column.clone(),
            chunk.type_name.to_owned(),
            number::count(chunk.rows),
            distinct(chunk.distinct),
            chunk.filter.map_or("none".into(), |filter| number::bytes(filter.bytes)),
            chunk.filter.map_or(String::new(), |filter| number::percent(filter.fill)),
            chunk.filter.map_or(String::new(), |filter| rates.text(filter.rate)),
            worth(chunk),
        ];
        if several {
            row.insert(0, file.path.display().to_string());
        }
        row
    };
    let rows = files.iter().flat_map(|file| file.chunks.iter().map(move |chunk| row(file, chunk))).collect();
    Table { columns, rows, ..Table::default() }
}

fn estimated(values: u64) -> String {
    format!("≈ {}", number::count(values))
}

fn distinct(distinct: Option<Distinct>) -> String {
    match distinct {
        Some(Distinct::Dictionary(values) | Distinct::Said(values)) => number::count(values),
        Some(Distinct::Estimated(values)) => estimated(values.round() as u64),
        None => String::new(),
    }
}

/// Whether a filter is worth its bytes, in words.
fn worth(chunk: &Inspected) -> String {
    match chunk.worth {
        Worth::Empty => "no: there are no values".into(),
        Worth::Boolean => "no: truth values have no filters".into(),
        Worth::TooFull => "no: it is too full, index it again".into(),
        Worth::OneValue => "no: statistics answer, there is one value".into(),
        Worth::Ranges => "little: statistics answer, its ranges are narrow".into(),
        Worth::Dictionary => "little: its dictionary answers exactly".into(),
        Worth::Yes => "yes".into(),
        Worth::Missing => "yes, and it has none".into(),
    }
}

/// The word for it in JSON.
fn worth_name(worth: Worth) -> &'static str {
    match worth {
        Worth::Empty => "empty",
        Worth::Boolean => "boolean",
        Worth::TooFull => "too-full",
        Worth::OneValue => "one-value",
        Worth::Ranges => "ranges",
        Worth::Dictionary => "dictionary",
        Worth::Yes => "yes",
        Worth::Missing => "missing",
    }
}

/// The same for programs.
pub fn inspected_json(files: &[Inspection]) -> Value {
    let of_chunk = |chunk: &Inspected| {
        let (values, known) = match chunk.distinct {
            Some(Distinct::Dictionary(values)) => (json!(values), Some("dictionary")),
            Some(Distinct::Said(values)) => (json!(values), Some("statistics")),
            Some(Distinct::Estimated(values)) => (json!(values), Some("filter")),
            None => (Value::Null, None),
        };
        let filter = chunk.filter.map(|filter| {
            json!({
                "bytes": filter.bytes, "fill": filter.fill, "rate": filter.rate,
                "estimated_distinct": filter.values,
            })
        });
        json!({
            "row_group": chunk.group, "column": chunk.column, "type": chunk.type_name, "rows": chunk.rows,
            "nulls": chunk.nulls, "bytes": chunk.bytes, "filter": filter, "distinct": values,
            "distinct_by": known, "worth": worth_name(chunk.worth), "words": worth(chunk),
        })
    };
    let of_file = |file: &Inspection| {
        json!({
            "path": file.path, "bytes": file.bytes, "row_groups": file.row_groups,
            "chunks": file.chunks.iter().map(of_chunk).collect::<Vec<_>>(),
        })
    };
    json!({ "files": files.iter().map(of_file).collect::<Vec<_>>() })
}

/// What was seen of filters, added up.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    groups: u64,
    filters: u64,
    values: u64,
    missing: u64,
    probes: u64,
    hits: u64,
    /// Probes that may be expected to be found.
    expected: f64,
}

impl Sum {
    fn of<'f>(files: impl IntoIterator<Item = &'f File>) -> Sum {
        let mut sum = Sum::default();
        for group in files.into_iter().flat_map(|file| &file.groups) {
            sum.groups += 1;
            let Some(asked) = &group.filter else { continue };
            sum.filters += 1;
            sum.values += asked.values;
            sum.missing += asked.missing;
            sum.probes += asked.probes;
            sum.hits += asked.hits;
            sum.expected += asked.expected * asked.probes as f64;
        }
        sum
    }

    fn rate(&self) -> Option<(f64, (f64, f64))> {
        (self.probes > 0).then(|| (self.hits as f64 / self.probes as f64, wilson(self.hits, self.probes)))
    }

    fn expected(&self) -> Option<f64> {
        (self.probes > 0).then(|| self.expected / self.probes as f64)
    }
}

/// How filters did, a line per file, and all of them.
pub fn checked(files: &[File]) -> Table {
    let columns = vec![
        Column::left("file"),
        Column::right("row groups"),
        Column::right("with a filter"),
        Column::right("values"),
        Column::right("not found"),
        Column::right("absent values asked"),
        Column::right("found"),
        Column::right("rate"),
        Column::right("95 % interval"),
        Column::right("rate by the bits"),
    ];
    let mut sums: Vec<_> =
        files.iter().map(|file| (file.path.display().to_string(), Sum::of([file]))).collect();
    if files.len() > 1 {
        sums.push(("(all)".into(), Sum::of(files)));
    }
    // The lower end of an interval may be far below all rates, and tells nothing then.
    let rates = Rates::of(sums.iter().flat_map(|(_, sum)| {
        sum.rate().into_iter().flat_map(|(rate, (_, high))| [rate, high]).chain(sum.expected())
    }));
    let row = |(name, sum): (String, Sum)| {
        let (measured, expected) = (sum.rate(), sum.expected());
        let (rate, interval) = measured.map_or((String::new(), String::new()), |(rate, interval)| {
            (rates.text(rate), rates.interval(interval))
        });
        vec![
            name,
            number::count(sum.groups),
            number::count(sum.filters),
            number::count(sum.values),
            number::count(sum.missing),
            number::count(sum.probes),
            number::count(sum.hits),
            rate,
            interval,
            expected.map_or(String::new(), |rate| rates.text(rate)),
        ]
    };
    Table { columns, rows: sums.into_iter().map(row).collect(), ..Table::default() }
}

/// The same for programs.
pub fn checked_json(column: &str, files: &[File]) -> Value {
    let of_filter = |asked: &Asked| {
        let (low, high) = wilson(asked.hits, asked.probes);
        json!({
            "bytes": asked.bytes, "values": asked.values, "distinct": asked.distinct, "missing": asked.missing,
            "first_missing": asked.first_missing, "probes": asked.probes, "hits": asked.hits,
            "rate_low": low, "rate_high": high, "expected_rate": asked.expected,
        })
    };
    let of_file = |file: &File| {
        let groups: Vec<_> = file
            .groups
            .iter()
            .map(|group| {
                let filter = group.filter.as_ref().map(of_filter);
                json!({ "row_group": group.group, "rows": group.rows, "filter": filter })
            })
            .collect();
        json!({ "path": file.path, "row_groups": groups })
    };
    let sum = Sum::of(files);
    let (rate, interval) = sum.rate().unzip();
    json!({
        "column": column, "row_groups": sum.groups, "filters": sum.filters, "without_filter": sum.groups - sum.filters,
        "values": sum.values, "missing": sum.missing, "probes": sum.probes, "hits": sum.hits, "rate": rate,
        "rate_low": interval.map(|(low, _)| low), "rate_high": interval.map(|(_, high)| high),
        "expected_rate": sum.expected(), "files": files.iter().map(of_file).collect::<Vec<_>>(),
    })
}
