//! What is said of the state of a filter.

use tamis::params::Name;
use tamis_make::health::Health;
use tamis_make::number;
use tamis_make::text::printable;

/// The keys of a filter for people.
pub fn keys_text(health: &Health) -> String {
    if health.keys.is_finite() { number::count(health.keys.round() as u64) } else { "full".into() }
}

/// A warning about an overfull filter, of this group and target, whose rate is now this.
pub fn overfull_text(health: &Health, group: &Name, target: f64, rate: f64) -> String {
    let of = match &*group.0 {
        [] => "the filter".into(),
        name => format!("the filter of group {}", printable(name)),
    };
    let holds = match health.keys.is_finite() {
        _ if health.whole.is_some() => "too many keywords or records in one of its layers".into(),
        true => format!("about {} keys", keys_text(health)),
        false => "an unknown number of keys (it is full)".into(),
    };
    format!(
        "{of} holds {holds}, more than the {} it can hold at a rate of {}; its rate is now {}",
        number::count(health.capacity.unwrap_or(0)),
        number::rate(target),
        number::rate(rate)
    )
}
