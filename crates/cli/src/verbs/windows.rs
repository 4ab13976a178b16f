//! What is said of windows, and what of rows that came at the wrong time.

use std::time::Duration;

use clap::Args;
use tamis_make::number;
use tamis_stream::{Judged, Late, TimeColumn, Windowed, request};

use crate::arguments;
use crate::show::Output;

/// A window that moves on with time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Windows")]
pub struct Windows {
    /// Length of the window: keys that arrived within it are known (24h, 7d, 90s)
    #[arg(long, value_parser = arguments::duration, value_name = "TIME")]
    window: Option<Duration>,
    /// Step by which the window moves. The window is a whole number of slides, at most 10,000
    /// [default: 1/24 of the window]
    #[arg(long, value_parser = arguments::duration, value_name = "TIME", requires = "window")]
    slide: Option<Duration>,
    /// Column with the time of a row, with steps and the unit of numbers: `at`, `ts:ms`
    /// [default: the time at which the row arrives]
    #[arg(long, value_name = "COLUMN[:UNIT]", requires = "window")]
    time: Option<TimeColumn>,
    /// Allowed lateness: how far behind the newest time a row may be and still be on time [default: 0]
    #[arg(long, value_parser = arguments::duration, value_name = "TIME", requires = "time")]
    lateness: Option<Duration>,
    /// Whether to take or drop rows that are late but within the window [default: take]
    #[arg(long, value_parser = arguments::one_of(Late::ALL, Late::name), requires = "time")]
    late: Option<Late>,
    /// How far ahead of this machine's clock the time of a row may be [default: --slide, at least 1m]
    #[arg(long, value_parser = arguments::duration, value_name = "TIME", requires = "time")]
    ahead: Option<Duration>,
}

impl Windows {
    /// The request.
    pub fn request(&self) -> request::Windows {
        let Windows { window, slide, lateness, late, ahead, .. } = *self;
        request::Windows { window, slide, time: self.time.clone(), lateness, late, ahead }
    }
}

/// Says which rows came at the wrong time.
pub fn notes(output: &Output, window: &Windowed) {
    let Some(Judged { late, expired, ahead }) = window.judged else { return };
    if late > 0 && !window.takes_late {
        output.warn(format!("skipped {} (--late take keeps them)", number::counted(late, "late row")));
    }
    if expired > 0 {
        output.note(format!("skipped {}, older than the window", number::counted(expired, "expired row")));
    }
    if ahead > 0 {
        output.warn(format!(
            "skipped {} dated too far after this machine's clock (--ahead allows more)",
            number::counted(ahead, "row")
        ));
    }
}
