//! The experiment of Collodi and Ghera with threads.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tamis_lab::{Findings, speedup};

use super::mapreduce;
use crate::hadoop::Hadoop;
use crate::show::Output;
use crate::{arguments, progress};

/// Collodi and Ghera: words filtered by one thread and by several, by size and by threads
#[derive(Debug, Args)]
#[command(after_help = "\
The words are kept in memory: 100 million take 3 GB.

Examples:
  tamis reproduce speedup
  tamis reproduce speedup --records 0                         without the 100 million
  tamis reproduce speedup --sizes 1M --threads 1,2,4,8 --repeats 20
  tamis reproduce speedup --records 0 --on hadoop             and as two jobs of MapReduce

With --on hadoop, the largest of --sizes goes to Hadoop as well, as two jobs of Hadoop Streaming: tamis build and \
tamis merge make a filter of each split and OR them; tamis filter --count counts, and Hadoop sums the counts up. The \
programs hadoop and mapred are those of HADOOP_HOME, or in the PATH; tamis itself goes along with the jobs. A folder \
tamis-reproduce-… in the file system of Hadoop is removed at the end.")]
pub(super) struct Speedup {
    /// Words of each data set
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = arguments::count)]
    #[arg(default_values_t = speedup::PRINTED.map(|printed| printed.records))]
    sizes: Vec<u64>,
    /// Numbers of threads to try on the largest data set
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = arguments::threads)]
    #[arg(default_values_t = speedup::PRINTED_BY_THREADS.map(|(threads, _)| threads))]
    threads: Vec<usize>,
    /// The number of measurements of each time
    #[arg(long, default_value_t = 10)]
    repeats: usize,
    /// A much larger data set, measured three times at most; 0 leaves it out
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "100M")]
    records: u64,
    /// Also run both phases as jobs of MapReduce, by Hadoop Streaming
    #[arg(long, value_name = "WHERE", value_parser = ["hadoop"], help_heading = "On a cluster")]
    on: Option<String>,
    /// An argument for each job, such as --hadoop-arg=-Dmapreduce.job.queuename=small
    #[arg(
        long,
        value_name = "ARG",
        requires = "on",
        allow_hyphen_values = true,
        help_heading = "On a cluster"
    )]
    hadoop_arg: Vec<String>,
    /// The seed of the words and of the samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the results as CSV: a line for each run
    #[arg(long, value_name = "FILE.csv", default_value = "reproduce-speedup.csv")]
    pub(super) csv: PathBuf,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-speedup.html")]
    pub(super) report: PathBuf,
}

fn count_or_none(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { arguments::count(text) }
}

impl Speedup {
    /// Measures it.
    pub(super) fn measure(self, output: &Output) -> Result<Findings> {
        let repeats = self.repeats.max(1);
        let hadoop = self.on.map(|_| Hadoop::found(self.hadoop_arg)).transpose()?;
        let job = speedup::Job {
            sizes: self.sizes,
            threads: self.threads,
            repeats,
            records: self.records,
            records_repeats: repeats.min(3),
            seed: self.seed,
        };
        let mut found = progress::run(output, "measuring", |control| speedup::speedup(&job, control))?;
        if let (Some(hadoop), Some(&records)) = (hadoop, job.sizes.iter().max()) {
            found.mapreduce = Some(mapreduce::measure(&hadoop, records, speedup::FPR, self.seed, output)?);
        }
        Ok(found.findings())
    }
}
