# shellcheck shell=bash
# The local program with the feature cloud on one kind of store. Sourced by the tests of S3 and HDFS, which say what it
# is: `there`, the address of a folder in it, and the function
#   store put FILE KEY | get KEY FILE | list [PREFIX] | unfinished (what is left of outputs that did not end)

# One program for all of it, built as ./check builds it, with one feature more.
echo "the feature cloud: lints, and its own tests"
export PYO3_BUILD_EXTENSION_MODULE=1
cloud=(--quiet --locked --workspace --exclude tamis-bench --features tamis-cli/kafka,tamis-cli/cloud)
cargo clippy "${cloud[@]}" --all-targets -- -D warnings
cargo test "${cloud[@]}" --test cloud
cargo build "${cloud[@]}" --bins
cp "$TAMIS" "$WORK/tamis"
TAMIS=$WORK/tamis
cd "$WORK"

# A command that must fail with words that have this in them; and with nothing left where it would have written.
refused() {
    local words=$1 code=0
    shift
    "$@" >said 2>&1 || code=$?
    ((code == 1 || code == 2)) || { cat said; echo "exit code $code: $*"; return 1; }
    grep -qF -- "$words" said || { cat said; echo "no word of '$words': $*"; return 1; }
    sed 's/^/  (as it should) /' said
}

same() { # OBJECT FILE
    store get "$1" got
    cmp got "$2"
}

echo "data, here and there"
"$TAMIS" generate ratings --rows 3e5 -o all.tsv --quiet
head -n 100000 all.tsv >a.tsv
{ head -n 1 all.tsv; tail -n +100001 all.tsv; } >b.tsv
gzip -k -c b.tsv >b.tsv.gz
recipe=(--key tconst --group averageRating:round --fpr 0.01 --quiet)
"$TAMIS" build all.tsv "${recipe[@]}" -o all.tamis >/dev/null
"$TAMIS" filter all.tamis all.tsv -o all.parquet --quiet >/dev/null
for file in a.tsv b.tsv.gz; do store put "$file" "in/$file"; done
for file in all.tsv all.parquet; do store put "$file" "$file"; done
store put a.tsv in/.hidden
: >empty && store put empty in/_SUCCESS

echo "build: a file, a folder, a glob, text that is compressed, Parquet; the same bytes"
for input in all.tsv in in/ 'in/*.tsv*' '*/?.tsv*' '**/[ab].tsv*' all.parquet 'all.p*'; do
    "$TAMIS" build "$there/$input" "${recipe[@]}" -o "$there/out/one.tamis" >/dev/null
    store get out/one.tamis got
    # Parquet and text differ in what the file says of its source, and in nothing else.
    case $input in *p*) "$TAMIS" build all.parquet "${recipe[@]}" -o want.tamis >/dev/null ;; *) cp all.tamis want.tamis ;; esac
    cmp got want.tamis
done
"$TAMIS" build "$there/in" a.tsv "${recipe[@]}" --exact -o "$there/out/keys.tamis" >/dev/null
"$TAMIS" build a.tsv b.tsv a.tsv "${recipe[@]}" --exact -o keys.tamis >/dev/null
same out/keys.tamis keys.tamis
same out/keys.tamis.keys keys.tamis.keys

echo "plan, and build by its parameters"
"$TAMIS" plan "$there/in" "${recipe[@]}" -o "$there/out/params.json" >/dev/null
"$TAMIS" plan all.tsv "${recipe[@]}" -o params.json >/dev/null
same out/params.json params.json
"$TAMIS" build "$there/all.tsv" --params "$there/out/params.json" --quiet -o "$there/out/by-params.tamis" >/dev/null
"$TAMIS" build all.tsv --params params.json --quiet -o by-params.tamis >/dev/null
same out/by-params.tamis by-params.tamis

echo "test, query, inspect, verify, merge, compare, top"
"$TAMIS" test "$there/out/one.tamis" "$there/in" --json --quiet --report "$there/out/page.html" >there.json
"$TAMIS" test want.tamis a.tsv b.tsv --json --quiet --report page.html >here.json
python3 - <<'END'
import json
there, here = (json.load(open(name)) for name in ("there.json", "here.json"))
for report in (there, here):
    for key in ("file", "inputs", "seconds", "path", "paths"):
        report.pop(key, None)
