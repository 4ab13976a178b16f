# shellcheck shell=bash
# What ./check --clusters formats runs, with what `./cluster env formats` says, the program TAMIS and an empty folder
# WORK: each system reads what tamis wrote, and tamis what it wrote, with the same answers.

export LC_ALL=C

# Numbers as keys of a type: every line of numbers, of text, or of bytes that are no text.
#   as TYPE <NUMBERS
as() {
    case $1 in
        text | utf16) sed 's/^/key é /' ;;
        bytes) sed 's/^/key \xe9 /' ;;
        *) cat ;;
    esac
}

for type in long text bytes; do seq 0 99999 | as $type >"$WORK/probes-$type"; done # half of them, or fewer, are keys
cp "$WORK/probes-long" "$WORK/probes-int"
cp "$WORK/probes-text" "$WORK/probes-utf16"

# What a system does, by its own classes.
#   theirs make|ask SYSTEM TYPE ARGUMENTS...
theirs() {
    local verb=$1 system=$2 type=$3
    shift 3
    if [[ $system == dcso ]]; then "$DCSO" "$verb" "$@"; else $OTHERS "$verb" "$system" "$type" "$@"; fi
}

# The funnel of a type.
funnel() {
    if [[ $1 == text ]]; then echo utf8; else echo "$1"; fi
}

# The lines that may be in a filter, by tamis and by the other system, are the same.
#   same SYSTEM TYPE FILTER
same() {
    local probes=$WORK/probes-$2
    "$TAMIS" filter "$3" "$probes" --format lines --funnel "$(funnel "$2")" --quiet >"$WORK/ours"
    theirs ask "$1" "$2" "$3" "$probes" >"$WORK/theirs"
    cmp "$WORK/ours" "$WORK/theirs"
    [[ -s $WORK/ours ]]
}

# A filter by the other system, and one by tamis: the same bytes where the layout leaves nothing open.
#   both SYSTEM TYPE COUNT
both() {
    local system=$1 type=$2 steps=()
    seq 0 2 $((2 * $3 - 2)) | as "$type" >"$WORK/keys"
    case $type in text | bytes) ;; *) steps=(--key ":$type") ;; esac
    theirs make "$system" "$type" "$WORK/keys" 0.01 "$WORK/theirs.bin"
    "$TAMIS" build "$WORK/keys" --format lines "${steps[@]}" --to "$system" --fpr 0.01 --quiet -o "$WORK/ours.bin" >/dev/null
    same "$system" "$type" "$WORK/theirs.bin"
    if [[ $system == datasketches ]]; then # whether bits were counted is theirs to say
        same "$system" "$type" "$WORK/ours.bin"
    else
        cmp "$WORK/theirs.bin" "$WORK/ours.bin"
    fi
    echo "  $system, $type, $3 keys: the same $(wc -l <"$WORK/ours") of 100,000 probes pass"
}

# What tamis only reads.
#   theirs_alone TYPE COUNT
theirs_alone() {
    seq 0 2 $((2 * $2 - 2)) | as "$1" >"$WORK/keys"
    if [[ $1 != long ]]; then
        theirs make hadoop-counting "$1" "$WORK/keys" 0.01 "$WORK/theirs.bin"
        same hadoop-counting "$1" "$WORK/theirs.bin"
        echo "  hadoop-counting, $1, $2 keys: the same $(wc -l <"$WORK/ours") of 100,000 probes pass"
    fi
    theirs make spark-counts "$1" "$WORK/keys" 0 "$WORK/theirs.bin"
    theirs ask spark-counts "$1" "$WORK/theirs.bin" "$WORK/probes-$1" | cut -f2 >"$WORK/theirs"
    "$TAMIS" query "$WORK/theirs.bin" --funnel "$(funnel "$1")" --quiet <"$WORK/probes-$1" | cut -f2 >"$WORK/ours" || true
    cmp "$WORK/ours" "$WORK/theirs"
    [[ $(wc -l <"$WORK/ours") == 100000 ]]
    echo "  spark-counts, $1, $2 keys: the same estimates of 100,000 probes"
}

for count in 10 1000 100000; do
    echo "filters of $count keys"
    for type in text bytes; do
        for system in spark-v1 spark-v2 guava-64 guava-32 hadoop-murmur hadoop-jenkins dcso datasketches; do
            both "$system" "$type" "$count"
        done
        theirs_alone "$type" "$count"
    done
    for system in spark-v1 spark-v2 guava-64 guava-32 datasketches; do both "$system" long "$count"; done
    theirs_alone long "$count"
    for system in guava-64 guava-32; do
        both "$system" int "$count"
        both "$system" utf16 "$count"
    done
done
echo "filters of 10000000 keys"
for system in spark-v1 spark-v2 guava-64 dcso datasketches; do both "$system" text 10000000; done
for system in spark-v2 guava-64; do both "$system" long 10000000; done
for system in guava-64 hadoop-murmur; do both "$system" bytes 1000000; done

echo "filters in Parquet files"
mkdir -p "$WORK/parquet"
"$PYTHON" clusters/formats/parquet.py "$TAMIS" "$WORK/parquet"
