//! The program `tamis`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tamis_cli::say_when_out_of_memory();
    tamis_cli::run(std::env::args_os())
}
