//! SipHash-2-4 under a secret key: who does not have the key can neither make keys for a wanted hash nor
//! find out which keys a sketch holds.
//!
//! The key itself is never written. A file records a check value, the hash of a fixed text, by which the
//! right key is recognised: a key is [added](HashKey::add) to those that the program knows, and a scheme
//! that is read finds it there. The check value is made by SipHash, since XXH3 of a key could be inverted.

use core::fmt;

#[cfg(feature = "serde")]
use alloc::string::String;
#[cfg(feature = "serde")]
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(feature = "serde")]
use super::of_digits;
use crate::chunks::chunks;

/// Bytes of a key.
pub const KEY_BYTES: usize = 16;

/// The text whose hash is the check value of a key.
const CHECKED: &[u8] = b"tamis: check value of a hash key";

/// A secret key of 128 bits, or the check value of one that the program does not have.
///
/// ```
/// use tamis::hash::HashKey;
///
/// let key = HashKey::read(b"000102030405060708090a0b0c0d0e0f\n").unwrap();
/// assert_eq!(key, HashKey::new(core::array::from_fn(|i| i as u8)));
/// assert!(!format!("{key:?}").contains("0102"));
/// ```
#[derive(Clone, Copy)]
pub struct HashKey(Held);

/// What the program has of a key. Schemes are copied everywhere, so that it is small: the check value of a
/// key that is known is made when it is asked for.
#[derive(Clone, Copy)]
enum Held {
    /// Its two halves.
    Secret([u64; 2]),
    /// Its check value.
    Check(u64),
}

/// The keys that were added, and whether each was asked for since.
#[cfg(feature = "std")]
fn known() -> std::sync::MutexGuard<'static, Vec<(HashKey, bool)>> {
    static KNOWN: std::sync::Mutex<Vec<(HashKey, bool)>> = std::sync::Mutex::new(Vec::new());
    KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl HashKey {
    /// The key of these bytes.
    pub fn new(bytes: [u8; KEY_BYTES]) -> HashKey {
        let (halves, _) = chunks::<_, 8>(&bytes);
        let halves = [u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])];
        HashKey(Held::Secret(halves))
    }

    /// The key in a file: 16 bytes as they are, or 32 hexadecimal digits with blanks around them. None of
    /// anything else.
    pub fn read(file: &[u8]) -> Option<HashKey> {
        if let Ok(bytes) = file.try_into() {
            return Some(HashKey::new(bytes));
        }
        let digits = file.trim_ascii();
        if digits.len() != 2 * KEY_BYTES {
            return None;
        }
        let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
        let mut bytes = [0; KEY_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(chunks::<_, 2>(digits).0) {
            *byte = value(pair[0])? << 4 | value(pair[1])?;
        }
        Some(HashKey::new(bytes))
    }

    /// Makes the key known: files that record its check value can be asked from now on.
    #[cfg(feature = "std")]
    pub fn add(self) {
        let mut known = known();
        if self.is_known() && !known.iter().any(|(key, _)| *key == self) {
            known.push((self, false));
        }
    }

    /// The key that was added last, for a new sketch.
    #[cfg(feature = "std")]
    pub fn usual() -> Option<HashKey> {
        known().last().map(|(key, _)| *key)
    }

    /// Whether any key was added.
    pub(super) fn any() -> bool {
        #[cfg(feature = "std")]
        return !known().is_empty();
        #[cfg(not(feature = "std"))]
        false
    }

    /// All keys that were added: for those who start other processes of the same job.
    #[cfg(feature = "std")]
    pub fn all() -> Vec<HashKey> {
        known().iter().map(|(key, _)| *key).collect()
    }

    /// Whether a scheme that was read, or a job, has asked for this key since it was added.
    #[cfg(feature = "std")]
    pub fn is_asked(self) -> bool {
        known().iter().any(|(key, asked)| *key == self && *asked)
    }

    /// The key of this check value: without its secret, where none was added.
    pub fn of_check(check: u64) -> HashKey {
        let unknown = HashKey(Held::Check(check));
        #[cfg(feature = "std")]
        if let Some((key, asked)) = known().iter_mut().find(|(key, _)| *key == unknown) {
            *asked = true;
            return *key;
        }
        unknown
    }

    /// What a file records of the key.
    pub fn check(self) -> u64 {
        match self.0 {
            Held::Secret(halves) => siphash(CHECKED, halves),
            Held::Check(check) => check,
        }
    }

    /// The secret itself, for those who must hand it to another process of the same job. None of a key
    /// that the program does not have.
    pub fn secret(self) -> Option<[u8; KEY_BYTES]> {
        let Held::Secret([first, second]) = self.0 else { return None };
        Some(core::array::from_fn(|i| (if i < 8 { first } else { second } >> (8 * (i % 8))) as u8))
    }

    /// Whether the program has the key, and not its check value alone.
    pub fn is_known(self) -> bool {
        matches!(self.0, Held::Secret(_))
    }

    /// The hash of a key under this secret.
    ///
    /// # Panics
    /// Where the program does not have the secret: files are opened for asking only where it has.
    #[inline]
    pub fn hash(self, key: &[u8]) -> u64 {
        match self.0 {
            Held::Secret(halves) => siphash(key, halves),
            Held::Check(_) => panic!("sketches are asked only where their hash key is known"),
        }
    }
}

