//! Charts in a terminal: lines in Braille dots, bars in blocks. No colours, so that the text can
//! go anywhere.

use tamis_make::number;
use tamis_make::text::{clip, width};

use super::axis::{Range, Tick, usable};
use super::chart::{Along, Chart, Frame, Mark, Whisker, whisker};

/// A chart as text, at most this many columns wide and this many lines high; title, axes and legend
/// included.
///
/// Lines, points, rules and highlights along an axis of numbers are drawn in dots. Over names, the
/// first series is drawn, with a line for each name. What is too small to hold
/// a chart is taken to be 24 columns by 6 lines. Each line ends with a line break.
pub fn plot(chart: &Chart, width: usize, height: usize) -> String {
    let (width, height) = (width.clamp(24, 400), height.clamp(6, 200));
    let shown = chart.shown();
    let mut lines = Vec::new();
    for line in [&shown.chart.title, &shown.note] {
        if !line.is_empty() {
            lines.push(clip(line, width));
        }
    }
    let chart = &shown.chart;
    match chart.frame((width / 10).clamp(2, 10), (height / 3).clamp(2, 8)) {
        None => lines.push("No data".to_owned()),
        Some(frame) => match &frame.along {
            Along::Names(names) => bars(&mut lines, chart, &frame, names, width, height),
            Along::Numbers(x) => dots(&mut lines, chart, &frame, x, width, height),
        },
    }
    let mut out = String::new();
    for line in lines {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A grid of cells, each of 2 by 4 dots or one character.
struct Grid {
    columns: usize,
    rows: usize,
    dots: Vec<u8>,
    signs: Vec<Option<char>>,
}

impl Grid {
    fn new(columns: usize, rows: usize) -> Grid {
        Grid { columns, rows, dots: vec![0; columns * rows], signs: vec![None; columns * rows] }
    }

    /// The dot of a place between 0 and 1, from the bottom left.
    fn dot_of(&self, (x, y): (f64, f64)) -> (i64, i64) {
        let (wide, high) = (self.columns * 2 - 1, self.rows * 4 - 1);
        ((x * wide as f64).round() as i64, ((1.0 - y) * high as f64).round() as i64)
    }

    fn set(&mut self, (x, y): (i64, i64)) {
        // Braille numbers its dots down the left column, then down the right, then the lowest two.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (x, y) = (x.max(0) as usize, y.max(0) as usize);
        if x / 2 < self.columns && y / 4 < self.rows {
            self.dots[y / 4 * self.columns + x / 2] |= BITS[y % 4][x % 2];
        }
    }

    fn sign(&mut self, (x, y): (i64, i64), sign: char) {
        let (column, row) = ((x.max(0) as usize) / 2, (y.max(0) as usize) / 4);
        if column < self.columns && row < self.rows {
            self.signs[row * self.columns + column] = Some(sign);
        }
    }

    /// All dots between two.
    fn join(&mut self, from: (i64, i64), to: (i64, i64)) {
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).max(1);
        for i in 0..=steps {
            let along = |a: i64, b: i64| a + ((b - a) as f64 * i as f64 / steps as f64).round() as i64;
            self.set((along(from.0, to.0), along(from.1, to.1)));
        }
    }

    /// Draws a series, and gives the dot where it ends.
    fn draw(&mut self, mark: &Mark, frame: &Frame) -> Option<(i64, i64)> {
        let mut end = None;
        match mark {
            Mark::Line { points, .. } => {
                let mut last = None;
                for &(x, y) in points {
                    let dot = frame.place(x, y).map(|place| self.dot_of(place));
                    if let Some(dot) = dot {
                        self.join(last.unwrap_or(dot), dot);
                        end = Some(dot);
                    }
                    last = dot;
                }
            }
            Mark::Points { points, .. } => end = self.scatter(frame, points.iter().copied()),
            Mark::Whiskers { points, .. } => {
                end = self.scatter(frame, points.iter().map(|&(x, _, y, _)| (x, y)));
            }
            Mark::Histogram { bins, .. } => {
                for &(from, to, n) in bins {
                    let Some((from, to)) = frame.place(from, n).zip(frame.place(to, n)) else { continue };
                    let (from, to) = (self.dot_of(from), self.dot_of(to));
                    for x in from.0..to.0.max(from.0 + 1) {
                        if n > 0.0 {
                            self.join((x, from.1), (x, self.rows as i64 * 4 - 1));
                        }
                    }
                    end = Some(to);
                }
            }
            _ => {}
        }
        end
    }

    /// Sets a dot for each point, and gives the last.
    fn scatter(&mut self, frame: &Frame, points: impl Iterator<Item = (f64, f64)>) -> Option<(i64, i64)> {
        let mut end = None;
        for (x, y) in points {
            end = frame.place(x, y).map(|place| self.dot_of(place)).or(end);
            end.into_iter().for_each(|dot| self.set(dot));
        }
        end
    }

    /// Draws a rule where nothing else is.
    fn rule(&mut self, mark: &Mark, frame: &Frame) {
        let (dots, sign): (Vec<(i64, i64)>, char) = match mark {
            Mark::Rule { y, .. } => {
                let Some(y) = usable(*y, frame.y.log) else { return };
                let row = self.dot_of((0.0, frame.y.at(y))).1;
                ((0..self.columns as i64).map(|x| (x * 2, row)).collect(), '╌')
            }
            Mark::VerticalRule { x, .. } => {
                let Some(x) = frame.along.at(*x) else { return };
                let column = self.dot_of((x, 0.0)).0;
                ((0..self.rows as i64).map(|y| (column, y * 4)).collect(), '╎')
            }
            _ => return,
        };
        for dot in dots {
            let cell = dot.1 as usize / 4 * self.columns + dot.0 as usize / 2;
            if self.dots.get(cell) == Some(&0) {
                self.sign(dot, sign);
            }
        }
    }

    fn row(&self, row: usize) -> String {
        let cells = row * self.columns..(row + 1) * self.columns;
        cells
            .map(|i| match (self.signs[i], self.dots[i]) {
                (Some(sign), _) => sign,
                (None, 0) => ' ',
                (None, dots) => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
            })
            .collect()
    }
}

fn dots(lines: &mut Vec<String>, chart: &Chart, frame: &Frame, x: &Range, wide: usize, high: usize) {
    let legend = flow(&legend(chart), wide);
    let label = !chart.y.label.is_empty();
    let named = !chart.x.label.is_empty();
    let spent = lines.len() + usize::from(label) + usize::from(named) + legend.len() + 2;
    let rows = high.saturating_sub(spent).max(3);
    let left = frame.y.ticks.iter().map(|tick| width(&tick.label)).max().unwrap_or(0).min(wide / 2);
    let columns = wide.saturating_sub(left + 2).max(8);
    let grid = drawn(chart, frame, columns, rows);

    if label {
        lines.push(clip(&chart.y.label, wide));
    }
    let ticks = spread(&frame.y.ticks, |tick| (grid.dot_of((0.0, frame.y.at(tick.at))).1 / 4) as usize, rows);
    for (row, tick) in ticks.iter().enumerate() {
        let text = clip(tick.map_or("", |tick| &tick.label), left);
        let space = " ".repeat(left - width(&text));
        lines.push(format!("{space}{text} {}{}", if tick.is_some() { '┤' } else { '│' }, grid.row(row)));
    }
    let ticks = spread(&x.ticks, |tick| (grid.dot_of((x.at(tick.at), 0.0)).0 / 2) as usize, columns);
    let axis: String = ticks.iter().map(|tick| if tick.is_some() { '┬' } else { '─' }).collect();
    lines.push(format!("{} └{axis}", " ".repeat(left)));
    lines.push(below(&ticks, left + 2, wide));
    if named {
        let name = clip(&chart.x.label, columns);
        lines.push(" ".repeat(left + 2 + (columns - width(&name)) / 2) + &name);
    }
    lines.extend(legend);
}

fn series(chart: &Chart) -> Vec<&Mark> {
    chart.marks.iter().filter(|mark| mark.is_series()).collect()
}

/// What the letters and signs of a chart mean.
fn legend(chart: &Chart) -> Vec<String> {
    let series = series(chart);
    let mut legend = Vec::new();
    if series.len() > 1 {
        let name = |(i, mark): (usize, &&Mark)| format!("{} {}", letter(i), mark.name().unwrap_or(""));
        legend.extend(series.iter().enumerate().map(name));
    }
    for mark in &chart.marks {
        match mark {
            Mark::Rule { name, y } => legend.push(format!("╌ {name}: {}", chart.y.format.value(*y))),
            Mark::VerticalRule { name, x } => legend.push(format!("╎ {name}: {}", chart.x.format.value(*x))),
            Mark::Highlight { label, .. } => legend.push(format!("● {label}")),
            _ => {}
        }
    }
    legend
}

/// All marks of a chart: the series, then the rules behind them, then letters and highlights on top.
fn drawn(chart: &Chart, frame: &Frame, columns: usize, rows: usize) -> Grid {
    let mut grid = Grid::new(columns, rows);
    let series = series(chart);
    let ends: Vec<_> = series.iter().map(|mark| grid.draw(mark, frame)).collect();
    chart.marks.iter().for_each(|mark| grid.rule(mark, frame));
    if series.len() > 1 {
        for (i, end) in ends.into_iter().enumerate() {
            end.into_iter().for_each(|dot| grid.sign(dot, letter(i)));
        }
    }
    for mark in &chart.marks {
        if let Mark::Highlight { x, y, .. } = mark
            && let Some(at) = frame.place(*x, *y)
        {
            grid.sign(grid.dot_of(at), '●');
        }
    }
    grid
}

/// Which tick stands in each of this many cells; the first, where there are several.
fn spread(ticks: &[Tick], cell: impl Fn(&Tick) -> usize, cells: usize) -> Vec<Option<&Tick>> {
    let mut out = vec![None; cells];
    for tick in ticks {
        if let Some(slot) = out.get_mut(cell(tick)) {
            slot.get_or_insert(tick);
        }
    }
    out
}

/// The labels below an axis, each centred below its tick, where there is room.
fn below(ticks: &[Option<&Tick>], left: usize, wide: usize) -> String {
    let mut out = " ".repeat(left);
    let mut free = left;
    for (column, tick) in ticks.iter().enumerate() {
        let Some(tick) = tick else { continue };
        let size = width(&tick.label);
        let start = (left + column).saturating_sub(size.saturating_sub(1) / 2).max(left);
        let start = start.min(wide.saturating_sub(size));
        if start < free {
            continue;
        }
        out += &" ".repeat(start.saturating_sub(width(&out)));
        out += &tick.label;
        free = start + size + 2;
    }
    out
}

fn letter(i: usize) -> char {
    char::from(b'a' + (i % 26) as u8)
}

/// Entries in lines, three spaces apart.
fn flow(entries: &[String], wide: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for entry in entries.iter().take(12) {
        let entry = clip(entry, wide);
        match out.last_mut() {
            Some(line) if width(line) + 3 + width(&entry) <= wide => *line += &format!("   {entry}"),
            _ => out.push(entry),
        }
    }
    out
}

/// A line for each name: its bar, or its whisker, and the value.
fn bars(lines: &mut Vec<String>, chart: &Chart, frame: &Frame, names: &[String], wide: usize, high: usize) {
    let Some(series) = chart.marks.iter().find(|mark| mark.is_series()) else { return };
    // One series of several must be named.
    let several = chart.marks.iter().filter(|mark| mark.is_series()).count() > 1;
    let name = series.name().filter(|_| several || chart.y.label.is_empty());
    let heading: Vec<&str> =
        name.into_iter().chain([chart.y.label.as_str()]).filter(|h| !h.is_empty()).collect();
    if !heading.is_empty() {
        lines.push(clip(&heading.join(", "), wide));
    }
    let rules: Vec<(&str, f64)> = chart
        .marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Rule { name, y } => usable(*y, frame.y.log).map(|y| (name.as_str(), y)),
            _ => None,
        })
        .collect();
    let legend: Vec<String> =
        rules.iter().map(|(name, y)| format!("╎ {name}: {}", chart.y.format.value(*y))).collect();
    let legend = flow(&legend, wide);
    let room = high.saturating_sub(lines.len() + legend.len()).max(2);
    let count = if names.len() > room { room - 1 } else { names.len() };

    // The last whisker or point of a name stands for it.
    let mut values = vec![None; names.len()];
    let mut put = |x: f64, low: f64, y: f64, high: f64| {
        if let Some(whisker) = whisker((x, low, y, high), frame.y.log)
            && frame.along.at(x).is_some()
        {
            values[x as usize] = Some((whisker, y));
        }
    };
    match series {
        Mark::Bars { values, .. } => values.iter().enumerate().for_each(|(i, &y)| put(i as f64, y, y, y)),
        Mark::Whiskers { points, .. } => points.iter().for_each(|&(x, low, y, high)| put(x, low, y, high)),
        Mark::Line { points, .. } | Mark::Points { points, .. } => {
            points.iter().for_each(|&(x, y)| put(x, y, y, y))
        }
        _ => {}
    }
    let written = |value: &Option<(Whisker, f64)>| match value {
        Some((_, y)) => clip(&chart.y.format.value(*y), wide / 3),
        None => "–".to_owned(),
    };
    let labels: Vec<String> = names[..count].iter().map(|name| clip(name, wide / 3)).collect();
    let figures: Vec<String> = values[..count].iter().map(written).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| width(text)).max().unwrap_or(0);
    let (label, figure) = (widest(&labels), widest(&figures));
    let columns = wide.saturating_sub(label + figure + 4).max(4);
    let cell = |y: f64| ((frame.y.at(y) * columns as f64) as usize).min(columns - 1);
    let zero = if frame.y.log { 0.0 } else { frame.y.at(0.0) };
    for ((name, value), figure_text) in labels.iter().zip(&values).zip(&figures) {
        let mut cells = match value {
            None => vec![' '; columns],
            Some((whisker, _)) if matches!(series, Mark::Bars { .. }) => {
                let part = frame.y.at(whisker.high);
                blocks(zero.min(part), zero.max(part), columns)
            }
            Some((whisker, _)) => stick(columns, whisker, cell),
        };
        for &(_, y) in &rules {
            match &mut cells[cell(y)] {
                free @ ' ' => *free = '╎',
                crossed @ '─' => *crossed = '┼',
                _ => {}
            }
        }
        let bar: String = cells.into_iter().collect();
        let (after, before) = (" ".repeat(label - width(name)), " ".repeat(figure - width(figure_text)));
        lines.push(format!("{name}{after}  {bar}  {before}{figure_text}"));
    }
    if count < names.len() {
        lines.push(format!("and {} more", number::count((names.len() - count) as u64)));
    }
    lines.extend(legend);
}

