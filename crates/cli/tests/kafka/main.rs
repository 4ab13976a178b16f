//! `stream` with topics of Kafka: of the broker that librdkafka carries for tests or, where `TAMIS_KAFKA` names them,
//! of real brokers (`./check --clusters kafka`).
#![cfg(target_os = "linux")]

mod bad_input;
mod broker;
mod changing;
mod cluster;
mod crash;
mod failover;
mod kills;
mod lag;
mod mock;
mod rate;
mod security;
mod servers;
mod topics;
mod wire;

#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod support;
