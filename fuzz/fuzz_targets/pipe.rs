//! Containers that follow each other in a pipe, of any bytes: as they are, and as a line of base64. No panic, and
//! no memory on their word.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    read(data);
    // What a line begins with every time need not be found.
    read(&[&b"key\tiVRBTUlTDQ"[..], data].concat());
});

fn read(bytes: &[u8]) {
    let mut containers = tamis_make::pipe::Containers::new(bytes, "pipe");
    while let Ok(Some((container, _))) = containers.next_container() {
        for group in 0..container.params().groups.len() {
            let _ = container.verify(group);
        }
    }
}