/// A value and its interval, lying down.
fn stick(columns: usize, whisker: &Whisker, cell: impl Fn(f64) -> usize) -> Vec<char> {
    let mut cells = vec![' '; columns];
    let (low, high) = (whisker.low.map_or(0, &cell), cell(whisker.high));
    cells[low..=high].fill('─');
    cells[high] = '┤';
    if whisker.low.is_some() {
        cells[low] = '├';
    }
    if let Some(mid) = whisker.mid {
        cells[cell(mid)] = '●';
    }
    cells
}

/// A bar between two places from 0 to 1, to an eighth of a cell at its end.
fn blocks(from: f64, to: f64, columns: usize) -> Vec<char> {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighth = |part: f64| (part * columns as f64 * 8.0).round() as usize;
    let (from, to) = (eighth(from) / 8 * 8, eighth(to));
    (0..columns)
        .map(|column| match (column * 8 >= from, to.saturating_sub(column * 8)) {
            (true, left) if left >= 8 => '█',
            (true, left) => EIGHTHS[left],
            _ => ' ',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::axis::{Axis, Format};
    use super::*;

    #[test]
    fn a_line_falls_from_the_left_and_its_best_point_is_marked() {
        let chart = Chart {
            title: "Rate by hash functions".into(),
            x: Axis::linear("k", Format::Count),
            y: Axis::log("rate", Format::Plain),
            marks: vec![
                Mark::line("", [(1.0, 0.1), (2.0, 0.01), (3.0, 0.001)]),
                Mark::Highlight { x: 3.0, y: 0.001, label: "best: 3".into() },
            ],
        };
        assert_eq!(
            plot(&chart, 30, 10),
            "\
Rate by hash functions
rate
  0.1 ┤⠉⠒⠢⠤⣀⡀
      │     ⠈⠑⠒⠤⢄⣀
 0.01 ┤           ⠉⠑⠒⠤⢄⣀
0.001 ┤                 ⠉⠉⠒⠢⠤●
      └┬──────────┬──────────┬
       1          2          3
                  k
● best: 3
"
        );
    }

    #[test]
    fn names_have_a_bar_each() {
        let chart = Chart {
            title: "Keys".into(),
            x: Axis::categories("", vec!["a".into(), "long".into(), "none".into()]),
            y: Axis::linear("", Format::Count),
            marks: vec![Mark::bars("", [50.0, 100.0, f64::NAN]), Mark::rule("target", 75.0)],
        };
        assert_eq!(
            plot(&chart, 24, 10),
            "\
Keys
a     ██████▌  ╎      50
long  █████████████  100
none           ╎       –
╎ target: 75
"
        );
    }

    #[test]
    fn intervals_lie_down() {
        let chart = Chart {
            title: String::new(),
            x: Axis::categories("", vec!["a".into(), "b".into()]),
            y: Axis::linear("rate", Format::Plain),
            marks: vec![
                Mark::Whiskers {
                    name: String::new(),
                    points: vec![(0.0, 0.2, 0.5, 0.8), (1.0, 0.8, 0.9, 1.0)],
                },
                Mark::rule("target", 0.5),
            ],
        };
        assert_eq!(
            plot(&chart, 24, 10),
            "\
rate
a     ├────●───┤     0.5
b          ╎   ├─●┤  0.9
╎ target: 0.5
"
        );
    }
}
