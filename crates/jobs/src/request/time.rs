//! Times as people write them.

use std::time::Duration;

/// A time: `500ms`, `10s`, `5m`, `24h`, `7d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let factor = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "" if digits == "0" => 1.0,
        _ => return Err("a time has a unit: 500ms, 10s, 5m, 24h, 7d".into()),
    };
    let number = digits.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    let number = number.ok_or("not a time (500ms, 10s, 5m, 24h, 7d)")?;
    Ok(Duration::from_secs_f64(number * factor))
}

/// A time that may be missing, by its text.
pub mod optional {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::*;

    /// Writes it in seconds.
    pub fn serialize<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(|time| format!("{}s", time.as_secs_f64())).serialize(serializer)
    }

    /// Reads it as people write it.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| duration(&text).map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        let millis = |text| duration(text).map(|time| time.as_millis());
        assert_eq!(
            ["500ms", "10s", "5m", "7d", "0"].map(millis),
            [500, 10_000, 300_000, 604_800_000, 0].map(Ok)
        );
        assert!(["", "5", "s", "-1s", "1e9d", "1y"].iter().all(|text| duration(text).is_err()));
    }
}
