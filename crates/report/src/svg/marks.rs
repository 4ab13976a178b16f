//! The marks of a chart: bars, lines, points, whiskers, rules and highlights.

use std::collections::HashSet;

use super::super::axis::usable;
use super::super::chart::{Along, Chart, Frame, Mark, whisker};
use super::{Area, SMALL, circle, path, px, series_class, text, tip, wide};

/// The size of the figures above bars.
const FIGURE: f64 = 10.0;
/// The most points of a line that are drawn as dots too.
const DOTS: usize = 40;

/// What the marks of one chart have in common.
struct Pen<'a> {
    chart: &'a Chart,
    frame: &'a Frame,
    area: &'a Area,
}

/// Draws all marks, those that fill much below those that fill little.
pub(super) fn draw(out: &mut String, chart: &Chart, frame: &Frame, area: &Area, colours: &[usize]) {
    let pen = Pen { chart, frame, area };
    let side_by_side = |wanted: fn(&Mark) -> bool| chart.marks.iter().filter(|mark| wanted(mark)).count();
    let bars = side_by_side(|mark| matches!(mark, Mark::Bars { .. }));
    let whiskers = side_by_side(|mark| matches!(mark, Mark::Whiskers { .. }));
    let histograms = side_by_side(|mark| matches!(mark, Mark::Histogram { .. }));
    let (mut bar, mut stick) = (0, 0);
    let mut layers: [String; 5] = Default::default();
    let mut taken = Vec::new();
    for (mark, &colour) in chart.marks.iter().zip(colours) {
        let (layer, drawn) = match mark {
            Mark::Bars { name, values } => {
                bar += 1;
                (0, pen.bars(name, values, bar - 1, bars))
            }
            Mark::Histogram { name, bins } => (0, pen.histogram(name, bins, histograms == 1)),
            Mark::Rule { name, y } => (1, pen.rule(name, *y)),
            Mark::VerticalRule { name, x } => (1, pen.vertical_rule(name, *x)),
            Mark::Line { name, points } => (2, pen.line(name, points)),
            Mark::Whiskers { name, points } => {
                stick += 1;
                (3, pen.whiskers(name, points, stick - 1, whiskers))
            }
            Mark::Points { name, points } => (3, pen.points(name, points)),
            Mark::Highlight { x, y, label } => (4, pen.highlight(*x, *y, label, &mut taken)),
        };
        if !drawn.is_empty() {
            layers[layer] += &format!("<g class=\"{}\">\n{drawn}</g>\n", series_class(colour));
        }
    }
    out.extend(layers);
}

