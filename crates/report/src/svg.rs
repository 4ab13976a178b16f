//! Charts as SVG.
//!
//! All colours are CSS variables, so that a chart follows the light or dark theme of its page.
//! No identifiers are used: any number of charts can stand in one page. The width of text is
//! taken to be that of a broad font, since it is not known which one the reader has.

use tamis_make::number;
use tamis_make::text::{clip, escape, width, wrap};

use super::axis::Tick;
use super::chart::{Along, Chart, Frame, Mark, Shown};

mod marks;

/// Around a chart in a file of its own.
const MARGIN: f64 = 16.0;

/// The theme: colours as CSS variables, for light and dark.
pub(super) const THEME: &str = include_str!("theme.css");
/// The rules that charts follow.
pub(super) const RULES: &str = include_str!("chart.css");

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 280.0;
const TITLE: f64 = 13.0;
const SMALL: f64 = 11.0;
/// How many colours there are for series.
const COLOURS: usize = 7;
/// The most entries of a legend.
const ENTRIES: usize = 12;

/// Where the marks are drawn.
struct Area {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// How far from both sides marks keep.
    inset: f64,
}

impl Area {
    fn x(&self, part: f64) -> f64 {
        self.left + self.inset + (self.width - 2.0 * self.inset) * part
    }

