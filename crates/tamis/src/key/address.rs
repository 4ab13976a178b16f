//! Internet addresses: one text for each, and the network that it belongs to.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::BadValue;

/// How many leading bits make a network, by version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Of addresses of version 4; without it they belong to no network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v4: Option<u8>,
    /// Of addresses of version 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v6: Option<u8>,
}

impl Network {
    /// Reads `24` (addresses of version 4), `24/48` (both) or `/48` (version 6).
    pub(super) fn parse(text: Option<&str>) -> Option<Network> {
        let bits = |digits: &str| match digits {
            "" => Some(None),
            digits => digits.parse().ok().map(Some),
        };
        let text = text.unwrap_or_default();
        let (v4, v6) = text.split_once('/').unwrap_or((text, ""));
        let network = bits(v4).zip(bits(v6)).map(|(v4, v6)| Network { v4, v6 });
        network.filter(|network| network.is_possible())
    }

    /// Whether it says something, and nothing that addresses do not have.
    pub(super) fn is_possible(self) -> bool {
        (self.v4.is_some() || self.v6.is_some())
            && self.v4.is_none_or(|bits| bits <= 32)
            && self.v6.is_none_or(|bits| bits <= 128)
    }

    /// The network of an address, as `192.0.2.0/24`.
    pub(super) fn of(self, value: &[u8]) -> Result<Vec<u8>, BadValue> {
        let (address, bits) = match read(value)? {
            IpAddr::V4(address) => {
                let bits = self.v4.ok_or_else(|| BadValue::NoNetwork(address.to_string()))?;
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                (IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask)), bits)
            }
            IpAddr::V6(address) => {
                let bits = self.v6.ok_or_else(|| BadValue::NoNetwork(address.to_string()))?;
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                (IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask)), bits)
            }
        };
        Ok(alloc::format!("{address}/{bits}").into_bytes())
    }
}

/// As it is read.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(bits) = self.v4 {
            write!(f, "{bits}")?;
        }
        if let Some(bits) = self.v6 {
            write!(f, "/{bits}")?;
        }
        Ok(())
    }
}

/// The one text of an address: an address of version 4 inside one of version 6 is that of version 4.
pub(super) fn canonical(value: &[u8]) -> Result<Vec<u8>, BadValue> {
    Ok(read(value)?.to_string().into_bytes())
}

fn read(value: &[u8]) -> Result<IpAddr, BadValue> {
    let address = core::str::from_utf8(value.trim_ascii()).ok().and_then(|text| text.parse::<IpAddr>().ok());
    match address {
        Some(address) => Ok(address.to_canonical()),
        None => Err(BadValue::NotAnAddress(String::from_utf8_lossy(value).into_owned())),
    }
}
