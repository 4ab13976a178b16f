//! `stream` with topics of Kafka: of the broker that librdkafka carries for tests or, where `TAMIS_KAFKA` names them,
//! of real brokers (`./check --clusters kafka`).
#![cfg(target_os = "linux")]

mod bad_input;
mod broker;
mod cluster;
mod crash;
mod mock;
mod rate;
mod servers;
mod topics;

#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod support;
