//! The program `tamis`.

use std::process::ExitCode;

use tamis_cli::Host;

fn main() -> ExitCode {
    tamis_cli::say_when_out_of_memory();
    ExitCode::from(tamis_cli::run(Host::Program, std::env::args_os()))
}
