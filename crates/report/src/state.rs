//! The state of sketches on a page: what they hold, how full they are, and what that means for their answers.

use tamis::params::GroupParams;
use tamis::scalable;
use tamis::sizing::Kind;
use tamis_jobs::inspect::{Group, State, Summary};
use tamis_make::health::Health;
use tamis_make::number;
use tamis_make::text::group_name;
use tamis_read::error::Result;

use crate::inspect;
use crate::{Axis, Chart, Figure, Format, Gravity, Mark, Page, Section};

/// Points of a curve.
const POINTS: u32 = 64;

/// A page about a file, or about sketches in memory.
pub fn page(summary: &Summary<'_>, title: &str, subtitle: &str) -> Result<Page> {
    let groups = summary.groups().collect::<Result<Vec<_>>>()?;
    let mut sections = vec![
        Section::Figures(figures(summary, &groups)),
        Section::Text(format!("Hash {}; {}.", summary.common().hash, summary.common().recipe)),
    ];
    let warnings = groups.iter().filter_map(inspect::overfull).take(20);
    sections.extend(warnings.map(|warning| Section::Note(Gravity::Warning, warning)));
    sections.extend(chart(summary.common().kind, &groups).map(|chart| Section::Charts(vec![chart])));
    sections.push(Section::Heading("Every group".into()));
    sections.push(Section::Table(inspect::table(summary.common(), &groups)));
    Ok(Page { title: title.into(), subtitle: subtitle.into(), sections })
}

/// The one chart that tells most: of one filter, how its rate grows with its keys and where it stands; of several, the
/// rate of each beside its target. None of sketches that count, which have no rate.
pub fn chart(kind: Kind, groups: &[Group<'_>]) -> Option<Chart> {
    let filters: Vec<(&GroupParams, &Health)> = groups
        .iter()
        .filter_map(|group| match &group.state {
            State::Filter(health) => Some((group.params, health)),
            State::Counts(_) => None,
        })
        .collect();
    match filters[..] {
        [] => None,
        [(group, health)] => grown(kind, group, health),
        _ => Some(beside_target(&filters)),
    }
}

fn figures(summary: &Summary<'_>, groups: &[Group<'_>]) -> Vec<Figure> {
    let mut figures = vec![
        Figure::new("kind", summary.common().kind.to_string()),
        Figure::new("size", number::bytes(summary.bytes())),
    ];
    if let [Group { params, state: State::Filter(health), .. }] = groups {
        let target = format!("{} is the target", number::rate(params.fpr()));
        figures.push(Figure::new("keys", crate::health::keys_text(health)).note("estimated by what is set"));
        figures.push(Figure::new("rate of false positives", number::rate(health.rate)).note(target));
        return figures;
    }
    figures.push(Figure::new("groups", number::count(groups.len() as u64)));
    let rates = groups.iter().filter_map(|group| match &group.state {
        State::Filter(health) => Some(health.rate),
        State::Counts(_) => None,
    });
    if let Some(worst) = rates.reduce(f64::max) {
        figures.push(Figure::new("highest rate of false positives", number::rate(worst)));
    }
    figures
}

/// The rate against the keys of one filter. None of kinds whose shape does not tell it.
fn grown(kind: Kind, group: &GroupParams, health: &Health) -> Option<Chart> {
    let grows = kind == Kind::Scalable;
    if !(grows || matches!(kind, Kind::Blocked | Kind::Bloom | Kind::Counting)) || !health.keys.is_finite() {
        return None;
    }
    let planned = group.keys().max(1) as f64;
    let most = (1.5 * planned).max(1.2 * health.keys).max(f64::from(POINTS));
    let point = |number: u32| {
        let keys = (most * f64::from(number) / f64::from(POINTS)).round();
        (
            keys,
            if grows { rate_of_layers(group, keys as u64) } else { group.shape.expected_rate(keys as u64) },
        )
    };
    let planned = Mark::VerticalRule { name: "planned keys".into(), x: planned };
    let mut marks =
        vec![Mark::line("expected rate", (1..=POINTS).map(point)), Mark::rule("target", group.fpr())];
    marks.extend(Some(planned).filter(|_| !grows));
    if health.rate > 0.0 {
        marks.push(Mark::Highlight { x: health.keys.max(1.0), y: health.rate, label: "now".into() });
    }
    Some(Chart {
        title: "How the rate grows with the keys".into(),
        x: Axis::linear("keys", Format::Count),
        y: Axis::linear("rate of false positives", Format::Plain),
        marks,
    })
}

