//! A door for fuzzing: parts that say anything, sealed as if this program had written them.

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, Name};
use tamis::sizing::Kind;
use tamis_read::{Control, Options};

use crate::check::apart::Judge;
use crate::request::at_rate;
use tamis_make::build::Job;
use tamis_make::plan::{self, Size};
use tamis_make::rows::BadRows;
use tamis_make::spread::wire::{Content, Writer};
use tamis_make::spread::{Counter, Merger};

/// Reads bytes as the content of every kind of part. No panic, and no memory on their word.
pub fn parts(bytes: &[u8]) {
    for (kind, field) in [(Kind::Blocked, "1"), (Kind::Bloom, "1"), (Kind::Layered, "1:split=,")] {
        let key = vec![field.parse().expect("a field")];
        let recipe = Recipe { key, ..Recipe::lines() };
        let common = Common { kind, hash: Scheme::DEFAULT, recipe };
        let counts = vec![(Name::default(), 100)];
        let layers = u32::from(kind == Kind::Layered);
        let params = plan::parameters(common.clone(), counts, Size::Fpr(0.01), layers).expect("a plan");
        let job = Job {
            inputs: Vec::new(),
            options: Options::default(),
            sketches: at_rate(&common, 0.01).expect("a kind that has a rate"),
            recipe: common.recipe,
            bad_rows: BadRows::Fail,
            threads: 1,
            memory: tamis_make::count::MEMORY,
            about: Default::default(),
        };
        let sealed = |content, digest| {
            let mut out = Writer::new(content, digest);
            out.bytes(bytes);
            out.finish()
        };
        let mut counter = Counter::new(job).expect("a job");
        if counter.absorb(&sealed(Content::Counts, counter.digest())).is_ok() {
            counter.parts(4, 100).expect("what was seen can be told");
        }
        let _ = counter.conclude(None, 1, &Control::default());
        let mut merger = Merger::new(&params, 64).expect("parameters");
        for content in [Content::Touches, Content::Words, Content::Tally] {
            let _ = merger.absorb(&sealed(content, merger.digest()));
        }
        merger.drain();
        let mut judge = Judge::new(&params);
        let _ = judge.absorb(&sealed(Content::Keys, judge.digest()));
    }
}
