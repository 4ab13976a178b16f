//! Reports: tables and small charts for the terminal, pages with charts for the browser, CSV for programs.
//!
//! Plain data in, strings out. A [`Table`] and a [`Chart`] are made once and shown in either place;
//! a [`Page`] is one file without links to anything else, for light and dark, screen and paper.

mod axis;
mod chart;
pub mod check;
pub mod contents;
mod crowd;
mod csv;
pub mod dedup;
pub mod design;
pub mod explain;
mod facts;
pub mod filter;
pub mod health;
pub mod inspect;
pub mod lesson;
mod page;
pub mod parquet;
pub mod plan;
mod printed;
pub mod rank;
mod sources;
pub mod state;
pub mod stream;
mod svg;
mod table;
mod terminal;
#[cfg(test)]
mod tests;
pub mod top;

pub use axis::{Axis, Format, Scale};
pub use chart::{CROWD, Chart, Mark};
pub use csv::{Cell, Csv};
pub use page::{Figure, Gravity, Link, Page, STYLE, Section, Step};
pub use sources::Source;
pub use svg::stacked_svg;
pub use table::{Align, Column, PAGE_ROWS, Table};
pub use terminal::plot;
