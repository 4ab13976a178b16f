//! Compiles the peer that is written in C++, with the optimisation of the release profile and the vectors that it
//! wants: unlike ours, they are chosen when it is compiled.

fn main() {
    let boost = zanbil_build::init_zanbil_crate();
    println!("cargo:rerun-if-changed=src/boost.cpp");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).includes(boost.aggregated_include_dirs).file("src/boost.cpp");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64") {
        build.flag("-mavx2").flag("-mbmi2");
    }
    build.compile("tamis_bench_boost");
}
