//! All experiments, one after the other, in a folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args, Command, FromArgMatches, Subcommand};
use serde_json::{Map, Value, json};
use tamis_lab::{generate, speedup};
use tamis_make::{files, number};
use tamis_report::{Column, Link, Page, Section, Table};

use super::{Experiment, Seen, write};
use crate::show::{Output, usage};
use crate::spark::On;
use crate::{arguments, notes};

/// All experiments: a page and a CSV for each, an index, and their tables as Markdown
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce all --out results
  tamis reproduce all --out results --data films/        with published data
  tamis reproduce all --out results --on 'local[2]'      ratings and streams on Spark as well
  tamis reproduce all --out results --most 1e5           small and quick, to try it
  tamis reproduce all --out results --full               and a billion addresses

Writes NAME.html and NAME.csv for each experiment, index.html, which links them, and results.md: the tables with \
the command, the machine and the date of each. It takes up to half an hour, and 3 GB of memory; with --full \
longer. The data: title.ratings.tsv (also with a date in its name, also compressed), netflix_titles.csv, \
tmdb_5000_movies.csv; what is not there is generated, and said to be. Exits with 1 if something did not hold in one of them.")]
pub(super) struct All {
    /// The folder for the results; it is made if it is not there
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    out: PathBuf,
    /// A folder with the published data
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Generate at most this many rows, keys or words; published tables, and the records in place of them, stay whole
    #[arg(long, value_name = "N", value_parser = arguments::count)]
    most: Option<u64>,
    /// Also the slides' billion addresses, in one gigabyte
    #[arg(long, conflicts_with = "most")]
    full: bool,
    #[command(flatten)]
    on: On,
}

/// Tables that are published under these names.
const NETFLIX: &str = "netflix_titles.csv";
const TMDB: &str = "tmdb_5000_movies.csv";

/// An experiment as it was run.
struct Done {
    name: &'static str,
    /// What stands on its page.
    title: String,
    subtitle: String,
    command: String,
    seconds: f64,
    holds: bool,
}

