//! What was done, as a table and as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_read::calendar;
use tamis_stream::{Batch, Judged, Lag, Report, Status};

use crate::Table;
use crate::facts::Facts;

/// Rows and queries per second.
fn speed(report: &Report) -> f64 {
    let Status { rows, queries, removed, missing, .. } = report.status;
    (rows + queries + removed + missing) as f64 / report.time.as_secs_f64().max(1e-9)
}

/// For people.
pub fn table(report: &Report) -> Table {
    let Status { rows: trained, queries, distinct, answers, batches, commits, .. } = report.status;
    let mut facts = Facts::default();
    facts.push("rows trained", number::count(trained));
    if report.status.removed + report.status.missing > 0 {
        facts.push("rows removed", number::count(report.status.removed));
        facts.push("rows to be removed that were not there", number::count(report.status.missing));
    }
    facts.push("queries", number::count(queries));
    facts.push("distinct in their batches", number::count(distinct));
    facts.push("answered", number::count(answers));
    facts.push("batches", number::count(batches));
    if report.status.replayed > 0 {
        facts.push("of them run again", number::count(report.status.replayed));
    }
    facts.push("commits", number::count(commits));
    if report.status.enlarged > 0 {
        facts.push("filters made larger", number::count(report.status.enlarged));
    }
    if let Some(window) = &report.status.window {
        facts.push("live panes with rows", format!("{} of {}", window.panes, window.most));
        if let (Some(begin), Some(newest)) = (window.begin, window.newest) {
            facts.push("window", format!("{} to {}", calendar::stamp(begin), calendar::stamp(newest)));
        }
        if let Some(Judged { late, expired, ahead }) = window.judged {
            facts.push(if window.takes_late { "late, taken" } else { "late, left out" }, number::count(late));
            facts.push("expired, left out", number::count(expired));
            facts.push("ahead, left out", number::count(ahead));
        }
    }
    if let Some(fill) = report.status.fill {
        if !fill.rate.is_nan() {
            facts.push("keys, estimated", number::count(fill.keys.round() as u64));
            facts.push("rate now", number::rate(fill.rate));
        }
        facts.push("fill", format!("{:.1} %", 100.0 * fill.fill));
        facts.push("memory", number::bytes(fill.bytes));
    }
    facts.push("time", number::duration(report.time));
    facts.push("rows and queries per second", number::count(speed(report) as u64));
    facts.table(Vec::new())
}

/// For programs.
pub fn json(report: &Report) -> Value {
    let mut value = status_json(&report.status);
    value["seconds"] = report.time.as_secs_f64().into();
    value["per_second"] = speed(report).into();
    value["resumed"] = report.resumed.into();
    value["stopped"] = report.stopped.into();
    value["counters_full"] = report.counters_full.into();
    value
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
        "lag": lag(status, Lag::bytes), "lag_messages": lag(status, Lag::messages),
        "window": window_json(status),
    })
}

/// What waits, by stream: bytes of files, or messages of topics.
fn lag(status: &Status, of: fn(Lag) -> Option<u64>) -> Value {
    status.lag.iter().map(|(role, lag)| (role.name().to_owned(), json!(lag.and_then(of)))).collect()
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

/// What was done by a stream on a cluster, which knows less of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spread {
    /// Rows trained.
    pub rows: u64,
    /// Queries.
    pub queries: u64,
    /// Lines of answers.
    pub answers: u64,
    /// Rows and queries of which no key could be made.
    pub skipped: u64,
    /// Batches of this run.
    pub batches: u64,
    /// Whether it went on where an earlier run had ended.
    pub resumed: bool,
    /// How long it took.
    pub time: Duration,
}

impl Spread {
    /// For people.
    pub fn table(&self) -> Table {
        let mut facts = Facts::default();
        facts.push("rows trained", number::count(self.rows));
        facts.push("queries", number::count(self.queries));
        facts.push("answered", number::count(self.answers));
        facts.push("batches", number::count(self.batches));
        facts.push("time", number::duration(self.time));
        facts.table(Vec::new())
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "rows": self.rows, "queries": self.queries, "answers": self.answers, "skipped": self.skipped,
            "batches": self.batches, "resumed": self.resumed, "seconds": self.time.as_secs_f64(),
        })
    }
}

/// One line of a log.
pub fn batch_json(batch: &Batch, status: &Status) -> Value {
    // Looking at all bits after every batch would take most of the time: what is older is not told.
    let fill = status.fill.filter(|_| status.fill_is_current);
    json!({
        "batch": batch.batch, "rows": batch.rows, "queries": batch.queries, "distinct": batch.distinct,
        "answers": batch.answers, "removed": batch.removed, "missing": batch.missing, "seconds": batch.time.as_secs_f64(), "replayed": batch.replayed,
        "rows_in_all": status.rows, "queries_in_all": status.queries,
        "lag": lag(status, Lag::bytes), "lag_messages": lag(status, Lag::messages),
        "fill": fill.map(|fill| fill.fill), "rate": fill.map(|fill| fill.rate),
        "enlarged_in_all": status.enlarged, "window": window_json(status),
    })
}
