//! The example of Castillo and Buda (slides, *Data Streams: Bloom Filters*): 10⁹ keys in 8·10⁹ bits; what is
//! printed there, and where it does not hold.

/// The keys of the example.
pub const KEYS: u64 = 1_000_000_000;

/// Bits per key.
pub const BITS_PER_KEY: u64 = 8;

/// The bits of the example.
pub const BITS: u64 = KEYS * BITS_PER_KEY;

/// The rates that are printed, by number of hash functions.
pub const PRINTED: [(u32, f64); 3] = [(1, 0.1175), (2, 0.0493), (6, 0.0216)];

/// What the slides say, and where it does not hold.
pub const REMARKS: &str = "A key is k darts thrown at the bits; a bit stays 0 with probability (1 − 1/x)^y ≈ e^(−y/x) for y darts and \
x bits. With one hash function the rate is the share of bits that are set, 1 − e^(−1/8) = 0.1175; with two it is the square of \
1 − e^(−1/4), which is 0.0489: the slides print 0.0493. The best k is 8 ln 2 = 5.54, so 6. Where the slides say that \
k = bits/keys gives a collision probability of 1/e, 1/e is the probability that a bit stays zero; the rate at k = 8 is \
(1 − 1/e)⁸ = 0.0255.";

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::bloom::textbook_rate;

    #[test]
    fn the_formula_gives_what_the_slides_print_but_for_two_hashes() {
        for (hashes, printed) in PRINTED {
            let rate = textbook_rate(KEYS, BITS, hashes);
            assert_eq!((rate - printed).abs() < 5e-5, hashes != 2, "{hashes}");
        }
    }
}
