//! Where the partitions of a topic end, as librdkafka last heard of it.
//!
//! Its statistics have all of it: the partitions that the topic has by now, where each ends, and up to where it was
//! read. Nobody has to be asked, and nothing waits for an answer.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How often they are told, in milliseconds.
pub(super) const EVERY_MS: &str = "1000";

/// The statistics of a client: of a lot of other things, too.
#[derive(Deserialize)]
struct Statistics {
    #[serde(default)]
    topics: BTreeMap<String, OfTopic>,
}

#[derive(Deserialize)]
struct OfTopic {
    partitions: BTreeMap<String, OfPartition>,
}

/// Offsets are negative as long as they are not known.
#[derive(Deserialize)]
struct OfPartition {
    partition: i32,
    /// Whether the broker has not said that it is there.
    unknown: bool,
    hi_offset: i64,
    ls_offset: i64,
    eof_offset: i64,
}

/// Of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// The offset after the last message that can be read, where that is known.
    pub(super) end: Option<u64>,
    /// Where reading last came to the end. Marks of transactions, which are not messages, may stand before it.
    pub(super) reached: Option<u64>,
}

/// Of the partitions that there are.
pub(super) type Ends = BTreeMap<i32, End>;

/// Those of a topic; none where the text has none. A reader of committed messages comes as far as the first
/// transaction that is open.
pub(super) fn of(statistics: &[u8], topic: &str, committed: bool) -> Option<Ends> {
    let mut all: Statistics = serde_json::from_slice(statistics).ok()?;
    let known = |offset: i64| u64::try_from(offset).ok();
    let parts = all.topics.remove(topic)?.partitions.into_values();
    let there = parts.filter(|part| part.partition >= 0 && !part.unknown);
    let ends = there.map(|part| {
        let stable = known(part.ls_offset).filter(|_| committed);
        let end = known(part.hi_offset).map(|high| stable.map_or(high, |stable| stable.min(high)));
        (part.partition, End { end, reached: known(part.eof_offset) })
    });
    Some(ends.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partitions_of_a_topic_end_where_the_statistics_say() {
        let part = |id: i32, unknown: bool, high: i64, stable: i64, reached: i64| {
            format!(
                r#""{id}":{{"partition":{id},"unknown":{unknown},"hi_offset":{high},"ls_offset":{stable},"eof_offset":{reached},"fetchq_cnt":0}}"#
            )
        };
        let parts = [
            part(0, false, 10, 7, -1001),
            part(1, false, -1001, -1001, -1001),
            part(2, true, 1, 1, 1),
            part(-1, false, 1, 1, 1),
            part(3, false, 5, 5, 5),
        ];
        let text = format!(
            r#"{{"name":"tamis","topics":{{"t":{{"topic":"t","partitions":{{{}}}}}}}}}"#,
            parts.join(",")
        );
        let committed = of(text.as_bytes(), "t", true).unwrap();
        assert_eq!(committed.keys().copied().collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(committed[&0], End { end: Some(7), reached: None });
        assert_eq!(committed[&1], End { end: None, reached: None });
        assert_eq!(committed[&3], End { end: Some(5), reached: Some(5) });
        assert_eq!(of(text.as_bytes(), "t", false).unwrap()[&0].end, Some(10));
        assert!(of(text.as_bytes(), "u", true).is_none() && of(b"{}", "t", true).is_none());
        assert!(of(b"no statistics", "t", true).is_none());
    }
}