impl Pen<'_> {
    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        self.frame.place(x, y).map(|(x, y)| (self.area.x(x), self.area.y(y)))
    }

    fn height(&self, y: f64) -> f64 {
        self.area.y(self.frame.y.at(y))
    }

    /// What the tooltip of a mark says: the series, the place, the value.
    fn tip(&self, name: &str, x: f64, value: &str) -> String {
        let place = match &self.frame.along {
            Along::Names(names) => names.get(x as usize).cloned().unwrap_or_default(),
            Along::Numbers(_) => self.chart.x.format.value(x),
        };
        if name.is_empty() { format!("{place}: {value}") } else { format!("{place}, {name}: {value}") }
    }

    fn value(&self, y: f64) -> String {
        self.chart.y.format.value(y)
    }

    /// The room of one name.
    fn step(&self) -> f64 {
        match &self.frame.along {
            Along::Names(names) => self.area.width / names.len().max(1) as f64,
            Along::Numbers(_) => self.area.width / 20.0,
        }
    }

    /// How far from the middle of a name's room the i-th of n series stands, and its room.
    fn share(&self, i: usize, n: usize) -> (f64, f64) {
        // Bars too thin to stand apart touch instead, and make one shape.
        let room = self.step() * if self.step() > 4.0 { 0.72 } else { 1.15 };
        let each = (room / n.max(1) as f64).min(56.0);
        ((i as f64 + 0.5 - n as f64 / 2.0) * each, each)
    }

    fn bars(&self, name: &str, values: &[f64], i: usize, n: usize) -> String {
        let (shift, room) = self.share(i, n);
        let gap = if room > 4.0 && n > 1 { 1.0 } else { 0.0 };
        let zero = if self.frame.y.log { self.area.bottom() } else { self.height(0.0) };
        let labels: Vec<String> = values.iter().map(|&v| self.chart.y.format.brief(v)).collect();
        // Figures above the bars, where each has room and nothing crosses them.
        let written = n == 1
            && self.chart.marks.len() == 1
            && values.iter().all(|&v| v >= 0.0 || v.is_nan())
            && labels.iter().all(|label| wide(label, FIGURE) + 2.0 <= self.step());
        let mut out = String::new();
        for (at, (&value, label)) in values.iter().zip(&labels).enumerate() {
            let Some((x, y)) = self.place(at as f64, value) else { continue };
            let (top, bottom) = (y.min(zero), y.max(zero));
            // A bar of little height is still seen; none has none.
            let top = if value != 0.0 && bottom - top < 1.5 { bottom - 1.5 } else { top };
            out += &format!(
                "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\">{}</rect>\n",
                px(x + shift - room / 2.0 + gap / 2.0),
                px(top),
                px((room - gap).max(0.4)),
                px(bottom - top),
                if room > 8.0 { "2" } else { "0" },
                tip(&self.tip(name, at as f64, &self.value(value))),
            );
            if written {
                text(&mut out, "figure", (x, top - 4.0), label);
            }
        }
        out
    }

    fn histogram(&self, name: &str, bins: &[(f64, f64, f64)], filled: bool) -> String {
        let mut out = String::new();
        let zero = self.area.bottom();
        let mut outline = String::new();
        for &(from, to, n) in bins {
            let (Some((left, top)), Some((right, _))) = (self.place(from, n), self.place(to, n)) else {
                continue;
            };
            let top = if n > 0.0 { top.min(zero - 1.5) } else { zero };
            let x = &self.chart.x.format;
            let place = format!("{} to {}", x.brief(from), x.brief(to));
            let title = tip(&format!("{place}: {}", self.value(n)));
            let command =
                if outline.is_empty() { format!("M{} {}", px(left), px(zero)) } else { String::new() };
            outline += &format!("{command}V{}H{}", px(top), px(right));
            if filled {
                out += &format!(
                    "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{title}</rect>\n",
                    px(left + 0.5),
                    px(top),
                    px((right - left - 1.0).max(0.4)),
                    px(zero - top),
                );
            }
        }
        if !filled && !outline.is_empty() {
            outline += &format!("V{}", px(zero));
            out += &format!("<path class=\"line\" d=\"{outline}\">{}</path>\n", tip(name));
        }
        out
    }

    fn rule(&self, name: &str, y: f64) -> String {
        let Some(value) = usable(y, self.frame.y.log) else { return String::new() };
        let data = format!("M{} {}h{}", px(self.area.left), px(self.height(value)), px(self.area.width));
        dashed(&data, &format!("{name}: {}", self.value(y)))
    }

    fn vertical_rule(&self, name: &str, x: f64) -> String {
        let Some(part) = self.frame.along.at(x) else { return String::new() };
        let data = format!("M{} {}v{}", px(self.area.x(part)), px(self.area.top), px(self.area.height));
        dashed(&data, &format!("{name}: {}", self.chart.x.format.value(x)))
    }

    fn line(&self, name: &str, points: &[(f64, f64)]) -> String {
        let mut data = String::new();
        let mut out = String::new();
        // What cannot be placed ends a piece; each piece is thinned on its own.
        let places: Vec<Option<(f64, f64)>> = points.iter().map(|&(x, y)| self.place(x, y)).collect();
        for piece in places.split(Option::is_none) {
            let piece = thinned(&piece.iter().copied().flatten().collect::<Vec<_>>());
            for (i, &(x, y)) in piece.iter().enumerate() {
                data += &format!("{}{} {}", if i == 0 { "M" } else { "L" }, px(x), px(y));
            }
            if let [(x, y)] = piece[..] {
                out += &circle("dot", (x, y), 2.5, "");
            }
        }
        if !data.is_empty() {
            out += &format!("<path class=\"line\" d=\"{data}\">{}</path>\n", tip(name));
        }
        if points.len() <= DOTS {
            for (&(x, y), place) in points.iter().zip(&places) {
                let Some(place) = *place else { continue };
                out += &circle("dot", place, 2.5, &self.tip(name, x, &self.value(y)));
            }
        }
        out
    }

    fn points(&self, name: &str, points: &[(f64, f64)]) -> String {
        let mut out = String::new();
        // Of points on the same spot, the first is drawn.
        let mut drawn = HashSet::new();
        let radius = if points.len() > 200 { 1.5 } else { 3.0 };
        for &(x, y) in points {
            let Some(place) = self.place(x, y) else { continue };
            if drawn.insert(((place.0 * 0.7) as i32, (place.1 * 0.7) as i32)) {
                out += &circle("dot", place, radius, &self.tip(name, x, &self.value(y)));
            }
        }
        out
    }

    fn whiskers(&self, name: &str, points: &[(f64, f64, f64, f64)], i: usize, n: usize) -> String {
        let named = matches!(self.frame.along, Along::Names(_));
        let (shift, room) = if named { self.share(i, n) } else { (0.0, 12.0) };
        let cap = (room / 4.0).min(4.0);
        let class = if room < 5.0 { "whisker crowd" } else { "whisker" };
        let mut out = String::new();
        // Along numbers there may be any number of them: one for each half pixel is enough.
        let mut drawn = HashSet::new();
        for &point in points {
            let Some(whisker) = whisker(point, self.frame.y.log) else { continue };
            let Some(part) = self.frame.along.at(point.0) else { continue };
            let x = self.area.x(part) + shift;
            if !named && !drawn.insert((x * 2.0) as i32) {
                continue;
            }
            let high = self.height(whisker.high);
            let low = whisker.low.map_or(self.area.bottom(), |low| self.height(low));
            let mut data = format!("M{} {}V{}", px(x), px(high), px(low));
            if cap >= 1.0 {
                let caps = [Some(high), whisker.low.map(|_| low)];
                for end in caps.into_iter().flatten() {
                    data += &format!("M{} {}h{}", px(x - cap), px(end), px(2.0 * cap));
                }
            }
            let value = format!("{} ({}–{})", self.value(point.2), self.value(point.1), self.value(point.3));
            out += &format!("<g>{}", tip(&self.tip(name, point.0, &value)));
            // Something to point at.
            out += &format!(
                "<rect class=\"hit\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                px(x - room / 2.0),
                px(high),
                px(room),
                px((low - high).max(1.0))
            );
            out += &path(class, &data);
            if let Some(mid) = whisker.mid {
                out += &circle("dot", (x, self.height(mid)), (room / 4.0).clamp(1.4, 3.5), "");
            }
            out += "</g>\n";
        }
        out
    }

    /// A ring, and its label where it covers nothing: near above or below, or further up.
    fn highlight(&self, x: f64, y: f64, label: &str, taken: &mut Vec<[f64; 4]>) -> String {
        let Some((x, y)) = self.place(x, y) else { return String::new() };
        let label = super::clip(label, 40);
        let mut out = circle("ring", (x, y), 6.0, &label);
        let (area, wide) = (self.area, wide(&label, SMALL));
        let middle = x.min(area.left + area.width - wide / 2.0).max(area.left + wide / 2.0);
        let near = [y - 12.0, y + 12.0 + SMALL * 0.75];
        let far = (2..9).map(|i| y - f64::from(i) * 14.0);
        let boxed = |y: f64| [middle - wide / 2.0, y - SMALL, middle + wide / 2.0, y + 3.0];
        let fits = |y: f64| {
            let [left, top, right, bottom] = boxed(y);
            let apart = |b: &[f64; 4]| left > b[2] || right < b[0] || top > b[3] || bottom < b[1];
            left >= area.left - 1.0
                && right <= area.left + area.width + 1.0
                && top >= area.top - 10.0
                && bottom <= area.bottom()
                && taken.iter().all(apart)
        };
        let clear = |y: f64| {
            let [left, top, right, bottom] = boxed(y);
            let inside = |&(x, y): &(f64, f64)| left - 2.0 < x && x < right + 2.0 && top < y && y < bottom;
            !self.traces().iter().any(inside)
        };
        let spots: Vec<f64> = near.into_iter().chain(far).filter(|&y| fits(y)).collect();
        // Where there is no room at all, the ring and its tooltip must do.
        let Some(&spot) = spots.iter().find(|&&y| clear(y)).or(spots.first()) else { return out };
        taken.push(boxed(spot));
        if y - spot > 20.0 {
            out += &path("lead", &format!("M{} {}V{}", px(x), px(y - 6.0), px(spot + 4.0)));
        }
        text(&mut out, "best", (middle, spot), &label);
        out
    }

    /// Places that the lines of the chart pass through, close to each other.
    fn traces(&self) -> Vec<(f64, f64)> {
        let mut out = Vec::new();
        for mark in &self.chart.marks {
            let Mark::Line { points, .. } = mark else { continue };
            let places: Vec<(f64, f64)> = points.iter().filter_map(|&(x, y)| self.place(x, y)).collect();
            for pair in thinned(&places).windows(2) {
                let (from, to) = (pair[0], pair[1]);
                let steps = ((to.0 - from.0).abs().max((to.1 - from.1).abs()) / 4.0).ceil().max(1.0);
                let along = |i: usize| {
                    let part = i as f64 / steps;
                    (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
                };
                out.extend((0..=steps as usize).map(along));
            }
        }
        out
    }
}

/// A dashed line that is seen upon bars too.
fn dashed(data: &str, title: &str) -> String {
    path("halo", data) + &format!("<path class=\"rule\" d=\"{data}\">{}</path>\n", tip(title))
}

/// A line of any number of points, with those that can be seen: in each column of pixels the
/// first, the lowest, the highest and the last.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 1000 {
        return points.to_vec();
    }
    let mut out = Vec::new();
    for column in points.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let by_height = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
        let low = (0..column.len()).min_by(by_height).unwrap_or(0);
        let high = (0..column.len()).max_by(by_height).unwrap_or(0);
        let mut kept = [0, low.min(high), low.max(high), column.len() - 1].to_vec();
        kept.dedup();
        out.extend(kept.into_iter().map(|i| column[i]));
    }
    out
}
