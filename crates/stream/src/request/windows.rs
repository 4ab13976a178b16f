//! A window, as far as one was asked for.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tamis_jobs::request::{json, time};

use super::Refusal;
use crate::opt;
use crate::window::{By, Event, Late, TimeColumn, Window};

/// A window, as far as one was asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Windows {
    /// Its length.
    #[serde(with = "time::optional")]
    pub window: Option<Duration>,
    /// The step by which it moves.
    #[serde(with = "time::optional")]
    pub slide: Option<Duration>,
    /// The column of the time of a row.
    #[serde(with = "json::optional")]
    pub time: Option<TimeColumn>,
    /// How far behind the newest time a row is still on time.
    #[serde(with = "time::optional")]
    pub lateness: Option<Duration>,
    /// What becomes of rows that are late.
    pub late: Option<Late>,
    /// How far ahead of the clock the time of a row may be.
    #[serde(with = "time::optional")]
    pub ahead: Option<Duration>,
}

impl Windows {
    /// The window that follows from it, if one was asked for.
    pub(super) fn resolve(&self) -> Result<Option<Window>, Refusal> {
        let needs = [
            (self.slide.is_some(), opt::SLIDE, self.window.is_some(), opt::WINDOW),
            (self.time.is_some(), opt::TIME, self.window.is_some(), opt::WINDOW),
            (self.lateness.is_some(), opt::LATENESS, self.time.is_some(), opt::TIME),
            (self.late.is_some(), opt::LATE, self.time.is_some(), opt::TIME),
            (self.ahead.is_some(), opt::AHEAD, self.time.is_some(), opt::TIME),
        ];
        if let Some((_, option, _, other)) = needs.iter().find(|(given, _, with, _)| *given && !with) {
            return Err(Refusal::Needs(*option, *other));
        }
        let Some(length) = self.window else { return Ok(None) };
        let by = match &self.time {
            None => By::Arrival,
            Some(time) => By::Event(Event {
                time: time.clone(),
                lateness: self.lateness.unwrap_or_default(),
                late: self.late.unwrap_or(Late::Take),
                ahead: self.ahead,
            }),
        };
        Window::new(length, self.slide, by, SystemTime::now).map(Some).map_err(Refusal::Window)
    }
}
