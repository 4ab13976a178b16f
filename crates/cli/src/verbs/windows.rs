//! What is said of windows, and what of rows that came at the wrong time.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::{Args, ValueEnum};
use tamis_jobs::number;
use tamis_stream::{By, Event, Judged, Late, TimeColumn, Window, Windowed};

use crate::arguments;
use crate::show::{Output, usage};

/// A window that moves on with time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Windows")]
pub struct Windows {
    /// Know only what came in so much time: 24h, 7d, 90s
    #[arg(long, value_parser = arguments::duration, value_name = "TIME")]
    window: Option<Duration>,
    /// The step by which the window moves on; it has a whole number of them, up to 10,000
    /// [default: a 24th of it]
    #[arg(long, value_parser = arguments::duration, value_name = "TIME", requires = "window")]
    slide: Option<Duration>,
    /// The column with the time of a row, with steps and the unit of numbers: `at`, `ts:ms`
    /// [default: rows have the time at which they arrive]
    #[arg(long, value_name = "COLUMN[:UNIT]", requires = "window")]
    time: Option<TimeColumn>,
    /// So much behind the newest time rows are not late [default: 0]
    #[arg(long, value_parser = arguments::duration, value_name = "TIME", requires = "time")]
    lateness: Option<Duration>,
    /// What becomes of rows that are late, but within the window [default: take]
    #[arg(long, value_enum, requires = "time")]
    late: Option<LateName>,
    /// So much after this machine's clock a time is believed [default: --slide, and 1m at least]
    #[arg(long, value_parser = arguments::duration, value_name = "TIME", requires = "time")]
    ahead: Option<Duration>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LateName {
    Take,
    Drop,
}

impl Windows {
    /// Whether there is one.
    pub fn given(&self) -> bool {
        self.window.is_some()
    }

    /// The window that is asked for.
    pub fn asked(&self) -> Result<Option<Window>> {
        let Some(length) = self.window else { return Ok(None) };
        let by = match &self.time {
            None => By::Arrival,
            Some(time) => By::Event(Event {
                time: time.clone(),
                lateness: self.lateness.unwrap_or_default(),
                late: match self.late {
                    Some(LateName::Drop) => Late::Drop,
                    Some(LateName::Take) | None => Late::Take,
                },
                ahead: self.ahead,
            }),
        };
        let window = Window::new(length, self.slide, by, SystemTime::now);
        window.map(Some).or_else(|error| usage(error.to_string()))
    }

    /// How long a batch gathers where the user does not say: rows that arrive have the time of their
    /// batch, which therefore waits for nothing.
    pub fn every(&self, window: Option<&Window>) -> Option<Duration> {
        let window = window.filter(|_| self.time.is_none())?;
        Some(window.slide().min(Duration::from_secs(1)))
    }
}

/// Says which rows came at the wrong time.
pub fn notes(output: &Output, window: &Windowed) {
    let Some(Judged { late, expired, ahead }) = window.judged else { return };
    if late > 0 && !window.takes_late {
        output.warn(format!("left out {} (--late take takes them)", number::counted(late, "late row")));
    }
    if expired > 0 {
        output.note(format!("left out {}, too old for the window", number::counted(expired, "expired row")));
    }
    if ahead > 0 {
        output.warn(format!(
            "left out {} dated too far after this machine's clock (--ahead allows more)",
            number::counted(ahead, "row")
        ));
    }
}
