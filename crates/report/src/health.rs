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
    let of = filter_of(group);
    let holds = match health.keys.is_finite() {
        _ if health.whole.is_some() => "too many keywords or records in one of its layers".into(),
        true => format!("about {} keys", keys_text(health)),
        false => return format!("{of} holds so many keys that it is full: it says yes to every key"),
    };
    let rates = number::Rates::of([target, rate]);
    format!(
        "{of} holds {holds}, more than the {} it can hold at a rate of {}; its rate is now {}",
        number::count(health.capacity.unwrap_or(0)),
        rates.brief(target),
        rates.brief(rate)
    )
}

/// A warning about a filter of this group that says yes to this share of keys that are not in it.
pub fn crowded_text(group: &Name, rate: f64) -> String {
    format!("{} is so full that its rate of false positives is {}", filter_of(group), number::rate(rate))
}

fn filter_of(group: &Name) -> String {
    match &*group.0 {
        [] => "the filter".into(),
        name => format!("the filter of group {}", printable(name)),
    }
}
