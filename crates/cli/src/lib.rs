//! The command line of tamis: arguments → job → run → render.
//!
//! A library, so that other front ends can offer the same command; the program is [`run`] with the
//! arguments of its process.

mod arch;
mod arguments;
mod asked;
mod foreign;
mod given;
mod hadoop;
mod interrupt;
mod itself;
mod notes;
mod progress;
mod show;
mod spark;
mod verbs;
mod words;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use tamis::hash::HashKey;
use tamis::key::SuffixList;

pub use crate::arch::say_when_out_of_memory;
use crate::given::Given;
pub use crate::itself::Host;
use crate::verbs::{NoVerb, Verb};

/// Learn a set once, in little memory; then sieve tables and streams of any size through it, and
/// prove how well it does.
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
struct Cli<V: Subcommand = Verb> {
    #[command(flatten)]
    output: show::Output,
    #[command(flatten)]
    given: Given,
    #[command(subcommand)]
    verb: V,
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

/// The command line as a value, from which pages and completions are made.
pub fn command() -> Command {
    <Cli>::command()
}

/// The verbs alone that are among these words: to make the arguments of all known takes longer than many a job.
fn brief(words: &[OsString]) -> Command {
    verbs::among(words).fold(Cli::<NoVerb>::command(), Command::subcommand)
}

/// Runs the command with these arguments, the first of which is the name of the program, and gives its
/// exit code: 0 done, 1 the job failed or a check did not hold, 2 wrong usage. Once in a process: it takes over
/// the signals.
pub fn run(host: Host, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    itself::set(host);
    let code = outcome(arguments);
    // The end of a program writes what is left in here; whoever else has called this may end otherwise.
    let _ = io::stdout().flush();
    // An exit code does not tell its number, but it can be compared.
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1)
}

fn outcome(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let (cli, list, key) = match parsed(arguments) {
        Ok(parsed) => parsed,
        Err(wrong) => {
            // Help and the version are errors to clap, too, with the exit code 0. That nobody reads
            // them is no failure.
            let _ = wrong.print();
            return ExitCode::from(u8::try_from(wrong.exit_code()).unwrap_or(2));
        }
    };
    cli.verb.manner().set();
    // Arguments take more stack than all that follows. Where memory is limited, it must grow before a thread
    // reserves the rest.
    interrupt::listen();
    let checked = cli.verb.check_files(&cli.given.paths());
    let outcome = checked.and_then(|()| match cli.verb {
        Verb::Completions(completions) => completions.run(&mut command()),
        verb => verb.run(&cli.output),
    });
    if outcome.is_ok() {
        cli.given.warn_unused(list.as_ref(), key, &cli.output);
    }
    outcome.unwrap_or_else(|error| show::failure(&error))
}

/// The arguments, and the list of public suffixes and the key among them; or what is wrong with them.
fn parsed(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(Cli, Option<SuffixList>, Option<HashKey>), clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let whole = || taking_negative_numbers(command());
    let wrong = |why| whole().error(ErrorKind::ValueValidation, why);
    let list = given::read_list(&arguments).map_err(wrong)?;
    let understood = |mut command: Command| {
        let matches = command.try_get_matches_from_mut(&arguments)?;
        <Cli>::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    };
    // What is wrong, or asked for as help, is said by the whole.
    let cli = understood(taking_negative_numbers(brief(&arguments))).or_else(|_| understood(whole()))?;
    let key = cli.given.read_key().map_err(wrong)?;
    Ok((cli, list, key))
}
