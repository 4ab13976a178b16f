//! Every call by which the program writes fails once, in every way; and power is lost at every moment.
//!
//! `tamis-faults PROGRAM [WORD]` runs each job in peace and lists its calls on files; then runs it again for every call
//! and everything that may befall it, and judges what is left and what the next run makes of it. WORD: only the jobs
//! whose names contain it; then no number of faults is asked for.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod arch;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod folder;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod jobs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod judge;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod power;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace;

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> ExitCode {
    run::main()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() -> ExitCode {
    println!("faults are not tried here: calls are followed on Linux, x86-64 alone");
    ExitCode::SUCCESS
}
