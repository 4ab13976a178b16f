//! A page: one HTML file that needs nothing else.
//!
//! No fonts, images or links from elsewhere (an index has links to the files beside it); the one small script sorts tables, and the page is
//! whole without it. All text that comes from data is escaped.

use tamis_make::text::{escape, width};

use super::chart::Chart;
use super::svg::{RULES, THEME};
use super::table::Table;

const LAYOUT: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("sort.js");

/// The style that charts need in a page of another make: what a [`Page`] has by itself.
pub const STYLE: &str = concat!(include_str!("theme.css"), include_str!("chart.css"));

/// A page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// A line below it; may be empty.
    pub subtitle: String,
    /// What it holds, from top to bottom.
    pub sections: Vec<Section>,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Section {
    /// A heading.
    Heading(String),
    /// Text; empty lines part its paragraphs.
    Text(String),
    /// The numbers that matter most, large.
    Figures(Vec<Figure>),
    /// A table, capped at [`PAGE_ROWS`](super::PAGE_ROWS) rows.
    Table(Table),
    /// Charts, beside each other where there is room; those that compare nothing are left out.
    Charts(Vec<Chart>),
    /// A derivation, step by step; or short answers to short questions.
    Steps(Vec<Step>),
    /// Files beside the page: what an index is for.
    Links(Vec<Link>),
    /// Something that the reader should not miss.
    Note(Gravity, String),
}

/// A file beside the page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Link {
    /// Its name.
    pub to: String,
    /// What it is.
    pub text: String,
    /// More about it.
    pub note: String,
}

/// A number that matters: `keys`, `1,260,817`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// The number, as it is written.
    pub value: String,
    /// A few words below it.
    pub note: Option<String>,
}

/// A step of a derivation: `the bit stays 0`, `e^(−n/m) = 0.8825`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// What it is about.
    pub what: String,
    /// What holds of it.
    pub holds: String,
}

impl Step {
    /// A step.
    pub fn new(what: impl Into<String>, holds: impl Into<String>) -> Step {
        Step { what: what.into(), holds: holds.into() }
    }
}

/// How grave a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gravity {
    /// Good to know.
    Info,
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
}

impl Gravity {
    /// The word that a note begins with.
    pub(super) fn word(self) -> &'static str {
        match self {
            Gravity::Info => "Note:",
            Gravity::Warning => "Warning:",
            Gravity::Error => "Failed:",
        }
    }
}

impl Figure {
    /// A number without further words.
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Figure {
        Figure { label: label.into(), value: value.into(), note: None }
    }

    /// The same, with a few words below it.
    pub fn note(self, note: impl Into<String>) -> Figure {
        Figure { note: Some(note.into()), ..self }
    }
}

impl Page {
    /// The page as one HTML file.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>\n{THEME}{LAYOUT}{RULES}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n"
        );
        if !self.subtitle.is_empty() {
            out += &format!("<p class=\"subtitle\">{}</p>\n", escape(&self.subtitle));
        }
        out += "</header>\n";
        for section in &self.sections {
            out += &section.html();
        }
        out += "</main>\n";
        if self.sections.iter().any(|section| matches!(section, Section::Table(_))) {
            out += &format!("<script>\n{SCRIPT}</script>\n");
        }
        out + "</body>\n</html>\n"
    }
}

impl Section {
    fn html(&self) -> String {
        match self {
            Section::Heading(text) => format!("<h2>{}</h2>\n", escape(text)),
            Section::Text(text) => {
                paragraphs(text).iter().map(|text| format!("<p>{}</p>\n", escape(text))).collect()
            }
            Section::Figures(figures) => {
                let figures: String = figures.iter().map(figure).collect();
                format!("<dl class=\"figures\">\n{figures}</dl>\n")
            }
            Section::Table(table) => table.html(),
            Section::Charts(charts) => {
                let charts: String = charts
                    .iter()
                    .filter(|chart| chart.compares())
                    .map(|chart| format!("<figure>\n{}</figure>\n", chart.svg()))
                    .collect();
                if charts.is_empty() { charts } else { format!("<div class=\"charts\">\n{charts}</div>\n") }
            }
            Section::Links(links) => {
                let link = |Link { to, text, note }: &Link| {
                    let note = if note.is_empty() { String::new() } else { format!(": {}", escape(note)) };
                    format!("<li><a href=\"{}\">{}</a>{note}</li>\n", escape(to), escape(text))
                };
                format!("<ul>\n{}</ul>\n", links.iter().map(link).collect::<String>())
            }
            Section::Steps(steps) => {
                let step = |Step { what, holds }: &Step| {
                    format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(what), escape(holds))
                };
                format!("<dl class=\"steps\">\n{}</dl>\n", steps.iter().map(step).collect::<String>())
            }
            Section::Note(kind, text) => {
                let class = match kind {
                    Gravity::Info => "callout",
                    Gravity::Warning => "callout warning",
                    Gravity::Error => "callout error",
                };
                let word = kind.word();
                format!("<p class=\"{class}\" role=\"note\"><strong>{word}</strong> {}</p>\n", escape(text))
            }
        }
    }
}

fn figure(figure: &Figure) -> String {
    let note = match &figure.note {
        Some(note) => format!("<dd class=\"note\">{}</dd>", escape(note)),
        None => String::new(),
    };
    format!(
        "<div><dt>{}</dt><dd class=\"value{}\">{}</dd>{note}</div>\n",
        escape(&figure.label),
        if width(&figure.value) > 9 { " long" } else { "" },
        escape(&figure.value)
    )
}

/// The paragraphs of a text, which empty lines part, each in one line.
pub(super) fn paragraphs(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.split(|line| line.is_empty()).map(|lines| lines.join(" ")).filter(|text| !text.is_empty()).collect()
}
