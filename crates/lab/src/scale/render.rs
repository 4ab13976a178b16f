//! An estimate as tables and JSON.

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

use super::model::ranges;
use super::{Estimate, Phase, Unit, Wall, Way};

impl Wall {
    /// What is asked and what is given.
    fn text(&self) -> String {
        let write = |value: f64| match self.unit {
            Unit::Bytes => number::bytes_of(value),
            Unit::Count => number::short(value),
        };
        format!("{}: {} of {}", self.what, write(self.asked), write(self.given))
    }

    fn json(&self) -> Value {
        json!({
            "what": self.what, "asked": self.asked, "given": self.given, "used": self.used(),
            "unit": match self.unit { Unit::Bytes => "bytes", Unit::Count => "count" }, "remedy": self.remedy,
        })
    }
}

impl Phase {
    fn json(&self) -> Value {
        json!({
            "name": self.name, "tasks": self.tasks, "seconds_of_a_task": self.seconds, "memory_of_a_task": self.memory,
            "bytes_moved": self.moved, "to_one_machine": self.to == super::To::One, "one_at_a_time": self.serial,
        })
    }
}

impl Way {
    /// In a few words, what stops it or comes first to stop it.
    fn verdict(&self) -> String {
        let Some(wall) = self.first_wall() else { return String::new() };
        match wall.used() > 1.0 {
            true => format!("{} does not run: {}. It would take {}.", self.name, wall.text(), wall.remedy),
            false => format!(
                "{} runs. Of its limits, it comes nearest to: {} ({}).",
                self.name,
                wall.text(),
                number::percent(wall.used())
            ),
        }
    }

    /// The phase that takes longest, where it does not spread over machines.
    fn bottleneck(&self) -> Option<String> {
        let serial = self.phases.iter().filter(|phase| phase.serial);
        let slowest =
            serial.max_by(|a, b| (a.seconds * a.tasks as f64).total_cmp(&(b.seconds * b.tasks as f64)))?;
        let time = slowest.seconds * slowest.tasks as f64;
        let all = self.seconds.filter(|all| time > 0.3 * all)?;
        Some(format!(
            "{}: “{}” is done on one core, one task after the other, and takes {} of {}: more machines do not help it.",
            self.name,
            slowest.name,
            number::seconds(time),
            number::seconds(all)
        ))
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name, "command": self.command, "passes": self.passes, "runs": self.runs(),
            "memory_of_a_task": self.task(), "memory_of_the_driver": self.driver, "bytes_moved": self.moved(),
            "seconds": self.seconds,
            "simulated": self.simulated.map(|times| json!({ "median": times.median, "one_in_twenty": times.slow })),
            "phases": self.phases.iter().map(Phase::json).collect::<Vec<_>>(),
            "limits": self.walls.iter().map(Wall::json).collect::<Vec<_>>(),
        })
    }
}

fn plural(hashes: u64) -> String {
    if hashes == 1 { "1 hash".into() } else { format!("{hashes} hashes") }
}

impl Estimate {
    /// All ways, side by side.
    pub fn table(&self) -> Table {
        let job = &self.job;
        let row = |what: &str, cell: &dyn Fn(&Way) -> String| {
            let cells = self.ways.iter().map(cell);
            std::iter::once(what.to_owned()).chain(cells).collect::<Vec<_>>()
        };
        let time = |seconds: Option<f64>| seconds.map_or("does not run".into(), number::seconds);
        let rows = vec![
            row("command", &|way| way.command.into()),
            row("passes over the input", &|way| way.passes.to_string()),
            row("tasks", &|way| number::count(way.phases.iter().map(|phase| phase.tasks).sum())),
            row("memory of the largest task", &|way| number::bytes(way.task())),
            row("memory of the driver", &|way| number::bytes(way.driver)),
            row("bytes between machines", &|way| number::bytes(way.moved())),
            row("time, if nothing goes wrong", &|way| time(way.seconds)),
            row("time, slow tasks and lost machines", &|way| match way.simulated {
                Some(times) => format!("{} ({})", number::seconds(times.median), number::seconds(times.slow)),
                None => String::new(),
            }),
        ];
        let columns = self.ways.iter().map(|way| Column::right(way.name));
        let mut notes = vec![format!(
            "{} of input, {} of filter ({}, {}), which Spark cuts into {}. {} of {} and {}; lost while a job runs: {}. \
             In brackets, what one run in twenty takes longer than.",
            number::bytes(job.input()),
            number::bytes(job.filter()),
            job.kind,
            plural(u64::from(job.shape.hashes())),
            number::counted(ranges(job), "range"),
            number::counted(job.machines, "machine"),
            number::counted(job.cores, "core"),
            number::bytes(job.memory),
            job.lost,
        )];
        notes.extend(self.ways.iter().map(Way::verdict));
        notes.extend(self.ways.iter().filter_map(Way::bottleneck));
        notes.push(
            "On paper: docs/scale.md has the formulas, the rates, and what was measured of both.".into(),
        );
        Table {
            caption: format!("How {} would be built", number::counted(job.keys, "key")),
            columns: std::iter::once(Column::left("what")).chain(columns).collect(),
            rows,
            notes,
        }
    }

    /// The steps of each way.
    pub fn phases(&self) -> Table {
        let mut rows = Vec::new();
        for way in &self.ways {
            rows.extend(way.phases.iter().map(|phase| {
                vec![
                    way.name.to_owned(),
                    phase.name.to_owned(),
                    number::count(phase.tasks),
                    number::seconds(phase.seconds),
                    number::bytes(phase.memory),
                    number::bytes(phase.moved),
                    if phase.serial { "one at a time" } else { "" }.to_owned(),
                ]
            }));
        }
        let names = ["tasks", "time of a task", "memory of a task", "bytes sent"].map(Column::right);
        let mut columns = vec![Column::left("way"), Column::left("phase")];
        columns.extend(names);
        columns.push(Column::left(""));
        Table { caption: "Phases".into(), columns, rows, notes: Vec::new() }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let job = &self.job;
        json!({
            "keys": job.keys, "rows": job.rows, "row_bytes": job.row_bytes, "input_bytes": job.input(),
            "kind": job.kind.name(), "filter_bytes": job.filter(), "hashes": job.shape.hashes(), "ranges": ranges(job),
            "machines": job.machines, "cores": job.cores, "memory": job.memory, "network": job.network,
            "disk": job.disk, "lost": job.lost, "seed": job.seed,
            "ways": self.ways.iter().map(Way::json).collect::<Vec<_>>(),
        })
    }
}