/// The rate of a filter that grows, with this many keys: the sum over the layers that it has then.
fn rate_of_layers(group: &GroupParams, mut keys: u64) -> f64 {
    let mut rate = 0.0;
    for number in 0..scalable::MOST_LAYERS {
        let Ok(layer) = scalable::layer(group.keys(), group.fpr(), number) else { break };
        let held = keys.min(layer.keys);
        rate += layer.expected_rate(held);
        keys -= held;
        if keys == 0 {
            break;
        }
    }
    rate
}

fn beside_target(filters: &[(&GroupParams, &Health)]) -> Chart {
    let names = filters.iter().map(|(group, _)| group_name(&group.group)).collect();
    let mut marks = vec![Mark::bars("rate now", filters.iter().map(|(_, health)| health.rate))];
    let target = filters[0].0.fpr();
    if filters.iter().all(|(group, _)| group.fpr() == target) {
        marks.push(Mark::rule("target", target));
    } else {
        let points = filters.iter().enumerate().map(|(at, (group, _))| (at as f64, group.fpr())).collect();
        marks.push(Mark::Points { name: "target".into(), points });
    }
    Chart {
        title: "The rate of each group".into(),
        x: Axis::categories("group", names),
        y: Axis::linear("rate of false positives", Format::Plain),
        marks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::Filter;
    use tamis_make::files;

    #[test]
    fn one_filter_shows_its_keys_its_rate_and_where_it_stands_on_its_way() {
        let mut filter = Filter::with_rate(1000, 0.01).unwrap();
        filter.extend((0..500).map(|i: u32| i.to_string()));
        let file = files::from_bytes(&filter.to_bytes()).unwrap();
        let page = page(&Summary::of(&file, None), "A filter", "").unwrap().html();
        assert!(page.contains("estimated by what is set") && page.contains("0.01 is the target"), "{page}");
        assert!(page.contains("How the rate grows with the keys") && page.contains(">now<"), "{page}");
        assert!(!page.contains("Warning:"));
    }

    #[test]
    fn one_that_grows_shows_how_its_rate_grows_below_its_target() {
        let mut filter = Filter::builder().kind(Kind::Scalable).for_keys(100).unwrap();
        filter.extend((0..1000).map(|i: u32| i.to_string()));
        let file = files::from_bytes(&filter.to_bytes()).unwrap();
        let summary = Summary::of(&file, None);
        let group = summary.group(0).unwrap();
        let Some(chart) = chart(Kind::Scalable, std::slice::from_ref(&group)) else {
            panic!("it has a chart")
        };
        let Mark::Line { points, .. } = &chart.marks[0] else { panic!("a line comes first") };
        assert!(
            points.is_sorted_by(|a, b| a.1 <= b.1) && points.iter().all(|point| point.1 < 0.01),
            "{points:?}"
        );
    }

    #[test]
    fn a_filter_that_holds_too_much_is_warned_of_and_one_that_is_full_has_no_curve() {
        let mut filter = Filter::with_rate(100, 0.01).unwrap();
        filter.extend((0..400).map(|i: u32| i.to_string()));
        let file = files::from_bytes(&filter.to_bytes()).unwrap();
        let page = page(&Summary::of(&file, None), "A filter", "").unwrap().html();
        assert!(page.contains("Warning:"), "{page}");
    }
}