assert there["groups"] == here["groups"], "other counts"
END
store list out/page | grep page.html >/dev/null
"$TAMIS" query "$there/out/one.tamis" tt0000001 --quiet >there || true
"$TAMIS" query want.tamis tt0000001 --quiet >here || true
cmp there here
"$TAMIS" inspect "$there/out/one.tamis" >/dev/null
"$TAMIS" verify "$there/out/keys.tamis" >/dev/null
"$TAMIS" build "$there/in" --key tconst --group '(file)' --quiet -o index.tamis >/dev/null
"$TAMIS" locate index.tamis "$(sed -n 2p a.tsv | cut -f 1)" --quiet | grep '/in/a.tsv' >/dev/null
for part in a b; do
    "$TAMIS" build $part.tsv --params params.json --quiet -o "$there/out/$part.tamis" >/dev/null
done
"$TAMIS" merge "$there/out/a.tamis" "$there/out/b.tamis" -o "$there/out/merged.tamis" --quiet >/dev/null
same out/merged.tamis by-params.tamis
"$TAMIS" compare "$there/out/a.tamis" "$there/out/b.tamis" >/dev/null
"$TAMIS" top "$there/all.tsv" --key averageRating --quiet >there
"$TAMIS" top all.tsv --key averageRating --quiet >here
cmp there here

echo "filter and dedup, from there and to there, as text, compressed and as Parquet"
"$TAMIS" build a.tsv --key tconst --exact --quiet -o "$there/out/members.tamis" >/dev/null
"$TAMIS" build a.tsv --key tconst --exact --quiet -o members.tamis >/dev/null
for output in known.tsv known.tsv.gz known.parquet; do
    "$TAMIS" filter "$there/out/members.tamis" "$there/in" --strict --quiet -o "$there/out/$output" \
        --rejected "$there/out/un$output" >/dev/null
    "$TAMIS" filter members.tamis a.tsv b.tsv --strict --quiet -o "$output" --rejected "un$output" >/dev/null
    same "out/$output" "$output"
    same "out/un$output" "un$output"
done
"$TAMIS" filter "$there/out/members.tamis" "$there/all.parquet" --strict --quiet -o "$there/out/rows.parquet" >/dev/null
"$TAMIS" filter members.tamis all.parquet --strict --quiet -o rows.parquet >/dev/null
same out/rows.parquet rows.parquet
"$TAMIS" dedup "$there/all.tsv" --key averageRating --quiet -o "$there/out/once.tsv" >/dev/null
"$TAMIS" dedup all.tsv --key averageRating --quiet -o once.tsv >/dev/null
same out/once.tsv once.tsv

echo "what is larger than one request is sent in parts"
head -c 30000000 /dev/urandom | base64 -w 60 >large.txt
store put large.txt large.txt
"$TAMIS" build "$there/large.txt" --fpr 1e-9 --exact --quiet -o "$there/out/large.tamis" >/dev/null
"$TAMIS" build large.txt --fpr 1e-9 --exact --quiet -o large.tamis >/dev/null
same out/large.tamis.keys large.tamis.keys
same out/large.tamis large.tamis
[[ -z $(store unfinished) ]]

echo "what cannot be done is said, and leaves nothing"
refused "no such file" "$TAMIS" build "$there/none.tsv" -o none.tamis
refused "no file matches" "$TAMIS" build "$there/none*" -o none.tamis
refused "contains no files" "$TAMIS" build "$there/none/" -o none.tamis
refused "no such file" "$TAMIS" query "$there/none.tamis" x
refused "not the name of a file" "$TAMIS" build a.tsv --key tconst -o "$there/folder/"
refused "lies elsewhere" "$TAMIS" add "$there/out/merged.tamis" a.tsv
refused "lies elsewhere" "$TAMIS" dedup "$there/all.tsv" --key tconst --state state.tamis -o none.tsv
refused "files of this machine" "$TAMIS" stream --train "$there/all.tsv" --query a.tsv --keys 1e6
refused "is an input" "$TAMIS" filter members.tamis "$there/all.tsv" -o "$there/all.tsv"
[[ ! -e none.tamis && ! -e none.tsv ]]
