#!/usr/bin/env bash
# Lookups in filters of other systems, by tamis and by the originals in a warm JVM or in Go, in one run on this machine:
#   eval "$(./cluster env formats)"; clusters/formats/speed.sh [KEYS...]
# For each number of keys (1 and 10 million): 100,000 probes, of which half are in the filter, one thread each.
set -euo pipefail
cd "$(dirname "$0")/../.."
[[ $# -gt 0 ]] || set -- 1000000 10000000
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo build --quiet --release --locked --package tamis-formats --example speed
ours=${CARGO_TARGET_DIR:-target}/release/examples/speed
printf '%-15s %-5s %11s %9s %9s %7s  %s\n' system type keys original tamis ratio verdict
behind=0
for count in "$@"; do
    seq 0 2 $((2 * count - 2)) >"$work/keys-long"
    # Probes all over the filter, in no order.
    seq 0 $((2 * count - 1)) | shuf -n 100000 --random-source=<(yes) >"$work/probes-long"
    for of in keys probes; do sed 's/^/key-/' "$work/$of-long" >"$work/$of-text"; done
    for case in spark-v1:long spark-v2:long spark-v2:text guava-64:long guava-64:text guava-32:text hadoop-murmur:text hadoop-jenkins:text \
        datasketches:long datasketches:text dcso:text; do
        system=${case%:*} type=${case#*:}
        if [[ $system == dcso ]]; then
            "$DCSO" make "$work/keys-$type" 0.01 "$work/filter"
            read -r theirs found < <("$DCSO" speed "$work/filter" "$work/probes-$type")
        else
            $OTHERS make "$system" "$type" "$work/keys-$type" 0.01 "$work/filter"
            read -r theirs found < <($OTHERS speed "$system" "$type" "$work/filter" "$work/probes-$type")
        fi
        read -r mine same < <("$ours" "$work/filter" "$type" "$work/probes-$type")
        [[ $found == "$same" ]] || {
            echo "speed: $system, $type: the original finds $found, and tamis $same" >&2
            exit 1
        }
        verdict=$(awk -v theirs="$theirs" -v mine="$mine" 'BEGIN { print (mine < theirs) ? "ahead" : "behind" }')
        [[ $verdict == ahead ]] || behind=1
        printf '%-15s %-5s %11d %6.1f ns %6.1f ns %7.2f  %s\n' "$system" "$type" "$count" "$theirs" "$mine" \
            "$(awk -v theirs="$theirs" -v mine="$mine" 'BEGIN { print theirs / mine }')" "$verdict"
    done
done
exit $behind
