//! Options of a plan for machines that are not here.

use anyhow::Result;
use clap::Args;
use tamis_lab::scale::{self, Estimate, Job};
use tamis_make::design::Offer;

use crate::arguments;
use crate::show::{usage, wrong};

/// The machines of a job on paper.
#[derive(Debug, Args)]
#[command(next_help_heading = "On machines that are not here")]
pub(super) struct Scale {
    /// Say how a build would run on this many machines
    #[arg(long, value_name = "N", value_parser = arguments::count)]
    machines: Option<u64>,
    /// Cores of each machine [default: 16]
    #[arg(long, value_name = "N", value_parser = arguments::count, requires = "machines")]
    cores: Option<u64>,
    /// Rows of the input [default: as many as there are keys]
    #[arg(long, value_name = "N", value_parser = arguments::count, requires = "machines")]
    rows: Option<u64>,
    /// Bytes of a row of the input [default: 32]
    #[arg(long, value_name = "N", value_parser = arguments::count, requires = "machines")]
    row_bytes: Option<u64>,
    /// Bytes per second that a machine sends and receives [default: 1.25GB, which is 10 Gbit/s]
    #[arg(long, value_name = "SIZE", value_parser = arguments::bytes, requires = "machines")]
    network: Option<u64>,
    /// Bytes per second that a machine writes to its disk [default: 500MB]
    #[arg(long, value_name = "SIZE", value_parser = arguments::bytes, requires = "machines")]
    disk: Option<u64>,
    /// Machines that are lost while the job runs [default: 1, or none of one]
    #[arg(long, value_name = "N", requires = "machines")]
    lost: Option<u64>,
}

impl Scale {
    /// Refuses what does not go together.
    pub(super) fn refuse(&self, inputs: &[String], memory: Option<u64>) -> Result<()> {
        match (self.machines, inputs.is_empty(), memory) {
            (Some(_), false, _) => usage("--machines is for a job on paper: give --keys in place of a table"),
            (Some(_), true, None) => usage("--machines needs the memory of each of them: give --memory 64GB"),
            (None, true, Some(_)) => usage(
                "--memory is for counting the keys of a table, or goes with --machines: give one of them",
            ),
            _ => Ok(()),
        }
    }

    /// What the job would take, where it is asked for.
    pub(super) fn estimate(&self, offer: &Offer, memory: Option<u64>) -> Result<Option<Estimate>> {
        let (Some(machines), Some(memory)) = (self.machines, memory) else { return Ok(None) };
        let rows = self.rows.unwrap_or(offer.keys);
        if rows < offer.keys {
            return usage("--rows: there cannot be fewer rows than different keys");
        }
        let job = Job {
            keys: offer.keys,
            kind: offer.kind,
            shape: offer.shape,
            rows,
            row_bytes: self.row_bytes.unwrap_or(32),
            machines,
            cores: self.cores.unwrap_or(16),
            memory,
            network: self.network.unwrap_or(1_250_000_000),
            disk: self.disk.unwrap_or(500_000_000),
            lost: self.lost.unwrap_or(u64::from(machines > 1)),
            seed: 1,
        };
        scale::estimate(job).map(Some).map_err(wrong)
    }
}
