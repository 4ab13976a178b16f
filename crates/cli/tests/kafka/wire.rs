//! Requests and responses of Kafka's protocol, as far as the door before the mock reads and writes them: versions whose
//! fields have a fixed place.

use std::io::{self, Read, Write};
use std::net::TcpStream;

pub fn read_frame(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    from.read_exact(&mut frame)?;
    Ok(frame)
}

pub fn write_frame(to: &mut TcpStream, frame: &[u8]) -> io::Result<()> {
    to.write_all(&[&(frame.len() as u32).to_be_bytes(), frame].concat())
}

/// Reads the fields of a request or a response.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes
    }

    pub fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.bytes(2).try_into().unwrap())
    }

    pub fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.bytes(4).try_into().unwrap())
    }

    pub fn i64(&mut self) -> i64 {
        i64::from_be_bytes(self.bytes(8).try_into().unwrap())
    }

    pub fn text(&mut self) -> Option<String> {
        let length = self.i16();
        (length >= 0).then(|| String::from_utf8(self.bytes(length as usize).to_vec()).unwrap())
    }

    pub fn producer(&mut self) -> (i64, i16) {
        (self.i64(), self.i16())
    }
}

/// Goes through the topics of a request and their partitions. The reply names the same, and what is made of each.
pub fn each_partition(
    fields: &mut Fields<'_>,
    reply: &mut Reply,
    mut of: impl FnMut(&str, i32, &mut Fields<'_>, &mut Reply),
) {
    let topics = fields.i32();
    reply.i32(topics);
    for _ in 0..topics {
        let topic = fields.text().unwrap();
        reply.text(&topic);
        let parts = fields.i32();
        reply.i32(parts);
        for _ in 0..parts {
            let partition = fields.i32();
            reply.i32(partition);
            of(&topic, partition, fields, reply);
        }
    }
}

/// Writes them.
#[derive(Default)]
pub struct Reply(pub Vec<u8>);

impl Reply {
    pub fn to(request: &[u8]) -> Reply {
        Reply(request[4..8].to_vec()) // the same correlation
    }

    pub fn i16(&mut self, value: i16) {
        self.0.extend(value.to_be_bytes());
    }

    pub fn i32(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    pub fn i64(&mut self, value: i64) {
        self.0.extend(value.to_be_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.i16(text.len() as i16);
        self.0.extend(text.as_bytes());
    }
}
