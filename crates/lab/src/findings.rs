//! What an experiment found, in every form in which it is shown: one type for all experiments.

use serde_json::Value;
use tamis_report::{Csv, Page, Table};

/// What an experiment found.
pub struct Findings {
    /// The name of the experiment, as `reproduce` takes it.
    pub name: &'static str,
    /// The tables that matter most; the page may have more.
    pub tables: Vec<Table>,
    /// What is to be said of them.
    pub remarks: Vec<String>,
    /// All of it, with charts.
    pub page: Page,
    /// One line for each measurement.
    pub csv: Csv<'static>,
    /// Measurements of another form, each with what the name of its file ends in.
    pub more: Vec<(&'static str, Csv<'static>)>,
    /// All of it for programs.
    pub json: Value,
    /// Whether all that must hold did.
    pub holds: bool,
}

impl Findings {
    /// For the terminal.
    pub fn text(&self) -> String {
        let tables = self.tables.iter().map(Table::text);
        let remarks = self.remarks.iter().map(|remark| remark.clone() + "\n");
        tables.chain(remarks).collect::<Vec<_>>().join("\n")
    }

    /// For a document: a section, in which every table says by which command, where and when it was measured.
    pub fn markdown(&self, command: &str, seen: &str) -> String {
        let mut out = format!("## {}\n\n{}.\n", self.page.title, self.page.subtitle);
        for table in &self.tables {
            out += &format!("\n{}\n`{command}`; {seen}.\n", table.markdown());
        }
        for remark in &self.remarks {
            out += &format!("\n{remark}\n");
        }
        out
    }
}
