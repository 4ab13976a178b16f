//! `stream` with topics of Kafka, against the broker that librdkafka carries for tests.
#![cfg(target_os = "linux")]

mod bad_input;
mod broker;
mod crash;
mod topics;

#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod support;