impl All {
    /// Runs them.
    pub(super) fn run(self, output: &Output) -> Result<ExitCode> {
        self.check_folders()?;
        fs::create_dir_all(&self.out).with_context(|| self.out.display().to_string())?;
        let names = self.experiments(output)?;
        for (arguments, experiment) in &names {
            experiment.check().with_context(|| words(arguments))?;
        }
        for name in ["index.html", "results.md"] {
            files::check(&self.out.join(name))?;
        }
        let began = Seen::now();
        let (mut all, mut json, mut text) = (Vec::new(), Map::new(), String::new());
        for (arguments, experiment) in names {
            let (seen, since) = (Seen::now(), Instant::now());
            let command = format!("tamis reproduce {}", words(&arguments));
            let [csv, page] = experiment.files().map(PathBuf::clone);
            let findings = experiment.measure(output).with_context(|| command.clone())?;
            let done = Done {
                name: findings.name,
                title: findings.page.title.clone(),
                subtitle: findings.page.subtitle.clone(),
                command,
                seconds: since.elapsed().as_secs_f64(),
                holds: findings.holds,
            };
            text += &format!("{}\n", findings.markdown(&done.command, &seen.text()));
            json.insert(stem(&csv), findings.json.clone());
            write(findings, &csv, &page, &seen)?;
            output.note(format!("{}: {}", page.display(), number::seconds(done.seconds)));
            all.push((stem(&csv), done));
        }
        self.finish(output, &began, &all, text)?;
        let holds = all.iter().all(|(_, done)| done.holds);
        json.insert("passed".into(), holds.into());
        json.insert("machine".into(), json!(began.machine));
        output.result(table(&all).text(), Value::Object(json))?;
        Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Refuses folders that are none.
    fn check_folders(&self) -> Result<()> {
        let none = |folder: &&PathBuf| !folder.is_dir();
        if let Some(data) = self.data.as_ref().filter(none) {
            return usage(format!("--data {}: there is no such folder", data.display()));
        }
        if let Some(out) = Some(&self.out).filter(none).filter(|out| out.exists()) {
            return usage(format!("--out {}: this is a file; name a folder", out.display()));
        }
        Ok(())
    }

    /// Each experiment with its arguments: what anybody would type to run it alone.
    fn experiments(&self, output: &Output) -> Result<Vec<(Vec<OsString>, Experiment)>> {
        let ratings = self.published_ratings()?;
        if let Some(data) = &self.data {
            let lacks = |name: &&str| !data.join(name).is_file();
            let missing = [NETFLIX, TMDB].into_iter().filter(lacks);
            let missing = missing.chain(ratings.is_none().then_some("title.ratings.tsv"));
            for name in missing {
                output
                    .note(format!("{}: no {name} is there; generated data takes its place", data.display()));
            }
        }
        let mut all = vec![
            ("ratings", self.ratings(ratings)),
            ("streams", self.streams()),
            ("speedup", self.speedup()),
            ("layers", self.layers()),
            ("search", self.search()),
            ("design", self.design()),
        ];
        if self.full {
            all.push(("design-full", vec!["design".into(), "--full".into()]));
        }
        all.into_iter().map(|(name, arguments)| self.experiment(name, arguments)).collect()
    }

    /// An experiment whose files have this name.
    fn experiment(&self, name: &str, mut arguments: Vec<OsString>) -> Result<(Vec<OsString>, Experiment)> {
        for (option, ending) in [("--csv", "csv"), ("--report", "html")] {
            arguments.extend([option.into(), self.out.join(format!("{name}.{ending}")).into()]);
        }
        let command = Experiment::augment_subcommands(Command::new("reproduce").no_binary_name(true));
        let matches = command.try_get_matches_from(&arguments)?;
        Ok((arguments, Experiment::from_arg_matches(&matches)?))
    }

    /// The files of these names among the published data.
    fn found(&self, names: &[&str]) -> Vec<OsString> {
        let there = |name: &&str| Some(self.data.as_ref()?.join(name)).filter(|path| path.is_file());
        names.iter().filter_map(there).map(PathBuf::into_os_string).collect()
    }

    fn limited(&self, usual: u64) -> OsString {
        self.most.map_or(usual, |most| most.min(usual)).to_string().into()
    }

    /// IMDb's table among the published data: it has one name for every day, and who keeps it adds the day.
    fn published_ratings(&self) -> Result<Option<OsString>> {
        let Some(data) = &self.data else { return Ok(None) };
        let mut tables = Vec::new();
        for entry in fs::read_dir(data).with_context(|| data.display().to_string())? {
            let name = entry.with_context(|| data.display().to_string())?.file_name();
            let text = name.to_string_lossy();
            if text.starts_with("title.ratings.") && text.split('.').any(|part| part == "tsv") {
                tables.push(data.join(name).into_os_string());
            }
        }
        tables.sort();
        if let [first, second, ..] = &tables[..] {
            return usage(format!(
                "{} and {}: which one is meant? Keep one of them in that folder",
                Path::new(first).display(),
                Path::new(second).display()
            ));
        }
        Ok(tables.pop())
    }

    fn ratings(&self, published: Option<OsString>) -> Vec<OsString> {
        let mut arguments = vec!["ratings".into()];
        match published {
            Some(table) => arguments.push(table),
            None => arguments.extend(["--rows".into(), self.limited(generate::TITLES)]),
        }
        arguments.extend(self.on.arguments());
        arguments
    }

    fn streams(&self) -> Vec<OsString> {
        let mut arguments = vec!["streams".into()];
        for (option, usual) in [("--rows", 2_000_000), ("--queries", 2_000_000), ("--distinct", 1_000_000)] {
            arguments.extend([option.into(), self.limited(usual)]);
        }
        arguments.extend(self.on.arguments());
        arguments
    }

    fn speedup(&self) -> Vec<OsString> {
        let mut arguments = vec!["speedup".into()];
        if let Some(most) = self.most {
            let sizes =
                speedup::PRINTED.map(|printed| printed.records).into_iter().filter(|size| *size <= most);
            let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
            let sizes = if sizes.is_empty() { most.to_string() } else { sizes.join(",") };
            arguments.extend(["--records".into(), "0".into(), "--sizes".into(), sizes.into()]);
        }
        arguments
    }

    fn layers(&self) -> Vec<OsString> {
        let tables = self.found(&[NETFLIX, TMDB]);
        [OsString::from("layers")].into_iter().chain(tables).collect()
    }

    fn search(&self) -> Vec<OsString> {
        let mut arguments = vec!["search".into(), "--most".into(), self.limited(10_000_000)];
        if let Some(table) = self.found(&[NETFLIX]).into_iter().next() {
            arguments.extend([table, "--key".into(), "title".into()]);
        }
        arguments
    }

    fn design(&self) -> Vec<OsString> {
        let mut arguments = vec!["design".into()];
        for (option, usual) in [("--keys", 1_000_000), ("--probes", 10_000_000)] {
            arguments.extend([option.into(), self.limited(usual)]);
        }
        arguments
    }

    /// Writes what is about all of them.
    fn finish(&self, output: &Output, began: &Seen, all: &[(String, Done)], text: String) -> Result<()> {
        let mut sections =
            vec![Section::Text(format!("Measured on {}.", began.text())), Section::Table(table(all))];
        for (file, done) in all {
            sections.push(Section::Heading(done.title.clone()));
            sections.push(Section::Text(done.subtitle.clone()));
            let link = |ending: &str, text: &str, note: &str| Link {
                to: format!("{file}.{ending}"),
                text: text.into(),
                note: note.into(),
            };
            sections.push(Section::Links(vec![
                link("html", "The page", "tables and charts, the printed figures beside ours"),
                link("csv", "The figures as CSV", "a line for each measurement"),
            ]));
        }
        let tables =
            Link { to: "results.md".into(), text: "All tables as Markdown".into(), note: String::new() };
        sections.push(Section::Links(vec![tables]));
        let page = Page {
            title: "Published experiments, measured again".into(),
            subtitle: "Five projects and lectures on Bloom filters and Count-Min sketches, their figures beside ours".into(),
            sections,
        };
        let (index, tables) = (self.out.join("index.html"), self.out.join("results.md"));
        let draft = files::draft(&tables, |out| out.write_all(text.as_bytes()))?;
        files::finish_all([draft, notes::draft_page(&index, page)?])?;
        output.note(format!("{}: all pages; {}: their tables", index.display(), tables.display()));
        Ok(())
    }
}

/// What ran, and how it ended.
fn table(all: &[(String, Done)]) -> Table {
    let columns = vec![
        Column::left("experiment"),
        Column::right("time"),
        Column::left("what must hold"),
        Column::left("command"),
    ];
    let row = |(_, done): &(String, Done)| {
        let holds = if done.holds { "holds" } else { "DOES NOT HOLD" };
        vec![done.name.into(), number::seconds(done.seconds), holds.into(), done.command.clone()]
    };
    Table { columns, rows: all.iter().map(row).collect(), ..Table::default() }
}

/// The name of a file without its ending.
fn stem(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// Arguments as a line.
fn words(arguments: &[OsString]) -> String {
    let word = |argument: &OsString| match argument.to_string_lossy() {
        text if text.contains([' ', '[', '*', '\'']) => format!("'{text}'"),
        text => text.into_owned(),
    };
    arguments.iter().map(word).collect::<Vec<_>>().join(" ")
}
