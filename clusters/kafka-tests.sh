# shellcheck shell=bash
# What ./check --clusters kafka runs, with what `./cluster env kafka` says: all tests of the feature kafka, of which those
# that are not about the mock find the real brokers; and those that need them. One after the other, because some kill
# brokers. It has to be the selection of ./check, or all is built again.

echo "promises about topics, on real brokers"
PYO3_BUILD_EXTENSION_MODULE=1 cargo test --quiet --locked --workspace --exclude tamis-bench --features tamis-cli/kafka \
    --test kafka -- --include-ignored --test-threads 1 --show-output
