//! Reports: tables and small charts for the terminal, and pages with charts for the browser.
//!
//! Plain data in, strings out. A [`Table`] and a [`Chart`] are made once and shown in either place;
//! a [`Page`] is one file without links to anything else, for light and dark, screen and paper.

mod axis;
mod chart;
mod crowd;
pub mod number;
mod page;
mod svg;
mod table;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

pub use axis::{Axis, Format, Scale};
pub use chart::{CROWD, Chart, Mark};
pub use page::{Figure, Kind, Page, STYLE, Section};
pub use svg::stacked_svg;
pub use table::{Align, Column, PAGE_ROWS, Table};
pub use terminal::plot;
pub use text::{group_name, listed_name, printable};
