//! A table of text, for the terminal and for the page.

use tamis_make::text::{clip, escape, width};

/// A table: named columns, rows of text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// What it shows; stands above it.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows. A missing value is an empty cell.
    pub rows: Vec<Vec<String>>,
    /// What a reader should know; stands below it.
    pub notes: Vec<String>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Where its values stand.
    pub align: Align,
}

/// Where the values of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// The most rows that a page shows: a browser stays quick with them.
pub const PAGE_ROWS: usize = 500;

/// The most columns of the terminal that one value takes.
const CELL: usize = 80;

/// What is longer breaks into lines in a page.
const LONG: usize = 28;

static EMPTY: Column = Column { name: String::new(), align: Align::Left };

impl Column {
    /// A column of text.
    pub fn left(name: impl Into<String>) -> Column {
        Column { name: name.into(), align: Align::Left }
    }

    /// A column of numbers.
    pub fn right(name: impl Into<String>) -> Column {
        Column { name: name.into(), align: Align::Right }
    }
}

impl Table {
    /// The columns, and unnamed ones where a row has more values than there are columns.
    fn all_columns(&self) -> impl Iterator<Item = &Column> {
        let most = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.columns.len());
        (0..most).map(|i| self.columns.get(i).unwrap_or(&EMPTY))
    }

    /// The table for a terminal, with all its rows; each line ends with a line break.
    ///
    /// ```
    /// use tamis_report::{Column, Table};
    ///
    /// let table = Table {
    ///     columns: vec![Column::left("group"), Column::right("keys")],
    ///     rows: vec![vec!["7".into(), "349,453".into()], vec!["10".into(), "17,737".into()]],
    ///     ..Table::default()
    /// };
    /// assert_eq!(table.text(), "\
    /// group     keys
    /// ─────  ───────
    /// 7      349,453
    /// 10      17,737
    /// ");
    /// ```
    pub fn text(&self) -> String {
        let mut out = String::new();
        if !self.caption.is_empty() {
            push_line(&mut out, &clip(&self.caption, usize::MAX));
        }
        let columns: Vec<&Column> = self.all_columns().collect();
        let head: Vec<String> = columns.iter().map(|column| clip(&column.name, CELL)).collect();
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| clip(cell, CELL)).collect()).collect();
        let mut widths: Vec<usize> = head.iter().map(|cell| width(cell)).collect();
        for row in &rows {
            for (most, cell) in widths.iter_mut().zip(row) {
                *most = width(cell).max(*most);
            }
        }
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (i, (column, most)) in columns.iter().zip(&widths).enumerate() {
                let cell = cells.get(i).map_or("", String::as_str);
                let space = " ".repeat(most - width(cell));
                let gap = if i == 0 { "" } else { "  " };
                text += &match column.align {
                    Align::Left => format!("{gap}{cell}{space}"),
                    Align::Right => format!("{gap}{space}{cell}"),
                };
            }
            text
        };
        if !columns.is_empty() {
            push_line(&mut out, &line(&head));
            let rule: Vec<String> = widths.iter().map(|most| "─".repeat(*most)).collect();
            push_line(&mut out, &rule.join("  "));
        }
        for row in &rows {
            push_line(&mut out, &line(row));
        }
        for note in &self.notes {
            push_line(&mut out, &clip(note, usize::MAX));
        }
        out
    }

    /// The table as Markdown, with all its rows, for documents.
    ///
    /// ```
    /// use tamis_report::{Column, Table};
    ///
    /// let table = Table {
    ///     caption: "Keys".into(),
    ///     columns: vec![Column::left("group"), Column::right("keys")],
    ///     rows: vec![vec!["a|b".into(), "349,453".into()]],
    ///     ..Table::default()
    /// };
    /// assert_eq!(table.markdown(), "**Keys**\n\n| group | keys |\n|---|---:|\n| a\\|b | 349,453 |\n");
    /// ```
    pub fn markdown(&self) -> String {
        let columns: Vec<&Column> = self.all_columns().collect();
        let cell = |text: &str| clip(text, usize::MAX).replace('\\', "\\\\").replace('|', "\\|");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = String::new();
        if !self.caption.is_empty() {
            out += &format!("**{}**\n\n", clip(&self.caption, usize::MAX));
        }
        out += &line(columns.iter().map(|column| cell(&column.name)).collect());
        let rules = columns.iter().map(|column| match column.align {
            Align::Left => "---|",
            Align::Right => "---:|",
        });
        out += &format!("|{}\n", rules.collect::<String>());
        for row in &self.rows {
            out += &line(
                (0..columns.len()).map(|i| row.get(i).map_or(String::new(), |text| cell(text))).collect(),
            );
        }
        for note in &self.notes {
            out += &format!("\n{}\n", clip(note, usize::MAX));
        }
        out
    }

    /// The table for a page: its first [`PAGE_ROWS`] rows, and how many more there are.
    pub(super) fn html(&self) -> String {
        let columns: Vec<&Column> = self.all_columns().collect();
        let class = |align: Align, text: &str| match (align, width(text) > LONG) {
            (Align::Left, false) => "",
            (Align::Left, true) => " class=\"long\"",
            (Align::Right, false) => " class=\"number\"",
            (Align::Right, true) => " class=\"number long\"",
        };
        let label = if self.caption.is_empty() { "Table" } else { &self.caption };
        let mut out = String::new();
        // Outside the box that scrolls: a caption is no wider than the page.
        if !self.caption.is_empty() {
            out += &format!("<p class=\"caption\">{}</p>\n", escape(&self.caption));
        }
        // What scrolls must be reached by the keyboard too.
        out += &format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n<table>\n",
            escape(label)
        );
        out += "<thead>\n<tr>";
        for column in &columns {
            out += &format!("<th scope=\"col\"{}>{}</th>", class(column.align, ""), escape(&column.name));
        }
        out += "</tr>\n</thead>\n<tbody>\n";
        for row in self.rows.iter().take(PAGE_ROWS) {
            out += "<tr>";
            for (i, column) in columns.iter().enumerate() {
                let cell = row.get(i).map_or("", String::as_str);
                let class = class(column.align, cell);
                out += &match i {
                    0 => format!("<th scope=\"row\"{class}>{}</th>", escape(cell)),
                    _ => format!("<td{class}>{}</td>", escape(cell)),
                };
            }
            out += "</tr>\n";
        }
        out += "</tbody>\n</table>\n</div>\n";
        let more = self.rows.len().saturating_sub(PAGE_ROWS) as u64;
        if more > 0 {
            let rows = tamis_make::number::count(self.rows.len() as u64);
            let more = tamis_make::number::count(more);
            out += &format!(
                "<p class=\"below\">The first {PAGE_ROWS} of {rows} rows; {more} more are not shown.</p>\n"
            );
        }
        for note in &self.notes {
            out += &format!("<p class=\"below\">{}</p>\n", escape(note));
        }
        out
    }
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(columns: &[Column], rows: &[&[&str]]) -> Table {
        let rows = rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect();
        Table { columns: columns.to_vec(), rows, ..Table::default() }
    }

    #[test]
    fn columns_align_whatever_the_script() {
        let table = table(
            &[Column::left("group"), Column::right("keys")],
            &[&["Île", "1"], &["東京", "1,000"], &["a\tb", "20"]],
        );
        assert_eq!(table.text(), "group   keys\n─────  ─────\nÎle        1\n東京   1,000\na\\tb      20\n");
    }

    #[test]
    fn missing_and_surplus_values_keep_their_columns() {
        let table = table(&[Column::left("a"), Column::right("b")], &[&["x"], &["y", "1", "more"]]);
        assert_eq!(table.text(), "a  b\n─  ─  ────\nx\ny  1  more\n");
        assert!(table.html().contains("<th scope=\"row\">x</th><td class=\"number\"></td><td></td>"));
    }

    #[test]
    fn an_empty_table_is_empty() {
        assert_eq!(Table::default().text(), "");
    }

    #[test]
    fn caption_and_notes_stand_around_the_table() {
        let mut table = table(&[Column::left("a")], &[&["x"]]);
        table.caption = "What it shows".into();
        table.notes = vec!["a note".into()];
        assert_eq!(table.text(), "What it shows\na\n─\nx\na note\n");
    }

    #[test]
    fn a_page_shows_the_first_rows_and_says_how_many_more_there_are() {
        let row = |i: usize| vec![format!("group {i}")];
        let table = Table {
            columns: vec![Column::left("group")],
            rows: (1..=PAGE_ROWS + 1234).map(row).collect(),
            ..Table::default()
        };
        let html = table.html();
        assert!(html.contains(">group 500<") && !html.contains(">group 501<"));
        assert!(html.contains("The first 500 of 1,734 rows; 1,234 more are not shown."));
        assert_eq!(table.text().lines().count(), 2 + 1734);
    }

    proptest! {
        #[test]
        fn every_line_is_as_wide_as_its_columns(
            rows in proptest::collection::vec(proptest::collection::vec(any::<String>(), 3), 0..8)
        ) {
            let columns = vec![Column::left("a"), Column::right("b"), Column::right("last")];
            // A last value that cannot be trimmed: white space at the end of lines is dropped.
            let rows: Vec<Vec<String>> =
                rows.into_iter().map(|mut row| { row[2].push('.'); row[2] = clip(&row[2], 20); row[2].push('.'); row }).collect();
            let text = Table { columns, rows, ..Table::default() }.text();
            let widths: Vec<usize> = text.lines().map(width).collect();
            prop_assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{}", text);
        }
    }
}
