//! Published experiments, run again and set beside the figures that were printed.
//!
//! | who | what | where |
//! |---|---|---|
//! | Antonio Patimo | Bloom Filters in Spark | [`ratings`] |
//! | Logothetis N. Fragkoulis | Implementation of Bloom Filter and Count-Min Sketch in Apache Spark | [`streams`] |
//! | Luisa Collodi, Matteo Ghera | Implementation of Bloom Filter using Java and Java Hadoop | [`speedup`] |
//! | Lalit Sharma | Searching in large dataset using multi-layered Bloom filter | [`layers`], [`search`], [`documents`] |
//! | Carlos Castillo, Teodora Sandra Buda | Data Streams: Bloom Filters (slides) | [`design`] |
//!
//! [`scale`] is no experiment: a job on paper, for machines that are not here.
//!
//! [`generate`] makes the data, from a seed. What each finds is shown as [`Findings`].

pub mod design;
mod distinct;
pub mod documents;
mod findings;
pub mod generate;
pub mod layers;
mod layers_report;
pub mod machine;
pub mod ratings;
pub mod sample;
pub mod scale;
pub mod search;
pub mod speedup;
pub mod streams;

pub use self::findings::Findings;
pub use self::layers_report::Layers;
