//! Keys of a large share, kept beside a sketch, which itself cannot list any.

use alloc::vec::Vec;

use crate::real::ceil;

/// The keys of each group whose estimate is at least a share of the group's total weight, and
/// among them all whose true weight is.
#[derive(Debug, Clone, PartialEq)]
pub struct Heavy {
    /// The share: above 0, and at most 1.
    pub share: f64,
    /// For each group, in their order, the bytes of its keys, ascending.
    pub groups: Vec<Vec<Vec<u8>>>,
}

/// What is wrong with the bytes of such a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeavyFault {
    /// There are fewer than it says.
    #[error("it ends too early")]
    Short,
    /// There are more.
    #[error("it continues after its last key")]
    Long,
    /// Its share is none.
    #[error("its share is not between 0 and 1")]
    Share,
    /// Its keys are not sorted.
    #[error("a key occurs twice, or out of order")]
    Order,
}

/// The least estimate of a key that is listed: this share of the total, rounded up, and at least
/// 1. A hair less than the product, which rounding may have put above a share that is met exactly.
///
/// ```
/// assert_eq!(tamis::countmin::least(0.07, 100), 7); // 0.07 * 100.0 is above 7
/// ```
pub fn least(share: f64, total: u64) -> u64 {
    ceil(share * total as f64 * (1.0 - 1e-12)).max(1.0) as u64
}

impl Heavy {
    /// Its bytes in a file: the share, then for each group the number of its keys and, for each
    /// key, its length and its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.share.to_le_bytes().to_vec();
        for keys in &self.groups {
            bytes.extend_from_slice(&(keys.len() as u64).to_le_bytes());
            for key in keys {
                bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
                bytes.extend_from_slice(key);
            }
        }
        bytes
    }

    /// Reads what [`encode`](Self::encode) wrote for this many groups.
    pub fn decode(bytes: &[u8], groups: usize) -> Result<Heavy, HeavyFault> {
        let short = || HeavyFault::Short;
        let (share, mut rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let share = f64::from_le_bytes(*share);
        if !(share > 0.0 && share <= 1.0) {
            return Err(HeavyFault::Share);
        }
        let mut lists = Vec::with_capacity(groups);
        for _ in 0..groups {
            let (count, after) = rest.split_first_chunk::<8>().ok_or_else(short)?;
            rest = after;
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for _ in 0..u64::from_le_bytes(*count) {
                let (length, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
                let length = u32::from_le_bytes(*length) as usize;
                let (key, after) = after.split_at_checked(length).ok_or_else(short)?;
                if keys.last().is_some_and(|last| last.as_slice() >= key) {
                    return Err(HeavyFault::Order);
                }
                keys.push(key.to_vec());
                rest = after;
            }
            lists.push(keys);
        }
        if !rest.is_empty() {
            return Err(HeavyFault::Long);
        }
        Ok(Heavy { share, groups: lists })
    }

    /// The keys of all groups together.
    pub fn keys(&self) -> u64 {
        self.groups.iter().map(|keys| keys.len() as u64).sum()
    }
}
