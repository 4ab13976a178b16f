//! A job on paper: what a build would take on machines that are not here. The formulas are those of the code that
//! would run (`tamis-make`'s `build`, `spread` and `pipe`, and `tamis.spark`), the rates were measured, and
//! `docs/scale.md` holds both against runs.
//!
//! Three ways to do one job: on one machine; by a scheduler that pipes bytes (`model::pipes`); on Spark
//! (`model::spark`). Each is a list of phases. A phase is a number of equal tasks, bytes that go between machines,
//! and the machines that take them. [`simulate`] lets tasks be slow and machines be lost.

mod model;
mod render;
pub mod simulate;
#[cfg(test)]
mod tests;

use tamis::sizing::{Kind, Shape};
use tamis_read::refusal::{self, Help};

pub use model::{build_memory, rates, ways};
use simulate::Simulated;

/// The job, and what there is to do it with.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Different keys.
    pub keys: u64,
    /// The kind of the filter.
    pub kind: Kind,
    /// Its shape.
    pub shape: Shape,
    /// Rows of the input.
    pub rows: u64,
    /// Bytes of a row of it.
    pub row_bytes: u64,
    /// Machines.
    pub machines: u64,
    /// Cores of each.
    pub cores: u64,
    /// Memory of each.
    pub memory: u64,
    /// Bytes per second that each sends and receives.
    pub network: u64,
    /// Bytes per second that each writes to its disk.
    pub disk: u64,
    /// Machines that are lost while the job runs.
    pub lost: u64,
    /// The seed of the simulation.
    pub seed: u64,
}

impl Job {
    /// Bytes of the input.
    pub fn input(&self) -> u64 {
        self.rows.saturating_mul(self.row_bytes)
    }

    /// Bytes of the filter.
    pub fn filter(&self) -> u64 {
        8 * self.shape.words()
    }
}

/// A step of a job: equal tasks, after which something goes between machines.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// What it does.
    pub name: &'static str,
    /// Tasks.
    pub tasks: u64,
    /// Seconds of a task on one core.
    pub seconds: f64,
    /// The memory of a task.
    pub memory: u64,
    /// Bytes that go from its tasks to other machines.
    pub moved: u64,
    /// Who takes these.
    pub to: To,
    /// Whether its tasks wait for each other: then there is one at a time.
    pub serial: bool,
}

/// Who takes what a phase sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// All machines.
    All,
    /// One of them.
    One,
}

/// What limits a way.
#[derive(Debug, Clone, PartialEq)]
pub struct Wall {
    /// What has the limit.
    pub what: &'static str,
    /// What the job asks of it, and what it gives.
    pub asked: f64,
    /// What it gives.
    pub given: f64,
    /// What that is measured in.
    pub unit: Unit,
    /// What to do about it.
    pub remedy: &'static str,
}

impl Wall {
    /// How much of the limit is used; above 1, the job does not run.
    pub fn used(&self) -> f64 {
        self.asked / self.given
    }
}

/// What something is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

/// One way to do the job.
#[derive(Debug, Clone)]
pub struct Way {
    /// What it is called.
    pub name: &'static str,
    /// How it is begun.
    pub command: &'static str,
    /// Times that the input is read.
    pub passes: u32,
    /// Its steps.
    pub phases: Vec<Phase>,
    /// Memory of the process that begins it.
    pub driver: u64,
    /// What limits it.
    pub walls: Vec<Wall>,
    /// The time if nothing goes wrong, in seconds; none where it does not run.
    pub seconds: Option<f64>,
    /// The time with slow tasks and lost machines.
    pub simulated: Option<Simulated>,
}

impl Way {
    /// The memory of its largest task.
    pub fn task(&self) -> u64 {
        self.phases.iter().map(|phase| phase.memory).max().unwrap_or(0)
    }

    /// Bytes that go between machines.
    pub fn moved(&self) -> u64 {
        self.phases.iter().fold(0, |all, phase| all.saturating_add(phase.moved))
    }

    /// The limit that is reached first.
    pub fn first_wall(&self) -> Option<&Wall> {
        self.walls.iter().max_by(|a, b| a.used().total_cmp(&b.used()))
    }

    /// Whether no limit is passed.
    pub fn runs(&self) -> bool {
        self.walls.iter().all(|wall| wall.used() <= 1.0)
    }
}

/// What the job would take.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// The job.
    pub job: Job,
    /// By way.
    pub ways: Vec<Way>,
}

/// Why there is no estimate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No way fits into the memory.
    #[error(
        "no way to build this fits into {} of memory on each machine; {} would be enough",
        tamis_make::number::bytes(*memory),
        tamis_make::number::bytes(*least)
    )]
    Memory {
        /// What there is.
        memory: u64,
        /// What would do.
        least: u64,
    },
    /// More machines are lost than there are.
    #[error("{lost} of {machines} machines cannot be lost: one must stay")]
    Lost {
        /// Those that are lost.
        lost: u64,
        /// All of them.
        machines: u64,
    },
    /// The kind cannot be built so.
    #[error("{kind} is made of all keys at once or in their order, and this model does not have it")]
    Kind {
        /// The kind.
        kind: Kind,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::Memory { .. } => vec![Help::give_more(tamis_make::opt::MEMORY)],
            Refusal::Lost { .. } => Vec::new(),
            Refusal::Kind { .. } => vec![Help::give(tamis_make::opt::KIND.with("blocked"))],
        }
    }
}

/// Works it out.
pub fn estimate(job: Job) -> Result<Estimate, Refusal> {
    if !matches!(job.kind, Kind::Blocked | Kind::Bloom | Kind::Counting | Kind::CountMin) {
        return Err(Refusal::Kind { kind: job.kind });
    }
    if job.lost >= job.machines && job.lost > 0 {
        return Err(Refusal::Lost { lost: job.lost, machines: job.machines });
    }
    let mut ways = ways(&job);
    let least = ways.iter().map(Way::task).min().unwrap_or(0);
    if least > job.memory {
        return Err(Refusal::Memory { memory: job.memory, least });
    }
    for way in ways.iter_mut().filter(|way| way.runs()) {
        let one = way.name == model::ONE_MACHINE;
        let machines = if one { 1 } else { job.machines };
        let calm =
            simulate::Cluster { machines, lost: 0, spread: 0.0, stragglers: 0.0, ..simulate::of(&job) };
        way.seconds = Some(simulate::run(&calm, &way.phases, job.seed));
        if !one {
            way.simulated = Some(simulate::runs(&simulate::of(&job), &way.phases, job.seed));
        }
    }
    Ok(Estimate { job, ways })
}
