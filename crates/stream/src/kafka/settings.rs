//! What people say about Kafka beside the names of topics.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tamis_jobs::request::time;
use tamis_read::error::{Error, Result};

use super::refusal::BadSetting;
use crate::job::Lost;

/// Settings of the client, and what to do when the brokers fail.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Properties by librdkafka's names; the last of a name counts.
    pub properties: Vec<(String, String)>,
    /// For how long a broker that does not answer is waited for.
    pub timeout: Duration,
    /// What to do when messages are gone that were not read yet.
    pub lost: Lost,
}

/// What a request says about Kafka.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Properties by librdkafka's names.
    pub kafka: Vec<Property>,
    /// A file of them.
    pub kafka_config: Option<PathBuf>,
    /// For how long a broker that does not answer is waited for.
    #[serde(with = "time::optional")]
    pub kafka_timeout: Option<Duration>,
}

/// A property of the client: `name=value`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Property {
    /// Its name in librdkafka.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The value may be secret.
impl fmt::Debug for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=…", self.name)
    }
}

impl FromStr for Property {
    type Err = BadSetting;

    fn from_str(text: &str) -> Result<Property, BadSetting> {
        let (name, value) = Settings::property(text)?;
        Ok(Property { name, value })
    }
}

impl TryFrom<String> for Property {
    type Error = BadSetting;

    fn try_from(text: String) -> Result<Property, BadSetting> {
        text.parse()
    }
}

impl From<Property> for String {
    fn from(property: Property) -> String {
        format!("{}={}", property.name, property.value)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { properties: Vec::new(), timeout: Duration::from_secs(30), lost: Lost::Stop }
    }
}

/// Values may be secret: names are shown alone.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.properties.iter().map(|(name, _)| name).collect();
        f.debug_struct("Settings")
            .field("properties", &names)
            .field("timeout", &self.timeout)
            .field("lost", &self.lost)
            .finish()
    }
}

/// What the promises rest on is not for others to set.
const OURS: [&str; 10] = [
    "acks",
    "auto.offset.reset",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.idempotence",
    "enable.partition.eof",
    "log.queue",
    "metadata.broker.list",
    "request.required.acks",
    "statistics.interval.ms",
];

impl Settings {
    /// Whether the value of a property of this name is not for other eyes.
    pub fn is_secret(name: &str) -> bool {
        ["password", "secret", "token", ".pem", "oauthbearer.config", "jaas"]
            .iter()
            .any(|part| name.contains(part))
    }

    /// One property as people write it: `name=value`.
    fn property(text: &str) -> Result<(String, String), BadSetting> {
        let (name, value) = text.split_once('=').ok_or(BadSetting::Form)?;
        match name.trim() {
            "" => Err(BadSetting::Form),
            name => Ok((name.into(), value.trim().into())),
        }
    }

    /// The properties of a file: a line for each, `name=value`; empty lines and those that begin with
    /// # do not count.
    pub fn read(path: &Path) -> Result<Vec<(String, String)>> {
        let text = fs::read_to_string(path).map_err(Error::io(path))?;
        let lines = text.lines().enumerate().filter(|(_, line)| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        lines
            .map(|(at, line)| {
                // Not the line itself, which may hold a secret.
                Settings::property(line).map_err(|why| Error::Row {
                    path: path.into(),
                    line: at as u64 + 1,
                    why: why.into(),
                })
            })
            .collect()
    }

    /// Refuses what the promises would not stand.
    pub(super) fn check(&self) -> Result<()> {
        for (name, _) in &self.properties {
            if name == "bootstrap.servers" {
                return Err(BadSetting::Brokers.into());
            }
            if OURS.contains(&name.as_str()) {
                return Err(BadSetting::Ours(name.clone()).into());
            }
        }
        if self.timeout < Duration::from_millis(100) {
            return Err(BadSetting::Timeout.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_properties_has_a_line_for_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kafka.properties");
        fs::write(&path, "# of us\n\nsasl.password = a=b#c \n  security.protocol=sasl_ssl\r\n").unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let read = Settings::read(&path).unwrap();
        assert_eq!(read, [pair("sasl.password", "a=b#c"), pair("security.protocol", "sasl_ssl")]);
        fs::write(&path, "a=b\nhunter2\n").unwrap();
        let said = Settings::read(&path).unwrap_err().to_string();
        assert!(said.contains("line 2") && !said.contains("hunter2"), "{said}");
    }

    #[test]
    fn what_promises_rest_on_is_not_set_and_values_are_not_shown() {
        let with = |name: &str| Settings {
            properties: vec![(name.into(), "hunter2".into())],
            ..Settings::default()
        };
        assert!(with("enable.auto.commit").check().is_err());
        assert!(with("bootstrap.servers").check().is_err());
        assert!(with("sasl.password").check().is_ok());
        assert!(!format!("{:?}", with("sasl.password")).contains("hunter2"));
        assert!(Settings::is_secret("ssl.key.password") && !Settings::is_secret("security.protocol"));
    }
}
