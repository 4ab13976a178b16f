//! The command line of tamis: arguments → job → run → render.

mod arguments;
mod interrupt;
mod notes;
mod progress;
mod show;
mod spark;
mod verbs;
mod words;

use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};

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

/// The arguments, or the end of the program with what is wrong with them.
fn arguments() -> Cli {
    let mut command = taking_negative_numbers(Cli::command());
    let matches = command.get_matches_mut();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// Lets a negative number be the value of an option, of which the option can say what is wrong; it
/// would be an unknown option otherwise.
fn taking_negative_numbers(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let takes = arg.get_action().takes_values() && !arg.is_positional();
            if takes { arg.allow_negative_numbers(true) } else { arg }
        })
        .mut_subcommands(taking_negative_numbers)
}

fn main() -> ExitCode {
    let cli = arguments();
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
