//! What was done, fact by fact: a table of names and values.

use std::time::Duration;

use tamis_make::number;

use crate::{Column, Table};

/// Facts in their order.
#[derive(Debug, Default)]
pub(crate) struct Facts(Vec<Vec<String>>);

impl Facts {
    /// One more.
    pub fn push(&mut self, what: impl Into<String>, how_much: impl Into<String>) {
        self.0.push(vec![what.into(), how_much.into()]);
    }

    /// How long each phase took.
    pub fn phases(&mut self, phases: &[(&'static str, Duration)]) {
        for (name, time) in phases {
            self.push(format!("time to {name}"), number::duration(*time));
        }
    }

    /// All of them, with what should be known of them.
    pub fn table(self, notes: Vec<String>) -> Table {
        let columns = vec![Column::left("what"), Column::right("how much")];
        Table { columns, rows: self.0, notes, ..Table::default() }
    }
}
