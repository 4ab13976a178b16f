//! What was done, as a table and as JSON.

use serde_json::{Value, json};

use super::{Batch, Judged, Report, Status};
use crate::calendar;
use crate::report::{Column, Table, number};

impl Report {
    /// Rows and queries per second.
    fn speed(&self) -> f64 {
        let Status { rows, queries, removed, missing, .. } = self.status;
        (rows + queries + removed + missing) as f64 / self.time.as_secs_f64().max(1e-9)
    }

    /// For people.
    pub fn table(&self) -> Table {
        let Status { rows: trained, queries, distinct, answers, batches, commits, .. } = self.status;
        let mut rows = Vec::new();
        let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
        row("rows trained", number::count(trained));
        if self.status.removed + self.status.missing > 0 {
            row("rows removed", number::count(self.status.removed));
            row("rows to be removed that were not there", number::count(self.status.missing));
        }
        row("queries", number::count(queries));
        row("distinct in their batches", number::count(distinct));
        row("answered", number::count(answers));
        row("batches", number::count(batches));
        if self.status.replayed > 0 {
            row("of them run again", number::count(self.status.replayed));
        }
        row("commits", number::count(commits));
        if self.status.enlarged > 0 {
            row("filters made larger", number::count(self.status.enlarged));
        }
        if let Some(window) = &self.status.window {
            row("live panes with rows", format!("{} of {}", window.panes, window.most));
            if let (Some(begin), Some(newest)) = (window.begin, window.newest) {
                row("window", format!("{} to {}", calendar::stamp(begin), calendar::stamp(newest)));
            }
            if let Some(Judged { late, expired, ahead }) = window.judged {
                row(if window.takes_late { "late, taken" } else { "late, left out" }, number::count(late));
                row("expired, left out", number::count(expired));
                row("ahead, left out", number::count(ahead));
            }
        }
        if let Some(fill) = self.status.fill {
            if !fill.rate.is_nan() {
                row("keys, estimated", number::count(fill.keys.round() as u64));
                row("rate now", number::rate(fill.rate));
            }
            row("fill", format!("{:.1} %", 100.0 * fill.fill));
            row("in", number::bytes(fill.bytes));
        }
        row("time", number::duration(self.time));
        row("rows and queries per second", number::count(self.speed() as u64));
        let columns = vec![Column::left("what"), Column::right("how much")];
        Table { columns, rows, ..Table::default() }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let mut value = status_json(&self.status);
        value["seconds"] = self.time.as_secs_f64().into();
        value["per_second"] = self.speed().into();
        value["resumed"] = self.resumed.into();
        value["stopped"] = self.stopped.into();
        value["counters_full"] = self.counters_full.into();
        value
    }
}

fn status_json(status: &Status) -> Value {
    let fill = status.fill;
    json!({
        "batch": status.batch, "batches": status.batches, "replayed": status.replayed,
        "rows": status.rows, "queries": status.queries, "distinct": status.distinct,
        "removed": status.removed, "missing": status.missing,
        "answers": status.answers, "skipped": status.skipped, "commits": status.commits,
        "enlarged": status.enlarged,
        "keys": fill.map(|fill| fill.keys), "rate": fill.map(|fill| fill.rate),
        "fill": fill.map(|fill| fill.fill), "bytes": fill.map(|fill| fill.bytes),
        "groups": fill.map(|fill| fill.groups), "overfull": fill.map(|fill| fill.overfull),
        "lag": { "train": status.train_lag, "query": status.query_lag, "remove": status.remove_lag },
        "window": window_json(status),
    })
}

fn window_json(status: &Status) -> Option<Value> {
    let window = status.window?;
    let judged = window.judged;
    Some(json!({
        "seconds": window.length.as_secs_f64(), "slide_seconds": window.slide.as_secs_f64(),
        "panes": window.panes, "most_panes": window.most,
        "begin": window.begin.map(calendar::stamp), "newest": window.newest.map(calendar::stamp),
        "late": judged.map(|judged| judged.late), "late_taken": judged.map(|_| window.takes_late),
        "expired": judged.map(|judged| judged.expired), "ahead": judged.map(|judged| judged.ahead),
    }))
}

impl Batch {
    /// One line of a log.
    pub fn json(&self, status: &Status) -> Value {
        json!({
            "batch": self.batch, "rows": self.rows, "queries": self.queries, "distinct": self.distinct,
            "answers": self.answers, "removed": self.removed, "missing": self.missing, "seconds": self.time.as_secs_f64(), "replayed": self.replayed,
            "rows_in_all": status.rows, "queries_in_all": status.queries,
            "lag": { "train": status.train_lag, "query": status.query_lag, "remove": status.remove_lag },
            "fill": status.fill.map(|fill| fill.fill), "rate": status.fill.map(|fill| fill.rate),
            "enlarged_in_all": status.enlarged, "window": window_json(status),
        })
    }
}
