//! One file per verb: its arguments, and how they become a job.

mod add;
mod build;
mod compare;
mod completions;
mod counters;
mod dedup;
mod demo;
mod explain;
mod filter;
mod generate;
mod inner_product;
mod inspect;
mod locate;
mod merge;
mod plan;
mod query;
mod remove;
mod remove_group;
mod reproduce;
mod stream;
mod test;
mod top;
mod verify;
mod windows;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::interrupt::Manner;
use crate::show::Output;

/// What tamis can do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Demo(demo::Demo),
    Generate(generate::Generate),
    Plan(plan::Plan),
    Build(build::Build),
    Add(add::Add),
    Remove(remove::Remove),
    RemoveGroup(remove_group::RemoveGroup),
    Merge(merge::Merge),
    Test(test::Test),
    Query(query::Query),
    Locate(locate::Locate),
    Top(top::Top),
    InnerProduct(inner_product::InnerProduct),
    Filter(filter::Filter),
    Dedup(dedup::Dedup),
    // By far the largest.
    Stream(Box<stream::Stream>),
    Inspect(inspect::Inspect),
    Compare(compare::Compare),
    Verify(verify::Verify),
    Reproduce(reproduce::Reproduce),
    Completions(completions::Completions),
}

impl Verb {
    /// How it ends when it is asked to: a stream saves its state.
    pub fn manner(&self) -> Manner {
        match self {
            Verb::Stream(_) => Manner::Well,
            _ => Manner::Soon,
        }
    }

    /// Does it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self {
            Verb::Demo(verb) => verb.run(output),
            Verb::Generate(verb) => verb.run(output),
            Verb::Plan(verb) => verb.run(output),
            Verb::Build(verb) => verb.run(output),
            Verb::Add(verb) => verb.run(output),
            Verb::Remove(verb) => verb.run(output),
            Verb::RemoveGroup(verb) => verb.run(output),
            Verb::Merge(verb) => verb.run(output),
            Verb::Test(verb) => verb.run(output),
            Verb::Query(verb) => verb.run(output),
            Verb::Locate(verb) => verb.run(output),
            Verb::Top(verb) => verb.run(output),
            Verb::InnerProduct(verb) => verb.run(output),
            Verb::Filter(verb) => verb.run(output),
            Verb::Dedup(verb) => verb.run(output),
            Verb::Stream(verb) => verb.run(output),
            Verb::Inspect(verb) => verb.run(output),
            Verb::Compare(verb) => verb.run(output),
            Verb::Verify(verb) => verb.run(output),
            Verb::Reproduce(verb) => verb.run(output),
            Verb::Completions(_) => unreachable!("made before any verb runs"),
        }
    }
}
