//! Every call by which the program writes fails once, in every way; and power is lost at every moment.
//!
//! Each job is run in peace, and its calls on files are listed; then it is run again for every call and everything that
//! may befall it, and what is left is judged, and what the next run makes of it. The README says what is asked.
//!
//! Where calls cannot be followed (anywhere but on Linux, x86-64) there is nothing here.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[allow(unsafe_code)]
mod arch;
mod calls;
mod folder;
mod jobs;
mod judge;
mod power;
mod run;
mod trace;

pub use run::main;
