//! Laws of everything written as HTML or SVG: well formed, escaped, and without NaN or infinity.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Names that have broken pages before.
const NASTY: &[&str] = &[
    "<script>alert(1)</script>",
    "\"quoted\" 'twice' & more",
    "]]> --> </style></title></svg>",
    "bell \u{7} null \0 escape \u{1b}[31m",
    "turned \u{202e} around",
    "\u{ffff}\u{fffe}",
    "",
    " ",
    "東京 Île e\u{301}",
];

/// Tags open and close in order, attributes are quoted, and no bare `<`, `>` or `&` stands in text.
fn check_tags(text: &str) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = text.strip_prefix("<!doctype html>").unwrap_or(text);
    loop {
        let (content, after) = rest.split_once('<').unwrap_or((rest, ""));
        check_text(content)?;
        if after.is_empty() {
            return if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) };
        }
        let (tag, after) = after.split_once('>').ok_or("a tag has no end")?;
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name => continue,
                last => return Err(format!("{last:?} closed by {name}")),
            }
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(format!("no name of a tag: {name:?}"));
        }
        check_attributes(attributes)?;
        if name == "style" || name == "script" {
            // Their content is ours, not from data.
            rest = rest.split_once(&format!("</{name}>")).ok_or("style or script without end")?.1;
        } else if !closed && name != "meta" {
            open.push(name.to_owned());
        }
    }
}

fn check_text(text: &str) -> Result<(), String> {
    if text.contains(['<', '>']) {
        return Err(format!("a bare < or > in {text:?}"));
    }
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Err(format!("a control character in {text:?}"));
    }
    for after in text.split('&').skip(1) {
        let name = after.split_once(';').map_or("", |(name, _)| name);
        if !["amp", "lt", "gt", "quot", "#39"].contains(&name) {
            return Err(format!("a bare & before {after:?}"));
        }
    }
    Ok(())
}

fn check_attributes(mut text: &str) -> Result<(), String> {
    while !text.trim().is_empty() {
        let (name, after) = text.split_once("=\"").ok_or(format!("an attribute without value: {text}"))?;
        if !name.trim().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return Err(format!("no name of an attribute: {name:?}"));
        }
        let (value, after) = after.split_once('"').ok_or("an attribute without end")?;
        check_text(value)?;
        text = after;
    }
    Ok(())
}

/// All charts as SVG: well formed, and every number in an attribute is finite.
fn check_svg(svg: &str) -> Result<(), TestCaseError> {
    prop_assert!(check_tags(svg).is_ok(), "{:?}\n{}", check_tags(svg), svg);
    for bad in ["NaN", "inf", "∞"] {
        prop_assert!(!svg.contains(bad), "{} in {}", bad, svg);
    }
    Ok(())
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0f64,
        2 => any::<f64>(),
        1 => proptest::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, f64::MIN, 5e-324, 1e-310, 1e300,
        ]),
    ]
}

fn any_mark() -> impl Strategy<Value = Mark> {
    let name = || proptest::sample::select(vec!["", "a", "measured", "<b>"]).prop_map(str::to_owned);
    let points = || vec((any_number(), any_number()), 0..60);
    prop_oneof![
        (name(), points()).prop_map(|(name, points)| Mark::Line { name, points }),
        (name(), points()).prop_map(|(name, points)| Mark::Points { name, points }),
        (name(), vec(any_number(), 0..300)).prop_map(|(name, values)| Mark::Bars { name, values }),
        (name(), vec((0.0..20.0, any_number(), any_number(), any_number()), 0..20))
            .prop_map(|(name, points)| Mark::Whiskers { name, points }),
        (name(), vec((any_number(), any_number(), any_number()), 0..20))
            .prop_map(|(name, bins)| Mark::Histogram { name, bins }),
        (name(), any_number()).prop_map(|(name, y)| Mark::Rule { name, y }),
        (name(), any_number()).prop_map(|(name, x)| Mark::VerticalRule { name, x }),
        (any_number(), any_number(), name()).prop_map(|(x, y, label)| Mark::Highlight { x, y, label }),
    ]
}

fn any_axis() -> impl Strategy<Value = Axis> {
    let format = proptest::sample::select(vec![
        Format::Plain,
        Format::Percent,
        Format::Bytes,
        Format::Seconds,
        Format::Count,
    ]);
    let scale = prop_oneof![
        Just(Scale::Linear),
        Just(Scale::Log),
        (0usize..400).prop_map(|n| Scale::Category((0..n).map(|i| format!("group {i}")).collect())),
    ];
    (scale, format).prop_map(|(scale, format)| Axis { label: "axis".into(), scale, format })
}

fn any_chart() -> impl Strategy<Value = Chart> {
    (any_axis(), any_axis(), vec(any_mark(), 0..5)).prop_map(|(x, y, marks)| Chart {
        title: "Title".into(),
        x,
        y,
        marks,
    })
}

proptest! {
    #[test]
    fn whatever_goes_in_the_svg_is_well_formed_and_its_numbers_finite(chart in any_chart()) {
        check_svg(&chart.svg())?;
        check_svg(&chart.standalone_svg())?;
    }

    #[test]
    fn whatever_goes_in_the_terminal_chart_keeps_to_its_width(
        chart in any_chart(), columns in 0usize..120, lines in 0usize..40,
    ) {
        for line in plot(&chart, columns, lines).lines() {
            prop_assert!(tamis_make::text::width(line) <= columns.max(24), "{}", line);
        }
    }

    #[test]
    fn whatever_the_text_the_page_is_well_formed(any in any::<String>()) {
        let page = page_of(&any);
        prop_assert!(check_tags(&page).is_ok(), "{:?}", check_tags(&page));
    }
}