    fn y(&self, part: f64) -> f64 {
        self.top + self.height * (1.0 - part)
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// Draws the chart; as a file of its own, with its style, where `alone`.
pub(super) fn draw(shown: &Shown, alone: bool) -> String {
    let chart = &shown.chart;
    let frame = chart.frame(10, 5);
    let omitted = shown.omitted + frame.as_ref().map_or(0, |frame| frame.omitted);
    let mut body = String::new();
    let mut top = -3.0;
    for line in wrap(&chart.title, columns(WIDTH, TITLE), 2) {
        top += TITLE + 3.0;
        text(&mut body, "title", (0.0, top), &line);
    }
    for line in wrap(&shown.note, columns(WIDTH, SMALL), 2) {
        top += SMALL + 5.0;
        text(&mut body, "quiet", (0.0, top), &line);
    }
    if frame.is_some() {
        top = legend(&mut body, chart, top);
        if !chart.y.label.is_empty() {
            top += SMALL + 10.0;
            text(&mut body, "quiet", (0.0, top), &clip(&chart.y.label, columns(WIDTH, SMALL)));
        }
    }
    let height = match &frame {
        Some(frame) => plot(&mut body, chart, frame, top + 15.0),
        None => {
            text(&mut body, "none", (WIDTH / 2.0, HEIGHT / 2.0), "No data");
            HEIGHT
        }
    };
    let height = match omitted {
        0 => height,
        n => {
            let why = format!("{} not shown: not a number, or off the scale", number::count(n as u64));
            text(&mut body, "quiet", (0.0, height + SMALL), &why);
            height + SMALL + 6.0
        }
    };
    document(chart, &body, height, &describe(shown, frame.is_some()), alone)
}

fn document(chart: &Chart, body: &str, height: f64, description: &str, alone: bool) -> String {
    let title = if chart.title.is_empty() { "Chart" } else { &chart.title };
    let head = format!("<title>{}</title><desc>{}</desc>\n", escape(title), escape(description));
    let (w, h) = (px(WIDTH), px(height));
    if !alone {
        return format!("<svg class=\"chart\" role=\"img\" viewBox=\"0 0 {w} {h}\">\n{head}{body}</svg>\n");
    }
    // A margin, and a ground of its own: nobody knows what it will be placed upon.
    let (wide, high) = (px(WIDTH + 2.0 * MARGIN), px(height + 2.0 * MARGIN));
    let margin = px(MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" width=\"{wide}\" \
         height=\"{high}\" viewBox=\"-{margin} -{margin} {wide} {high}\">\n{head}<style>\n{THEME}{RULES}</style>\n\
         <rect class=\"ground\" x=\"-{margin}\" y=\"-{margin}\" width=\"{wide}\" height=\"{high}\"/>\n{body}</svg>\n"
    )
}

/// Charts below each other in one file.
pub fn stacked_svg(charts: &[Chart]) -> String {
    let mut body = String::new();
    let mut top = 0.0;
    for chart in charts {
        let one = chart.standalone_svg();
        let height =
            one.split("height=\"").nth(1).and_then(|rest| rest.split('"').next()?.parse::<f64>().ok());
        body += &one.replacen("<svg ", &format!("<svg y=\"{}\" ", px(top)), 1);
        top += height.unwrap_or(0.0);
    }
    let (wide, high) = (px(WIDTH + 2.0 * MARGIN), px(top));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\">\n{body}</svg>\n"
    )
}

/// What those hear who cannot see the chart.
fn describe(shown: &Shown, any: bool) -> String {
    let chart = &shown.chart;
    if !any {
        return "No data.".to_owned();
    }
    let mut out = format!("{} by {}.", or(&chart.y.label, "Values"), or(&chart.x.label, "place"));
    let y = |value| chart.y.format.value(value);
    for mark in chart.marks.iter().take(ENTRIES) {
        let name = mark.name().unwrap_or("values");
        let series = |values: &mut dyn Iterator<Item = f64>| {
            let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
            let low = values.iter().copied().reduce(f64::min);
            let high = values.iter().copied().reduce(f64::max);
            let count = number::count(values.len() as u64);
            low.zip(high).map(|(low, high)| format!(" {name}: {count} from {} to {}.", y(low), y(high)))
        };
        out += &match mark {
            Mark::Line { points, .. } | Mark::Points { points, .. } => {
                series(&mut points.iter().map(|p| p.1))
            }
            Mark::Bars { values, .. } => series(&mut values.iter().copied()),
            Mark::Whiskers { points, .. } => series(&mut points.iter().map(|p| p.2)),
            Mark::Histogram { .. } => Some(format!(" {}.", shown.note)).filter(|_| !shown.note.is_empty()),
            Mark::Rule { y: at, .. } if at.is_finite() => Some(format!(" {name}: {}.", y(*at))),
            Mark::VerticalRule { x, .. } if x.is_finite() => {
                Some(format!(" {name}: {}.", chart.x.format.value(*x)))
            }
            Mark::Highlight { label, .. } => Some(format!(" {label}.")),
            _ => None,
        }
        .unwrap_or_default();
    }
    out
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

/// Draws the legend where it tells anything, and returns where it ends.
fn legend(out: &mut String, chart: &Chart, top: f64) -> f64 {
    let named: Vec<(&str, usize, &Mark)> = chart
        .marks
        .iter()
        .zip(colours(chart))
        .filter_map(|(mark, colour)| mark.name().map(|name| (name, colour, mark)))
        .collect();
    if named.len() < 2 {
        return top;
    }
    let (mut x, mut y) = (0.0, top + SMALL + 9.0);
    let entry = |out: &mut String, class: &str, name: &str, sign: &dyn Fn(f64, f64) -> String| {
        let name = clip(name, 40);
        let wide = 20.0 + wide(&name, SMALL);
        if x > 0.0 && x + wide > WIDTH {
            (x, y) = (0.0, y + SMALL + 6.0);
        }
        *out += &format!("<g class=\"{class}\">{}</g>\n", sign(x, y - SMALL * 0.35));
        text(out, "key", (x + 20.0, y), &name);
        x += wide + 16.0;
    };
    let mut entry = entry;
    for (name, colour, mark) in named.iter().take(ENTRIES) {
        entry(out, &series_class(*colour), name, &|x, y| match mark {
            Mark::Line { .. } => path("line", &format!("M{} {}h14", px(x), px(y))),
            Mark::Rule { .. } | Mark::VerticalRule { .. } => {
                path("rule", &format!("M{} {}h14", px(x), px(y)))
            }
            Mark::Points { .. } => circle("dot", (x + 7.0, y), 3.5, ""),
            Mark::Whiskers { .. } => {
                path("whisker", &format!("M{} {}v12", px(x + 7.0), px(y - 6.0)))
                    + &circle("dot", (x + 7.0, y), 3.0, "")
            }
            _ => format!(
                "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" rx=\"2\"/>",
                px(x + 2.0),
                px(y - 5.0)
            ),
        });
    }
    if named.len() > ENTRIES {
        let more = format!("and {} more", named.len() - ENTRIES);
        entry(out, "key", &more, &|_, _| String::new());
    }
    y
}

/// Draws axes and marks below `top`, and returns the height of all.
fn plot(out: &mut String, chart: &Chart, frame: &Frame, top: f64) -> f64 {
    let mut left = frame.y.ticks.iter().map(|tick| wide(&tick.label, SMALL)).fold(18.0, f64::max) + 8.0;
    let right = 10.0;
    // Where labels are turned, the first one reaches to the left.
    let below = match &frame.along {
        Along::Names(names) => {
            let labels = NameLabels::fit(names, WIDTH - left - right);
            if let Turn::Up(reach) = labels.turn {
                left = left.max(reach - (WIDTH - left - right) / names.len().max(1) as f64 / 2.0).min(140.0);
            }
            NameLabels::fit(names, WIDTH - left - right).height()
        }
        Along::Numbers(_) => SMALL + 8.0,
    };
    let below = below + if chart.x.label.is_empty() { 2.0 } else { SMALL + 10.0 };
    let height = (HEIGHT - top - below).max(150.0);
    let inset = if matches!(frame.along, Along::Numbers(_)) { 8.0 } else { 0.0 };
    let area = Area { left, top, width: WIDTH - left - right, height, inset };

    for tick in &frame.y.ticks {
        let y = area.y(frame.y.at(tick.at));
        *out += &path("grid", &format!("M{} {}h{}", px(area.left), px(y), px(area.width)));
        text(out, "tick end", (area.left - 8.0, y + SMALL * 0.35), &tick.label);
    }
    marks::draw(out, chart, frame, &area, &colours(chart));
    let base = area.y(if frame.y.log { 0.0 } else { frame.y.at(0.0) });
    *out += &path("axis", &format!("M{} {}h{}", px(area.left), px(base), px(area.width)));
    match &frame.along {
        Along::Names(names) => NameLabels::fit(names, area.width).draw(out, names, &area),
        Along::Numbers(range) => number_labels(out, &range.ticks, |tick| range.at(tick.at), &area),
    }
    let height = area.bottom() + below;
    if !chart.x.label.is_empty() {
        let label = clip(&chart.x.label, columns(WIDTH, SMALL));
        text(out, "quiet middle", (area.x(0.5), height - 4.0), &label);
    }
    height
}

/// Labels below an axis of numbers; one that would touch the one before it is left out.
fn number_labels(out: &mut String, ticks: &[Tick], at: impl Fn(&Tick) -> f64, area: &Area) {
    let mut taken = f64::NEG_INFINITY;
    for tick in ticks {
        let x = area.x(at(tick));
        *out += &path("axis", &format!("M{} {}v4", px(x), px(area.bottom())));
        let half = wide(&tick.label, SMALL) / 2.0;
        let middle = x.min(WIDTH - half).max(half);
        if middle - half < taken {
            continue;
        }
        taken = middle + half + 6.0;
        text(out, "tick middle", (middle, area.bottom() + SMALL + 5.0), &tick.label);
    }
}

/// How the names along an axis are written: which ones, and turned or not.
struct NameLabels {
    every: usize,
    turn: Turn,
    columns: usize,
}

/// Whether labels lie flat, or climb; then how far they reach to the left of their place.
enum Turn {
    Flat,
    Up(f64),
}

impl NameLabels {
    fn fit(names: &[String], room: f64) -> NameLabels {
        let step = room / names.len().max(1) as f64;
        let columns = names.iter().map(|name| width(&clip(name, 20))).max().unwrap_or(0);
        let longest = columns as f64 * SMALL * EM;
        // The fewest labels to leave out so that those left have this much room each.
        let thin = |need: f64| {
            let nice = (0..).flat_map(|e| [1, 2, 5].map(|digit| digit * 10usize.pow(e)));
            nice.take(15).find(|&every| step * every as f64 >= need).unwrap_or(usize::MAX)
        };
        let flat = thin(longest + 8.0);
        // All of them, close together; or a few, well apart.
        let up = if step >= SMALL + 4.0 { 1 } else { thin(SMALL * 2.5) };
        if flat == 1 || (longest < 56.0 && up > 1) {
            NameLabels { every: flat, turn: Turn::Flat, columns }
        } else {
            NameLabels { every: up, turn: Turn::Up(longest * 0.71 + 4.0), columns }
        }
    }

    fn height(&self) -> f64 {
        match self.turn {
            Turn::Flat => SMALL + 8.0,
            Turn::Up(reach) => reach + 12.0,
        }
    }

    fn draw(&self, out: &mut String, names: &[String], area: &Area) {
        for (i, name) in names.iter().enumerate().step_by(self.every) {
            let x = area.x((i as f64 + 0.5) / names.len() as f64);
            let label = clip(name, self.columns);
            let full =
                if label == *name { String::new() } else { format!("<title>{}</title>", escape(name)) };
            let label = escape(&label);
            *out += &match self.turn {
                Turn::Flat => format!(
                    "<text class=\"tick middle\" x=\"{}\" y=\"{}\">{full}{label}</text>\n",
                    px(x),
                    px(area.bottom() + SMALL + 5.0)
                ),
                Turn::Up(_) => format!(
                    "<text class=\"tick end\" transform=\"translate({} {}) rotate(-45)\">{full}{label}</text>\n",
                    px(x + 4.0),
                    px(area.bottom() + 12.0)
                ),
            };
        }
    }
}

/// The colour of each mark, by its number; only series count.
fn colours(chart: &Chart) -> Vec<usize> {
    let mut next = 0;
    let number = |mark: &Mark| {
        next += usize::from(mark.is_series());
        if mark.is_series() { next - 1 } else { 0 }
    };
    chart.marks.iter().map(number).collect()
}

/// After all colours are used, they come again, with other dashes.
fn series_class(colour: usize) -> String {
    let again = if colour / COLOURS % 2 == 1 { " again" } else { "" };
    format!("s{}{again}", colour % COLOURS + 1)
}

/// Share of the font size that a character is wide, in a broad font.
const EM: f64 = 0.62;

fn wide(text: &str, size: f64) -> f64 {
    width(text) as f64 * size * EM
}

fn columns(room: f64, size: f64) -> usize {
    (room / (size * EM)) as usize
}

/// A number for SVG: short and finite, whatever comes.
fn px(value: f64) -> String {
    let value = if value.is_finite() { (value * 10.0).round() / 10.0 } else { 0.0 };
    format!("{}", value + 0.0)
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), text: &str) {
    *out += &format!("<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>\n", px(x), px(y), escape(text));
}

fn path(class: &str, data: &str) -> String {
    format!("<path class=\"{class}\" d=\"{data}\"/>\n")
}

fn circle(class: &str, (x, y): (f64, f64), radius: f64, title: &str) -> String {
    let (x, y, r) = (px(x), px(y), px(radius));
    format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\">{}</circle>\n", tip(title))
}

fn tip(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(title)) }
}
