//! How a job understands its inputs, as tables and as JSON.

use serde_json::{Value, json};
use tamis::key::{Recipe, TextRule, keywords_of};
use tamis::params::Name;
use tamis_jobs::explain::{Around, Explanation, Made, Row};
use tamis_make::build::Job;
use tamis_make::text::printable;
use tamis_make::{number, rows};
use tamis_read::refusal::Voice;
use tamis_read::{Error, Explained, Format, Quotes};

use crate::inspect::{key_json, key_text};
use crate::{Column, Table};

/// What a format is called here: of the one without columns, what its lines are.
fn format(format: Format) -> &'static str {
    match format {
        Format::Lines => "one key per line",
        format => format.name(),
    }
}

/// What an input is called here.
fn format_of(input: &Explained) -> &'static str {
    match input.document {
        None => format(input.format),
        Some(TextRule::Html) => "one record, HTML",
        Some(TextRule::Markdown) => "one record, Markdown",
        Some(TextRule::Text | TextRule::ByName) => "one record, plain text",
    }
}

/// The keys that are made of a row, for people.
fn keys_text(recipe: &Recipe, key: &[u8]) -> String {
    const SHOWN: usize = 12;
    if !recipe.has_key_each() {
        return key_text(recipe, key);
    }
    let words: Vec<String> = keywords_of(key).take(SHOWN).map(printable).collect();
    let more = keywords_of(key).count() - words.len();
    let all = words.join(" | ");
    if more > 0 { format!("{all} and {} more", number::count(more as u64)) } else { all }
}

/// What each input was taken for.
pub fn inputs_table(inputs: &[Explained]) -> Table {
    let columns = ["input", "format", "compression", "delimiter", "quotes", "header", "columns"]
        .map(Column::left)
        .to_vec();
    let row = |input: &Explained| {
        let by_look = if input.delimiter_by_look { ", detected" } else { "" };
        vec![
            input.path.display().to_string(),
            format_of(input).into(),
            input.compression.unwrap_or("-").into(),
            input.delimiter.map_or("-".into(), |delimiter| format!("{delimiter}{by_look}")),
            input.quotes.map_or("-", Quotes::name).into(),
            if input.header { "yes" } else { "no" }.into(),
            input.columns.join(", "),
        ]
    };
    Table { columns, rows: inputs.iter().map(row).collect(), ..Table::default() }
}

/// The rows around the one that would stop the job.
pub fn around_table(found: &Explanation) -> Table {
    let bad = match &found.fault {
        Some(Error::Row { line, .. }) => *line,
        Some(Error::FileRow { row, .. }) => *row,
        _ => 0,
    };
    let row = |number: &u64, text: String| {
        let mark = if *number == bad { "→" } else { "" };
        vec![mark.to_owned(), number.to_string(), text]
    };
    let numbered =
        |number: &str, text: &str| vec![Column::left(""), Column::right(number), Column::left(text)];
    let (columns, rows) = match &found.around {
        Around::Lines(lines) => (
            numbered("line", "as it stands there"),
            lines.iter().map(|(line, text)| row(line, printable(text))).collect(),
        ),
        Around::Rows(rows) => {
            (numbered("row", "values"), rows.iter().map(|(at, text)| row(at, text.clone())).collect())
        }
        Around::Before(rows) => (
            vec![Column::left("values of the last rows that were read")],
            rows.iter().map(|text| vec![text.clone()]).collect(),
        ),
    };
    Table { columns, rows, ..Table::default() }
}

/// The values of the asked columns as they stand there, and what is made of them.
pub fn rows_table(job: &Job, rows: &[Row]) -> Table {
    let recipe = &job.recipe;
    let mut columns: Vec<Column> =
        recipe.columns().iter().map(|column| Column::left(column.to_string())).collect();
    let width = columns.len();
    columns.push(Column::left("→ key"));
    if recipe.group.is_some() {
        columns.push(Column::left("→ group"));
    }
    if recipe.weight.is_some() {
        columns.push(Column::right("→ weight"));
    }
    let row = |row: &Row| {
        let mut cells: Vec<String> = row.values.iter().map(|value| rows::show(value.as_deref())).collect();
        cells.resize(width, String::new());
        match &row.made {
            Ok(Made { group, key, weight }) => {
                cells.push(keys_text(recipe, key));
                cells.extend(recipe.group.is_some().then(|| printable(group)));
                cells.extend(weight.map(|weight| weight.to_string()));
            }
            Err(why) => cells.push(format!("none: {why}")),
        }
        cells
    };
    Table { columns, rows: rows.iter().map(row).collect(), ..Table::default() }
}

/// For programs.
pub fn json(job: &Job, found: &Explanation, voice: &dyn Voice) -> Value {
    let input = |input: &Explained| {
        json!({
            "path": input.path, "format": format_of(input), "compression": input.compression,
            "delimiter": input.delimiter.map(|delimiter| match delimiter.byte() {
                Some(byte) => char::from(byte).to_string(),
                None => delimiter.to_string(),
            }),
            "quotes": input.quotes.map(Quotes::name),
            "delimiter_by_look": input.delimiter_by_look,
            "header": input.header, "columns": input.columns,
        })
    };
    let bytes = |bytes: &[u8]| Name(bytes.to_vec());
    let row = |row: &Row| {
        let values: Vec<Option<Name>> = row.values.iter().map(|value| value.as_deref().map(bytes)).collect();
        match &row.made {
            Ok(Made { group, key, weight }) => {
                let mut made = match job.recipe.has_key_each() {
                    true => {
                        json!({ "values": values, "keys": keywords_of(key).map(bytes).collect::<Vec<_>>() })
                    }
                    false if job.recipe.keys_have_parts() => json!({ "values": values, "key": bytes(key) }),
                    false => json!({ "values": values, "key": key_json(&job.recipe, key) }),
                };
                if job.recipe.group.is_some() {
                    made["group"] = json!(bytes(group));
                }
                if let Some(weight) = weight {
                    made["weight"] = json!(weight);
                }
                made
            }
            Err(why) => json!({ "values": values, "bad": why }),
        }
    };
    json!({
        "inputs": found.inputs.iter().map(input).collect::<Vec<_>>(),
        "recipe": job.recipe,
        "first_rows": found.rows.iter().map(row).collect::<Vec<_>>(),
        "around": match &found.around {
            Around::Lines(lines) => {
                lines.iter().map(|(line, text)| json!({ "line": line, "text": bytes(text) })).collect::<Vec<_>>()
            }
            Around::Rows(rows) => rows.iter().map(|(row, text)| json!({ "row": row, "values": text })).collect(),
            Around::Before(rows) => rows.iter().map(|text| json!({ "values": text })).collect(),
        },
        "error": found.fault.as_ref().map(|fault| fault.said(voice)),
    })
}