/// A page with the text wherever text can be.
fn page_of(text: &str) -> String {
    let own = || text.to_owned();
    let chart = Chart {
        title: own(),
        x: Axis::categories(text, vec![own(), "other".into()]),
        y: Axis::linear(text, Format::Plain),
        marks: vec![
            Mark::bars(text, [1.0, 2.0]),
            Mark::rule(text, 1.5),
            Mark::Whiskers { name: own(), points: vec![(0.0, 1.0, 2.0, 3.0)] },
            Mark::Highlight { x: 1.0, y: 2.0, label: own() },
        ],
    };
    let table = Table {
        caption: own(),
        columns: vec![Column::left(text), Column::right(text)],
        rows: vec![vec![own(), own()]],
        notes: vec![own()],
    };
    Page {
        title: own(),
        subtitle: own(),
        sections: vec![
            Section::Heading(own()),
            Section::Text(own()),
            Section::Figures(vec![Figure::new(text, text).note(text)]),
            Section::Table(table),
            Section::Charts(vec![chart]),
            Section::Note(Gravity::Warning, own()),
        ],
    }
    .html()
}

#[test]
fn nasty_names_are_shown_and_nothing_more() {
    for text in NASTY {
        let page = page_of(text);
        check_tags(&page).unwrap_or_else(|what| panic!("{text:?}: {what}"));
        assert!(!page.contains("alert(1)</script>"));
    }
    assert!(page_of(NASTY[0]).contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = page_of("name");
    for reference in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

#[test]
fn the_checker_of_tags_finds_what_is_wrong() {
    for wrong in
        ["<p>", "<p></b>", "<p>a & b</p>", "<p class=x></p>", "<p>></p>", "<p a=\"<\"></p>", "<p \0></p>"]
    {
        assert!(check_tags(wrong).is_err(), "{wrong}");
    }
    assert_eq!(check_tags("<p class=\"x\">a &amp; b<br/></p>"), Ok(()));
}

#[test]
fn a_chart_without_data_says_so() {
    let empty = Chart {
        title: "Empty".into(),
        x: Axis::linear("x", Format::Plain),
        y: Axis::linear("y", Format::Plain),
        marks: vec![Mark::bars("nothing", [f64::NAN])],
    };
    assert!(empty.svg().contains(">No data<"));
    assert!(plot(&empty, 40, 10).contains("No data"));
}

fn groups(n: usize) -> Chart {
    Chart {
        title: "Keys per group".into(),
        x: Axis::categories("group", (0..n).map(|i| format!("group number {i}")).collect()),
        y: Axis::linear("keys", Format::Count),
        marks: vec![Mark::bars("keys", (0..n).map(|i| (i % 97) as f64)), Mark::rule("most", 90.0)],
    }
}

#[test]
fn many_groups_are_thinned_and_very_many_become_a_distribution() {
    let labels = |svg: &str| svg.matches("rotate(-45)").count();
    assert_eq!(labels(&groups(10).svg()), 10);
    let svg = groups(200).svg();
    assert!((10..40).contains(&labels(&svg)), "{} labels", labels(&svg));
    assert_eq!(svg.matches("class=\"bar\"").count(), 200 + 1);
    let svg = groups(10_000).svg();
    assert!(svg.contains("All 10,000: median 48"));
    assert!(svg.len() < 20_000, "{} bytes", svg.len());
}

#[test]
fn a_line_of_a_million_points_is_a_small_picture() {
    let points = (0..1_000_000).map(|i| (f64::from(i), f64::from(i % 1000)));
    let chart = Chart {
        title: String::new(),
        x: Axis::linear("", Format::Count),
        y: Axis::linear("", Format::Count),
        marks: vec![Mark::line("", points)],
    };
    assert!(chart.svg().len() < 50_000);
}

#[test]
fn a_legend_stands_where_more_than_one_series_is_named() {
    let mut chart = groups(10);
    assert_eq!(chart.svg().matches("class=\"key\"").count(), 2);
    chart.marks.pop();
    assert_eq!(chart.svg().matches("class=\"key\"").count(), 0);
}

/// The colours of a theme by their names.
fn colours(css: &str) -> Vec<(&str, [f64; 3])> {
    let declared = css.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(": #"));
    let channel = |hex: &str, i: usize| f64::from(u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap());
    declared.map(|(name, hex)| (name, [0, 1, 2].map(|i| channel(hex, i) / 255.0))).collect()
}

/// The contrast of two colours, as WCAG defines it.
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear = |c: f64| if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    let light = |[r, g, b]: [f64; 3]| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    let (a, b) = (light(a) + 0.05, light(b) + 0.05);
    a.max(b) / a.min(b)
}

#[test]
fn text_and_series_stand_out_from_their_ground_in_both_themes() {
    let (light, dark) = STYLE.split_once("@media").unwrap();
    for theme in [light, dark] {
        let colours = colours(theme);
        let of = |name: &str| colours.iter().find(|(own, _)| *own == name).unwrap().1;
        for text in ["ink", "quiet", "accent"] {
            for ground in ["paper", "card"] {
                assert!(contrast(of(text), of(ground)) >= 4.5, "{text} on {ground}");
            }
        }
        for (text, ground) in
            [("accent", "note"), ("warning", "warning"), ("error", "error"), ("ink", "note")]
        {
            assert!(contrast(of(text), of(&format!("{ground}-ground"))) >= 4.5, "{text} on {ground}");
        }
        for series in 1..=7 {
            assert!(contrast(of(&format!("s{series}")), of("card")) >= 3.0, "series {series}");
        }
    }
}
