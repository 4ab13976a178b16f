//! The program `tamis`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tamis_cli::run(std::env::args_os())
}
