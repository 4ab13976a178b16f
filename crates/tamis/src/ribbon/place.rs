//! Where a key lies: from its hash and the seed to a slot, coefficients and a fingerprint. All
//! of it is part of the format.

/// What a fingerprint is spread by: 2⁶⁴ divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// What a seed is multiplied by, so that neighbouring seeds differ in many bits.
const SEED: u64 = 0xd1b5_4a32_d192_ed03;

/// What a seed changes in the hashes of a layer. The high bits of the seed belong to the layers
/// that bump keys, all of it to the last, so that the last can be tried again alone.
#[inline]
pub(super) fn salt(seed: u64, layer: usize) -> u64 {
    ((seed >> 8).wrapping_mul(16).wrapping_add(layer as u64)).wrapping_mul(SEED)
}

/// The same for the last layer.
#[inline]
pub(super) fn last_salt(seed: u64) -> u64 {
    seed.wrapping_mul(16).wrapping_add(15).wrapping_mul(SEED)
}

#[inline]
pub(super) fn mix(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// What [`mix`] made this of.
pub(super) fn unmix(z: u64) -> u64 {
    let z = (z ^ z >> 31 ^ z >> 62).wrapping_mul(0x3196_42b2_d24d_8ec3);
    let z = (z ^ z >> 27 ^ z >> 54).wrapping_mul(0x96de_1b17_3f11_9089);
    z ^ z >> 30 ^ z >> 60
}

/// A key in one layer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// Its first slot.
    pub start: u64,
    /// Bit i tells whether slot start + i belongs to it; the lowest is set.
    pub coefficients: u64,
    /// What its slots sum up to: one bit per column, lowest first.
    pub fingerprint: u32,
}

/// The first slot of a key in a layer with this many starts. It grows with the key.
#[inline]
pub(super) fn start(key: u64, starts: u64) -> u64 {
    ((u128::from(key) * u128::from(starts)) >> 64) as u64
}

/// The place of a key, which is a hash as its layer has mixed it, in a layer with this many
/// starts.
#[inline]
pub(super) fn place(key: u64, starts: u64) -> Place {
    let z = mix(key);
    Place {
        start: start(key, starts),
        coefficients: z | 1,
        fingerprint: (z.wrapping_mul(SPREAD) >> 32) as u32,
    }
}
