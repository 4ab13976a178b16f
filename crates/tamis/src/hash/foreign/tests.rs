use super::*;

/// Published values: of the reference implementations, and of DCSO's own test.
#[test]
fn hashes_give_the_published_values() {
    assert_eq!(murmur3_wide(b"hello"), (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19));
    assert_eq!(murmur3_wide(b""), (0, 0));
    assert_eq!(xxh64(b"", 0), 0xef46_db37_51d8_e999);
    assert_eq!(fnv1(b"foobar"), 0x340d_8765_a4dd_a9c2);
    assert_eq!(hadoop_jenkins(b"", 0), 0xdead_beef);
    assert_eq!(hadoop_jenkins(b"", 0xdead_beef), 0xbd5b_7dde);
    assert_eq!(hadoop_jenkins(b"Four score and seven years ago", 0), 0x1777_0551);
    assert_eq!(hadoop_jenkins(b"Four score and seven years ago", 1), 0xcd62_8161);
    let of_bar: Vec<u64> = Foreign::Dcso.lanes(b"bar").take(7).map(|lane| lane % 958_505).collect();
    assert_eq!(of_bar, [20_311, 36_825, 412_501, 835_777, 658_914, 853_361, 307_361]);
}

#[test]
fn lanes_that_have_a_range_stay_in_it() {
    for foreign in [Foreign::SparkV1, Foreign::Guava32, Foreign::HadoopMurmur, Foreign::HadoopJenkins] {
        for key in 0..500u32 {
            let lanes = foreign.lanes(&key.to_le_bytes()).take(20).collect::<Vec<_>>();
            // The most negative number without its sign is one more.
            assert!(lanes.iter().all(|&lane| lane <= foreign.range().unwrap()), "{foreign:?} {lanes:?}");
        }
    }
}

#[test]
fn lanes_at_once_are_those_one_by_one() {
    for foreign in Foreign::ALL {
        for key in [&b""[..], b"a", b"key", b"a longer key of more than sixteen bytes"] {
            let mut lanes = [0; 40];
            foreign.lanes(key).fill(&mut lanes);
            assert!(lanes.iter().copied().eq(foreign.lanes(key).take(40)), "{foreign:?}");
        }
    }
}

#[test]
fn xxh64_of_every_short_length_is_that_of_the_library() {
    let bytes: Vec<u8> = (0..100u32).map(|at| (at * at * 7 + at * 31 + 200) as u8).collect();
    for length in 0..=64 {
        for start in 0..=36 {
            let key = &bytes[start..start + length];
            for seed in [0, 1, 42, u64::MAX] {
                assert_eq!(
                    xxh64(key, seed),
                    xxhash_rust::xxh64::xxh64(key, seed),
                    "{length}, {start}, {seed}"
                );
            }
        }
    }
}
