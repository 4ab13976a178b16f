//! A page as text, for a terminal: the same sections, in the same order.

use tamis_make::text::{visible_lines, width, wrap};

use super::page::{Figure, Link, Page, Section, Step, paragraphs};
use super::terminal::plot;

/// No paragraph has more lines than this.
const MOST_LINES: usize = 1000;

/// The lines of a chart.
const CHART_LINES: usize = 18;

/// The left column of steps is at most this wide.
const MOST_LEFT: usize = 34;

impl Page {
    /// The page as text, at most this many columns wide; tables alone may be wider.
    pub fn text(&self, columns: usize) -> String {
        let columns = columns.max(40);
        let mut out = under(&self.title, '═', columns);
        if !self.subtitle.is_empty() {
            out += &lines(wrap(&self.subtitle, columns, MOST_LINES));
        }
        for section in &self.sections {
            out += "\n";
            out += &section.text(columns);
        }
        out
    }
}

impl Section {
    fn text(&self, columns: usize) -> String {
        match self {
            Section::Heading(text) => under(text, '─', columns),
            Section::Text(text) => {
                let wrapped: Vec<String> =
                    paragraphs(text).iter().map(|text| lines(wrap(text, columns, MOST_LINES))).collect();
                wrapped.join("\n")
            }
            Section::Figures(figures) => {
                let step = |Figure { label, value, note }: &Figure| match note {
                    Some(note) => Step::new(label, format!("{value} ({note})")),
                    None => Step::new(label, value),
                };
                steps(&figures.iter().map(step).collect::<Vec<_>>(), columns)
            }
            Section::Table(table) => table.text(),
            Section::Charts(charts) => {
                let drawn: Vec<String> = charts
                    .iter()
                    .filter(|chart| chart.compares())
                    .map(|chart| plot(chart, columns.min(80), CHART_LINES))
                    .collect();
                drawn.join("\n")
            }
            Section::Steps(all) => steps(all, columns),
            Section::Links(links) => {
                let step = |Link { to, text, note }: &Link| match &note[..] {
                    "" => Step::new(text, to),
                    note => Step::new(text, format!("{to}: {note}")),
                };
                steps(&links.iter().map(step).collect::<Vec<_>>(), columns)
            }
            Section::Note(gravity, text) => {
                lines(wrap(&format!("{} {text}", gravity.word()), columns, MOST_LINES))
            }
        }
    }
}

fn lines(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| visible_lines(&line) + "\n").collect()
}

/// A heading, with a line below it.
fn under(text: &str, sign: char, columns: usize) -> String {
    let wrapped = wrap(text, columns, MOST_LINES);
    let widest = wrapped.iter().map(|line| width(line)).max().unwrap_or(0);
    lines(wrapped) + &sign.to_string().repeat(widest) + "\n"
}

/// Two columns: what each step is about, and what holds of it.
fn steps(steps: &[Step], columns: usize) -> String {
    let widest = steps.iter().map(|step| width(&step.what)).max().unwrap_or(0);
    let left = widest.min(MOST_LEFT).min(columns / 2);
    let right = columns - left - 4;
    let mut out = String::new();
    for Step { what, holds } in steps {
        let (what, holds) = (wrap(what, left, MOST_LINES), wrap(holds, right, MOST_LINES));
        for i in 0..what.len().max(holds.len()) {
            let cell = |cells: &[String]| cells.get(i).map_or(String::new(), |cell| cell.clone());
            let (what, holds) = (cell(&what), cell(&holds));
            let line = format!("  {what}{}  {holds}", " ".repeat(left - width(&what)));
            out += line.trim_end();
            out += "\n";
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gravity;

    #[test]
    fn a_page_reads_as_text_in_the_order_of_its_sections() {
        let page = Page {
            title: "Darts".into(),
            subtitle: "and targets".into(),
            sections: vec![
                Section::Figures(vec![Figure::new("keys", "10").note("few"), Figure::new("bits", "80")]),
                Section::Heading("One hash".into()),
                Section::Text("A key throws a dart at the targets,\nand hits one.\n\nAlways.".into()),
                Section::Steps(vec![
                    Step::new("the bit stays 0", "e^(−n/m) = 0.8825, as was worked out above"),
                    Step::new("it is 1", "0.1175"),
                ]),
                Section::Note(Gravity::Info, "that is all".into()),
            ],
        };
        assert_eq!(
            page.text(40),
            "\
Darts
═════
and targets

  keys  10 (few)
  bits  80

One hash
────────

A key throws a dart at the targets, and
hits one.

Always.

  the bit stays 0  e^(−n/m) = 0.8825, as
                   was worked out above
  it is 1          0.1175

Note: that is all
"
        );
    }
}
