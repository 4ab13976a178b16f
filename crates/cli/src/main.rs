//! The command line of tamis: arguments → job → run → render.

mod arguments;
mod interrupt;
mod notes;
mod progress;
mod show;
mod verbs;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::verbs::Verb;

/// Learn a set once, in little memory; then sieve tables of any size through it, and prove how
/// well it does.
#[derive(Debug, Parser)]
#[command(name = "tamis", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  tamis demo                                            the main job, on data it makes itself
  tamis build users.csv --key email:trim,lower -o users.tamis
  tamis query users.tamis ann@example.org
  tamis filter users.tamis mail.csv --key sender -o known.csv
  tamis build ratings.tsv --key tconst --group averageRating:round --fpr 0.01 -o ratings.tamis
  tamis test ratings.tamis ratings.tsv --report report.html

Exit codes: 0 done, 1 the job failed or a check did not hold, 2 wrong usage.")]
struct Cli {
    #[command(flatten)]
    output: show::Output,
    #[command(subcommand)]
    verb: Verb,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::listen();
    let outcome = match cli.verb {
        Verb::Completions(completions) => completions.run(&mut Cli::command()),
        verb => verb.run(&cli.output),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => show::failure(&error),
    }
}
