//! The jobs as front ends see them. One program, so that it is linked once.

mod chosen_keys;
mod counts;
mod guarantees;
mod laws;
mod memory;
mod records;
mod removal;
mod spread;
mod tables;
mod words;