/// By the check value: a key that is not known is still that key.
impl PartialEq for HashKey {
    fn eq(&self, other: &HashKey) -> bool {
        self.check() == other.check()
    }
}

impl Eq for HashKey {}

/// Never the secret.
impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HashKey({self})")
    }
}

/// Never the secret.
impl fmt::Display for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "check value {:016x}", self.check())
    }
}

/// As its check value, never the secret.
#[cfg(feature = "serde")]
impl Serialize for HashKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.check()))
    }
}

#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for HashKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        of_digits(&text)
            .map(HashKey::of_check)
            .ok_or_else(|| serde::de::Error::custom("a check value is 16 hexadecimal digits"))
    }
}

/// SipHash-2-4 with 64 bits, as Aumasson and Bernstein published it: two rounds for every eight bytes, the
/// last of which hold what is left and the length, and four at the end.
fn siphash(key: &[u8], [first, second]: [u64; 2]) -> u64 {
    let mut state = [
        first ^ 0x736f_6d65_7073_6575,
        second ^ 0x646f_7261_6e64_6f6d,
        first ^ 0x6c79_6765_6e65_7261,
        second ^ 0x7465_6462_7974_6573,
    ];
    let mut absorb = |word: u64| {
        state[3] ^= word;
        round(&mut state);
        round(&mut state);
        state[0] ^= word;
    };
    let (words, rest) = chunks::<_, 8>(key);
    words.iter().for_each(|word| absorb(u64::from_le_bytes(*word)));
    let rest = rest.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    absorb((key.len() as u64) << 56 | rest);
    state[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

#[inline(always)]
fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted() -> HashKey {
        HashKey::new(core::array::from_fn(|i| i as u8))
    }

    #[test]
    fn siphash_gives_the_published_values() {
        // From the paper (appendix A) and the vectors of the reference implementation: the key 00…0f, and
        // the first bytes of 00 01 02 …
        let text: Vec<u8> = (0..64).collect();
        for (length, expected) in [
            (0, 0x726f_db47_dd0e_0e31),
            (1, 0x74f8_39c5_93dc_67fd),
            (2, 0x0d6c_8009_d9a9_4f5a),
            (7, 0xab02_00f5_8b01_d137),
            (8, 0x93f5_f579_9a93_2462),
            (15, 0xa129_ca61_49be_45e5),
            (63, 0x958a_324c_eb06_4572),
        ] {
            assert_eq!(counted().hash(&text[..length]), expected, "{length} bytes");
        }
    }

    #[test]
    fn siphash_is_that_of_the_standard_library() {
        use core::hash::Hasher;
        for length in 0..200u64 {
            let key: Vec<u8> = (0..length).map(|i| (i * i + length) as u8).collect();
            // The hasher of the standard library is SipHash-1-3 but for the deprecated one, which is 2-4.
            #[expect(deprecated, reason = "the one SipHash-2-4 there is")]
            let mut theirs =
                core::hash::SipHasher::new_with_keys(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
            theirs.write(&key);
            assert_eq!(counted().hash(&key), theirs.finish(), "{length} bytes");
        }
    }

    #[test]
    fn a_key_is_read_as_bytes_or_as_digits_and_nothing_else() {
        let digits = "000102030405060708090a0b0c0d0e0f";
        for text in
            [digits.into(), alloc::format!("{digits}\n"), alloc::format!(" {}\r\n", digits.to_uppercase())]
        {
            assert_eq!(HashKey::read(text.as_bytes()), Some(counted()), "{text:?}");
        }
        assert_eq!(HashKey::read(&counted().secret().unwrap()), Some(counted()));
        for wrong in [
            &b""[..],
            &[7; 15],
            &[7; 17],
            b"+00102030405060708090a0b0c0d0e0f",
            b"g00102030405060708090a0b0c0d0e0f",
            b"000102030405060708090a0b0c0d0e0f00",
            &[b' '; 40],
        ] {
            assert_eq!(HashKey::read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_the_check_value_of_a_key_is_ever_written() {
        let key = HashKey::new(*b"0123456789abcdef");
        let json = serde_json::to_string(&key).unwrap();
        assert_eq!(json, alloc::format!("\"{:016x}\"", key.check()));
        let hex = alloc::format!("{:016x}", u64::from_le_bytes(*b"01234567"));
        for text in
            [json.clone(), alloc::format!("{key:?}"), alloc::format!("{key:#?}"), alloc::format!("{key}")]
        {
            assert!(!text.contains("01234567") && !text.contains(&hex), "{text}");
        }
        // It is read as the key itself only where the key was added.
        let read = || serde_json::from_str::<HashKey>(&json).unwrap();
        assert_eq!((read(), read().is_known(), read().secret()), (key, false, None));
        key.add();
        assert_eq!(read().secret(), Some(*b"0123456789abcdef"));
        assert_eq!(read().hash(b"ann"), key.hash(b"ann"));
        for wrong in [r#""1""#, r#""+123456789abcdef""#, r#""0123456789ABCDEF""#, "12", r#""éééééééé""#]
        {
            assert!(serde_json::from_str::<HashKey>(wrong).is_err(), "{wrong}");
        }
    }
}
