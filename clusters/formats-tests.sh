# shellcheck shell=bash
# What ./check --clusters formats runs, with what `./cluster env formats` says, the program TAMIS and an empty folder
# WORK: each system reads what tamis wrote, and tamis what it wrote, with the same answers.

export LC_ALL=C
seq 0 99999 >"$WORK/probes-long" # half of them, or fewer, are keys
sed 's/^/key é /' "$WORK/probes-long" >"$WORK/probes-text"

# The keys of a filter: every second of these many numbers.
#   keys TYPE COUNT
keys() {
    seq 0 2 $((2 * $2 - 2)) | if [[ $1 == text || $1 == utf16 ]]; then sed 's/^/key é /'; else cat; fi
}

# The lines that may be in a filter, by tamis and by the other system, are the same.
#   same SYSTEM TYPE FILTER
same() {
    local probes=$WORK/probes-long funnel=$2
    case $2 in text | utf16) probes=$WORK/probes-text ;; esac
    [[ $2 != text ]] || funnel=utf8
    "$TAMIS" filter "$3" "$probes" --format lines --funnel "$funnel" --quiet >"$WORK/ours"
    if [[ $1 == dcso ]]; then
        "$DCSO" ask "$3" "$probes" >"$WORK/theirs"
    else
        $OTHERS ask "$1" "$2" "$3" "$probes" >"$WORK/theirs"
    fi
    cmp "$WORK/ours" "$WORK/theirs"
    [[ -s $WORK/ours ]]
}

# A filter by the other system, and one by tamis: the same bytes where the layout leaves nothing open.
#   both SYSTEM TYPE COUNT
both() {
    local system=$1 type=$2 steps=()
    keys "$type" "$3" >"$WORK/keys"
    [[ $type == text ]] || steps=(--key ":$type")
    if [[ $system == dcso ]]; then
        "$DCSO" make "$WORK/keys" 0.01 "$WORK/theirs.bin"
    else
        $OTHERS make "$system" "$type" "$WORK/keys" 0.01 "$WORK/theirs.bin"
    fi
    "$TAMIS" build "$WORK/keys" --format lines "${steps[@]}" --to "$system" --fpr 0.01 --quiet -o "$WORK/ours.bin" >/dev/null
    same "$system" "$type" "$WORK/theirs.bin"
    same "$system" "$type" "$WORK/ours.bin"
    case $system in
        datasketches | dcso) ;; # whether bits were counted, and how many keys were new, is theirs to say
        *) cmp "$WORK/theirs.bin" "$WORK/ours.bin" ;;
    esac
    echo "  $system, $type, $3 keys: the same $(wc -l <"$WORK/ours") of 100,000 probes pass"
}

for count in 10 1000 100000; do
    echo "filters of $count keys"
    for system in spark-v1 spark-v2 guava-64 guava-32 hadoop-murmur hadoop-jenkins dcso datasketches; do
        both "$system" text "$count"
    done
    for system in spark-v1 spark-v2 guava-64 guava-32 datasketches; do both "$system" long "$count"; done
    for system in guava-64 guava-32; do
        both "$system" int "$count"
        both "$system" utf16 "$count"
    done
done

echo "filters in Parquet files"
mkdir -p "$WORK/parquet"
"$PYTHON" clusters/formats/parquet.py "$TAMIS" "$WORK/parquet"
