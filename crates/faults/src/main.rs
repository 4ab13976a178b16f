//! `tamis-faults PROGRAM [faults | power | calls] [WORD]`: all faults and losses of power, or one of the two, or a list of
//! calls; of all jobs, or of those whose names contain a word.

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> ExitCode {
    tamis_faults::main()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> ExitCode {
    println!("faults are not tried here: calls are followed on Linux, x86-64 alone");
    ExitCode::SUCCESS
}
