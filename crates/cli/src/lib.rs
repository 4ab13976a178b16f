//! The command line of tamis: arguments → job → run → render.
//!
//! A library, so that other front ends can offer the same command; the program is [`run`] with the
//! arguments of its process.

mod arguments;
mod asked;
mod interrupt;
mod notes;
mod progress;
mod show;
mod spark;
mod verbs;
mod words;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};
use tamis::key::SuffixList;
use tamis_read::Error;

use crate::verbs::Verb;

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
struct Cli {
    #[command(flatten)]
    output: show::Output,
    /// A public suffix list for the step `domain`, in place of the one in the program; also for files that
    /// were made with it
    #[arg(long, global = true, value_name = "FILE", help_heading = show::GENERAL)]
    suffix_list: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
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

/// Runs the command with these arguments, the first of which is the name of the program, and gives its
/// exit code: 0 done, 1 the job failed or a check did not hold, 2 wrong usage.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    interrupt::listen();
    let (cli, list) = match parsed(arguments) {
        Ok(parsed) => parsed,
        Err(wrong) => {
            // Help and the version are errors to clap, too, with the exit code 0. That nobody reads
            // them is no failure.
            let _ = wrong.print();
            return ExitCode::from(u8::try_from(wrong.exit_code()).unwrap_or(2));
        }
    };
    cli.verb.manner().set();
    let checked = cli.verb.check_files(cli.suffix_list.as_deref());
    let outcome = checked.and_then(|()| match cli.verb {
        Verb::Completions(completions) => completions.run(&mut Cli::command()),
        verb => verb.run(&cli.output),
    });
    if let (Ok(_), Some(path), Some(list)) = (&outcome, &cli.suffix_list, list)
        && !list.is_asked()
    {
        let path = path.display();
        cli.output
            .warn(format!("--suffix-list {path} was not used: no step domain here is made with this list"));
    }
    outcome.unwrap_or_else(|error| show::failure(&error))
}

/// The list of public suffixes among the arguments.
fn suffix_list(arguments: &[OsString]) -> Option<PathBuf> {
    const NAME: &str = "--suffix-list";
    let named: Vec<&OsString> = arguments.iter().take_while(|argument| *argument != "--").collect();
    let value = |at: usize| match named[at].to_str()?.strip_prefix(NAME)? {
        "" => named.get(at + 1).map(PathBuf::from),
        value => value.strip_prefix('=').map(PathBuf::from),
    };
    (0..named.len()).find_map(value)
}

/// The arguments and the list of public suffixes among them, or what is wrong with them.
fn parsed(arguments: impl IntoIterator<Item = OsString>) -> Result<(Cli, Option<SuffixList>), clap::Error> {
    let mut command = taking_negative_numbers(Cli::command());
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut list = None;
    if let Some(path) = suffix_list(&arguments) {
        // Before all else: columns are understood with it.
        let text = fs::read_to_string(&path).map_err(|error| {
            let why = format!("--suffix-list {}", Error::io(&path)(error));
            command.error(clap::error::ErrorKind::ValueValidation, why)
        })?;
        if !SuffixList::is_one(&text) {
            let why = format!("--suffix-list {}: this is not a public suffix list", path.display());
            return Err(command.error(clap::error::ErrorKind::ValueValidation, why));
        }
        list = Some(SuffixList::add(&text));
    }
    let matches = command.try_get_matches_from_mut(arguments)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, list))
}
