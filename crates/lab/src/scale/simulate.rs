//! Tasks on machines, of which some are slow and some are lost. A small seeded simulation: one seed, one answer.
//!
//! Each phase begins when the one before has ended. A free core takes the next task. A task takes its time, times a
//! factor that varies a little (log-normal) and for a few is large: stragglers. Where a machine is lost, its running
//! tasks begin again elsewhere, and so do those whose output lay on it, as with Spark and MapReduce. Bytes that go
//! between machines take the time that the network of those who take them needs, beside the tasks that send them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Job, Phase, To};
use crate::generate::Random;

/// The machines.
#[derive(Debug, Clone, Copy)]
pub struct Cluster {
    /// How many.
    pub machines: u64,
    /// Cores of each.
    pub cores: u64,
    /// Memory of each.
    pub memory: u64,
    /// Bytes per second of each.
    pub network: u64,
    /// Machines that are lost, each once at some time.
    pub lost: u64,
    /// The deviation of the logarithm of a task's time.
    pub spread: f64,
    /// The share of tasks that take `SLOW` times as long.
    pub stragglers: f64,
}

/// How much longer a straggler takes.
const SLOW: f64 = 5.0;

/// Simulations of one job.
const RUNS: u64 = 21;

/// Beyond this many tasks of a phase, several are simulated as one.
const MOST_TASKS: u64 = 1 << 16;

/// Those of a job.
pub fn of(job: &Job) -> Cluster {
    Cluster {
        machines: job.machines,
        cores: job.cores,
        memory: job.memory,
        network: job.network,
        lost: job.lost,
        spread: 0.2,
        stragglers: 0.01,
    }
}

/// What many runs took, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simulated {
    /// Half of them took less.
    pub median: f64,
    /// One in twenty took more.
    pub slow: f64,
}

/// Many runs of a job.
pub fn runs(cluster: &Cluster, phases: &[Phase], seed: u64) -> Simulated {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|number| run(cluster, phases, seed.wrapping_add(number.wrapping_mul(0x9e37))))
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((RUNS - 1) as f64 * share).round() as usize];
    Simulated { median: at(0.5), slow: at(0.95) }
}

/// One run: its seconds.
pub fn run(cluster: &Cluster, phases: &[Phase], seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let calm: f64 = phases.iter().map(|phase| length(cluster, phase, cluster.machines)).sum();
    // When machines are lost: at any time of a run without losses.
    let mut losses: Vec<f64> = (0..cluster.lost).map(|_| unit(&mut random) * calm).collect();
    losses.sort_by(f64::total_cmp);
    let mut losses = losses.into_iter().peekable();
    let (mut now, mut machines, mut again) = (0.0, cluster.machines, 0.0);
    for phase in phases {
        let mut lost = 0;
        let likely = length(cluster, phase, machines);
        while losses.next_if(|at| *at < now + likely).is_some() {
            lost += 1;
        }
        let alive = machines.saturating_sub(lost).max(1);
        // What lay on lost machines is made again: a part of this phase and of the one before it.
        let share = lost as f64 / machines as f64;
        let redo = again * share;
        let tasks = lasting(cluster, phase, alive, share, &mut random);
        again = tasks;
        machines = alive;
        now += redo + tasks.max(sending(cluster, phase, machines));
    }
    now
}

/// The seconds of a phase without any accident.
fn length(cluster: &Cluster, phase: &Phase, machines: u64) -> f64 {
    let slots = slots(cluster, phase, machines);
    let rounds = phase.tasks.div_ceil(slots) as f64;
    (rounds * phase.seconds).max(sending(cluster, phase, machines))
}

/// Tasks that run at once: as many as there are cores, and memory for.
fn slots(cluster: &Cluster, phase: &Phase, machines: u64) -> u64 {
    if phase.serial {
        return 1;
    }
    let fit = (cluster.memory / phase.memory.max(1)).min(cluster.cores).max(1);
    fit * machines
}

/// The seconds in which the bytes of a phase reach those who take them.
fn sending(cluster: &Cluster, phase: &Phase, machines: u64) -> f64 {
    let takers = match phase.to {
        To::All => machines,
        To::One => 1,
    };
    if cluster.machines == 1 { 0.0 } else { phase.moved as f64 / (cluster.network * takers) as f64 }
}

/// The seconds of the tasks of a phase, a share of which is done twice.
fn lasting(cluster: &Cluster, phase: &Phase, machines: u64, twice: f64, random: &mut Random) -> f64 {
    let slots = slots(cluster, phase, machines);
    let together = phase.tasks.div_ceil(MOST_TASKS);
    let (tasks, slots) = (phase.tasks.div_ceil(together), slots.div_ceil(together));
    let more = (tasks as f64 * twice).round() as u64;
    let mut free: BinaryHeap<Reverse<Time>> =
        (0..slots.min(tasks + more)).map(|_| Reverse(Time(0.0))).collect();
    let mut last: f64 = 0.0;
    for _ in 0..tasks + more {
        let Some(Reverse(Time(at))) = free.pop() else { break };
        let end = at + phase.seconds * factor(cluster, random);
        last = last.max(end);
        free.push(Reverse(Time(end)));
    }
    last
}

/// How much longer a task takes than it should.
fn factor(cluster: &Cluster, random: &mut Random) -> f64 {
    let slow = if unit(random) < cluster.stragglers { SLOW } else { 1.0 };
    // The sum of twelve: near enough to normal.
    let normal: f64 = (0..12).map(|_| unit(random)).sum::<f64>() - 6.0;
    slow * (cluster.spread * normal).exp()
}

/// Between 0 and 1.
fn unit(random: &mut Random) -> f64 {
    random.below(1 << 53) as f64 / (1u64 << 53) as f64
}

/// Seconds, in their order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Time(f64);

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
