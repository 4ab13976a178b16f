//! What follows each other in a pipe comes out of it again, however it is cut on its way; everything else is
//! refused in words, without memory on its word.

use std::io::BufReader;

use proptest::prelude::*;
use tamis::format::{Extras, HEADER_BYTES};
use tamis::hash::{Scheme, xxh3};
use tamis::key::Recipe;
use tamis::params::{Common, Name};
use tamis::sizing::Kind;

use super::*;
use crate::arena::Placing;
use crate::files;
use crate::plan::{Size, parameters};

/// The bytes of a container of this many groups, some of whose bits are set.
fn container(groups: u8, seed: u64) -> Vec<u8> {
    let field = |text: &str| text.parse().unwrap();
    let recipe = Recipe { key: vec![field("1")], group: Some(field("2")), ..Recipe::lines() };
    let common = Common { kind: Kind::Blocked, hash: Scheme::DEFAULT, recipe };
    let counts = (0..groups).map(|group| (Name(vec![b'a' + group]), 50)).collect();
    let params = parameters(common, counts, Size::Fpr(0.01), 0).unwrap();
    let mut arena = Placing::new(&params).empty().unwrap();
    for (at, word) in arena.iter_mut().enumerate() {
        *word = seed.wrapping_mul(at as u64 + 1);
    }
    let rows = vec![3; groups.into()];
    let beside = vec![tamis::format::Beside::empty(Kind::Blocked); groups.into()];
    let made = files::in_memory(&params, (&rows, &beside), &arena, Extras::default(), 1).unwrap();
    made.bytes().to_vec()
}

/// One after the other, in a form, with this before each line.
fn piped(containers: &[Vec<u8>], form: Form, key: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for container in containers {
        if form == Form::Base64 {
            out.extend_from_slice(key.as_bytes());
        }
        write::to(&mut out, form, |out| out.write_all(container)).unwrap();
    }
    out
}

/// All that comes, read through a window of some bytes.
fn read(bytes: &[u8], window: usize) -> Result<Vec<Vec<u8>>> {
    let mut containers = Containers::new(BufReader::with_capacity(window, bytes), "pipe");
    let mut all = Vec::new();
    while let Some((container, _)) = containers.next_container()? {
        all.push(container.bytes().to_vec());
    }
    Ok(all)
}

fn said(bytes: &[u8]) -> String {
    read(bytes, 100).unwrap_err().to_string()
}

const KEYS: [&str; 4] = ["", "k\t", "a\tlong key\t", "iVRB\t"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn containers_come_out_of_a_pipe_as_they_went_in(seeds in prop::collection::vec((1u8..4, any::<u64>()), 0..5), window in 1usize..300, lines: bool, key in prop::sample::select(&KEYS[..])) {
        let all: Vec<Vec<u8>> = seeds.iter().map(|(groups, seed)| container(*groups, *seed)).collect();
        let form = if lines { Form::Base64 } else { Form::Bytes };
        prop_assert_eq!(read(&piped(&all, form, key), window).unwrap(), all);
    }

    /// Only between two of them is an end no error.
    #[test]
    fn an_end_within_a_container_is_an_error(seeds in prop::collection::vec(any::<u64>(), 1..4), cut: prop::sample::Index, lines: bool) {
        let all: Vec<Vec<u8>> = seeds.iter().map(|seed| container(2, *seed)).collect();
        let form = if lines { Form::Base64 } else { Form::Bytes };
        let ends: Vec<usize> = (0..=all.len()).map(|some| piped(&all[..some], form, "").len()).collect();
        let bytes = piped(&all, form, "");
        let cut = cut.index(bytes.len());
        let whole = ends.iter().position(|end| *end == cut || lines && *end > 0 && *end - 1 == cut);
        match read(&bytes[..cut], 64) {
            Ok(came) => prop_assert_eq!(Some(came.len()), whole),
            Err(_) => prop_assert_eq!(whole, None),
        }
    }

    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..600), begin in 0usize..4, window in 1usize..50) {
        let beginning: &[u8] = [&b""[..], b"\x89TAMIS\r\n", b"iVRBTUlTDQ", b"k\tiVRBTUlTDQoC"][begin];
        bytes.splice(..0, beginning.iter().copied());
        let _ = read(&bytes, window);
    }

    #[test]
    fn a_flipped_bit_is_found(seed: u64, at: prop::sample::Index, bit in 0u8..8) {
        let mut bytes = container(1, seed);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let came = Containers::new(&bytes[..], "pipe").next_container();
        prop_assert!(came.is_err() || came.unwrap().unwrap().0.verify(0).is_err());
    }
}

#[test]
fn what_is_wrong_is_said() {
    let one = container(1, 7);
    let after = [&one[..], b"more"].concat();
    assert_eq!(said(&after), "pipe: after tamis file 1 comes something else");
    assert!(said(b"ann\nbob\n").contains("neither a tamis file nor lines of base64"));
    let cut = &one[..one.len() - 5];
    assert!(said(cut).contains(&format!(
        "ends within tamis file 1, after {} of {} bytes",
        cut.len(),
        one.len()
    )));
    assert!(said(&one[..20]).contains("after 20 of 128 bytes"));
    let line = piped(std::slice::from_ref(&one), Form::Base64, "");
    let lines = [&line[..], b"\n\nnothing here\n"].concat();
    assert_eq!(said(&lines), "pipe: line 4 does not hold a whole tamis file in base64");
    let trimmed = &line[..line.len() - 1];
    assert!(said(&[trimmed, b"\tmore\n"].concat()).contains("line 1 goes on after its tamis file"));
    assert!(said(&[trimmed, b"AAAA\n"].concat()).contains("line 1"));
    assert!(said(&[&trimmed[..40], b"\n"].concat()).contains("tamis file 1"));
    // What Hadoop Streaming adds to a line without a value, and what Windows adds.
    assert_eq!(read(&[trimmed, b"\t\r\n"].concat(), 9).unwrap(), [one]);
    assert!(read(b"", 9).unwrap().is_empty() && read(b"\n\t\n", 9).unwrap().is_empty());
}

/// The header is whole and says that there is more than any machine has.
#[test]
fn a_length_is_not_believed() {
    let mut bytes = container(1, 7);
    let put =
        |bytes: &mut [u8], at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let (length, data) = (bytes.len() as u64, u64::from_le_bytes(bytes[48..56].try_into().unwrap()));
    put(&mut bytes, 16, length + (1 << 60));
    put(&mut bytes, 48, data + (1 << 60));
    let sum = xxh3(&bytes[..HEADER_BYTES - 8], 0);
    put(&mut bytes, HEADER_BYTES - 8, sum);
    assert!(said(&bytes).contains("ends within tamis file 1"), "{}", said(&bytes));
}
