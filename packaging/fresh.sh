#!/usr/bin/env bash
# The two commands of the README on a fresh machine. ./release --try runs this in a minimal Debian root that has Rust
# (/opt/rust), the crates that Cargo.lock names (/opt/cargo), the source (/tamis), and nothing else of the machine.
set -euo pipefail
export PATH=/opt/rust/bin:$PATH CARGO_HOME=/opt/cargo DEBIAN_FRONTEND=noninteractive
cd /tamis

fail() {
    echo "fresh: $1" >&2
    exit 1
}

echo "-- ./check names what is missing, a line each"
code=0
chown -R nobody .
setpriv --reuid=nobody --regid=nogroup --clear-groups ./check --tools >/tmp/said 2>&1 || code=$?
grep '^missing: ' /tmp/said || { cat /tmp/said >&2 && fail "./check names nothing"; }
((code == 1)) || fail "./check ends with $code where things are missing"
twice=$(sed -n 's/^missing: \([^ ,]*\).*/\1/p' /tmp/said | sort | uniq -d)
[[ -z $twice ]] || fail "./check names twice: $twice"
for thing in 'a C compiler' make g++ pkg-config libssl-dev python3 python3-venv default-jre-headless; do
    grep -q "^missing: $thing[ ,]" /tmp/said || fail "./check does not name $thing"
done

echo "-- the package that the README names"
package=$(sed -n 's/.*`apt install \([^`]*\)`.*/\1/p' README.md)
[[ $package ]] || fail "the README names no package"
# shellcheck disable=SC2086 # words
{ apt-get update && apt-get install --yes $package; } >/tmp/said 2>&1 || { tail -n 5 /tmp/said >&2 && fail "apt-get"; }
echo "$package"

echo "-- the first command of the README"
grep -q '^cargo run --release -- demo ' README.md || fail "the README has another command"
cargo run --release -- demo >/tmp/said 2>&1 || { tail -n 30 /tmp/said >&2 && fail "the demo"; }
grep 'Finished' /tmp/said
tail -n 3 /tmp/said
grep -q '</html>' demo/report.html || fail "the demo wrote no page"

echo "-- the second: ./check installs what is missing, and checks"
./check --tools
./check --only format,no-std
