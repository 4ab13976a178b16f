//! The command line, tried with the real program. One file per theme; one program of tests,
//! because it is linked once and its tests run side by side.

mod bad_input;
mod build;
mod counts;
mod damage;
mod declared;
mod dedup;
mod dedup_state;
mod filter;
mod formats;
mod golden;
mod groups;
mod index;
mod interrupt;
mod key_steps;
mod layered;
mod logs;
mod merge;
mod messages;
mod output;
mod plan;
mod query;
mod reading;
mod rebuild;
mod remove;
mod states;
mod steps;
mod stream;
mod stream_crash;
mod stream_edges;
mod stream_live;
mod stream_window;
mod strict;
mod support;
mod test;
mod verbs;
