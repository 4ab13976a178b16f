//! Topics as people name them: `kafka://broker:9092/topic?partitions=0,2`.

use std::fmt;

use tamis_read::error::{Error, Result};

use super::refusal::BadAddress;

/// A topic, where its brokers are, and what of it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Brokers to begin with, separated by commas.
    pub brokers: String,
    /// The topic.
    pub topic: String,
    /// These partitions alone; all where none is named. In order.
    pub partitions: Vec<i32>,
    /// Which part of a message is the record.
    pub field: Field,
}

/// The part of a message that is a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Field {
    /// Its value.
    #[default]
    Value,
    /// Its key.
    Key,
}

/// The longest name of a topic.
pub(super) const LONGEST: usize = 249;

impl Address {
    /// Reads `kafka://broker:9092,other:9092/topic?partitions=0,2&field=key`; `None` where that is no
    /// topic at all.
    pub fn of(text: &str) -> Option<Result<Address>> {
        let rest = text.strip_prefix("kafka://")?;
        Some(parse(rest).map_err(|why| Error::input(without_secrets(text), why)))
    }

    /// How states name it: brokers come and go, and the topic is still the same.
    pub(crate) fn name(&self) -> String {
        Address { brokers: String::new(), ..self.clone() }.to_string()
    }
}

fn parse(text: &str) -> Result<Address, BadAddress> {
    let (place, asked) = text.split_once('?').unwrap_or((text, ""));
    let (brokers, topic) = place.split_once('/').ok_or(BadAddress::Form)?;
    if brokers.contains('@') {
        return Err(BadAddress::Secret);
    }
    if brokers.is_empty() || brokers.split(',').any(|broker| !is_broker(broker)) {
        return Err(BadAddress::Form);
    }
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if topic.is_empty() || topic.len() > LONGEST || !topic.chars().all(fits) || [".", ".."].contains(&topic) {
        return Err(BadAddress::Topic);
    }
    let mut address =
        Address { brokers: brokers.into(), topic: topic.into(), partitions: Vec::new(), field: Field::Value };
    for part in asked.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("partitions", list)) => {
                let numbers = list.split(',').map(|number| number.parse::<i32>().ok().filter(|n| *n >= 0));
                address.partitions = numbers.collect::<Option<Vec<i32>>>().ok_or(BadAddress::Partitions)?;
                address.partitions.sort_unstable();
                address.partitions.dedup();
            }
            Some(("field", "key")) => address.field = Field::Key,
            Some(("field", "value")) => address.field = Field::Value,
            _ => return Err(BadAddress::Unknown(part.into())),
        }
    }
    Ok(address)
}

/// A host, perhaps with a port.
fn is_broker(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-:[]%".contains(letter);
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    !host.is_empty() && host.chars().all(fits) && port_fits
}

/// What stands before an @ is not repeated.
fn without_secrets(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, rest)) => format!("kafka://…@{rest}"),
        None => text.into(),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kafka://{}/{}", self.brokers, self.topic)?;
        let list: Vec<String> = self.partitions.iter().map(i32::to_string).collect();
        let partitions = (!list.is_empty()).then(|| format!("partitions={}", list.join(",")));
        let field = (self.field == Field::Key).then(|| "field=key".to_owned());
        for (i, part) in partitions.into_iter().chain(field).enumerate() {
            write!(f, "{}{part}", if i == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Address {
        Address::of(text).unwrap().unwrap()
    }

    #[test]
    fn topics_are_read_and_written_back() {
        for text in [
            "kafka://localhost:9092/logins",
            "kafka://a,b.example.org:9093,[::1]:9092/a.b_c-1?partitions=0,2",
            "kafka://127.0.0.1:1/t?partitions=7&field=key",
        ] {
            assert_eq!(of(text).to_string(), text);
        }
        assert_eq!(of("kafka://a/t?partitions=2,0,2").partitions, [0, 2]);
        assert_eq!(of("kafka://a:1/t?field=key").name(), "kafka:///t?field=key");
        assert!(Address::of("kafka").is_none() && Address::of("tcp://a:1").is_none());
    }

    #[test]
    fn what_is_no_topic_is_refused_and_secrets_are_not_repeated() {
        for text in [
            "kafka://",
            "kafka://a",
            "kafka:///t",
            "kafka://a/",
            "kafka://a/t/u",
            "kafka://a:x/t",
            "kafka://a:0/t",
            "kafka://a,/t",
            "kafka://a/t?partitions=-1",
            "kafka://a/t?partitions=",
            "kafka://a/t?offset=1",
            "kafka://a/..",
        ] {
            assert!(Address::of(text).unwrap().is_err(), "{text}");
        }
        let said = Address::of("kafka://me:secret@a/t").unwrap().unwrap_err().to_string();
        assert!(said.contains("kafka_config=FILE") && !said.contains("secret"), "{said}");
    }
}
