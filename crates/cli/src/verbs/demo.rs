use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use tamis::hash::Single;
use tamis_jobs::check;
use tamis_lab::generate;
use tamis_lab::ratings::recipe;
use tamis_make::build::{self, Bits, FilterSizing, Sketches};
use tamis_make::files;
use tamis_make::plan::Size;
use tamis_make::rows::BadRows;
use tamis_make::{number, parallel};
use tamis_read::{Error, Options};
use tamis_report::Source;

use crate::show::Output;
use crate::words::Flags;
use crate::{arguments, notes, progress};

/// Run the main job on generated data: ten filters of film ratings, built and tested
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis demo
  tamis demo --folder /tmp/demo --rows 1e5

Writes ratings.tsv, ratings.tamis and report.html into the folder.")]
pub struct Demo {
    /// The folder for data, filters and report
    #[arg(long, default_value = "demo")]
    folder: PathBuf,
    /// Rows of data
    #[arg(long, value_parser = arguments::count, default_value_t = generate::TITLES)]
    rows: u64,
    /// The seed of the data
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Demo {
    /// Does it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
        let data = self.folder.join("ratings.tsv");
        let filters = self.folder.join("ratings.tamis");
        let page = self.folder.join("report.html");
        let threads = parallel::default_threads();

        let start = Instant::now();
        files::write_whole(&data, |out| generate::ratings(out, self.rows, self.seed))?;
        let mut phases: Vec<(&'static str, Duration)> = vec![("generate", start.elapsed())];

        let job = build::Job {
            inputs: vec![data.display().to_string()],
            options: Options::default(),
            sketches: Sketches::Bits {
                kind: Bits::Blocked,
                hash: Single::DEFAULT,
                sizing: FilterSizing::Counted(Size::Fpr(0.01).into()),
            },
            recipe: recipe(),
            bad_rows: BadRows::Fail,
            threads,
            memory: tamis_make::count::MEMORY,
            about: Default::default(),
        };
        let start = Instant::now();
        progress::run(output, "building", |control| build::build(&job, &filters, control))?;
        phases.push(("build", start.elapsed()));

        let job = check::Job::of_built(filters.clone(), job);
        let start = Instant::now();
        let report = progress::run(output, "testing", |control| check::check(&job, control))?;
        let subtitle = format!(
            "Ten blocked Bloom filters of {} generated film ratings, p = 0.01",
            number::count(self.rows)
        );
        let source = |role, path: &Path, format| {
            let bytes = fs::metadata(path).ok().map(|file| file.len());
            Source { role, name: path.display().to_string(), format, bytes }
        };
        let sources = [source("filters", &filters, None), source("data", &data, Some("tsv"))];
        let report_page =
            tamis_report::check::page(&report, "tamis demo", &subtitle, &sources, &phases, &Flags);
        phases.push(("test", start.elapsed()));
        notes::write_page(&page, report_page)?;

        let code = super::test::show(output, &report)?;
        let times: Vec<String> =
            phases.iter().map(|(name, time)| format!("{name} {}", number::duration(*time))).collect();
        output.note(format!("{} ({})", times.join(", "), number::counted(threads as u64, "thread")));
        output.note(format!(
            "data, filters and report: {}, {}, {}",
            data.display(),
            filters.display(),
            page.display()
        ));
        Ok(code)
    }
}
