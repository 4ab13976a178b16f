# shellcheck shell=bash
# What ./check --clusters standalone runs, with what `./cluster env standalone` says, the program TAMIS and an empty
# folder WORK.

echo "a job on Spark and the same job on one machine write the same bytes"
"$TAMIS" generate ratings --rows 1e5 -o "$WORK/ratings.tsv" --quiet
recipe=(--key tconst --group averageRating:round --fpr 0.01 --quiet)
"$TAMIS" build "$WORK/ratings.tsv" "${recipe[@]}" -o "$WORK/one.tamis" >/dev/null
"$TAMIS" build "$WORK/ratings.tsv" "${recipe[@]}" --on "$TAMIS_STANDALONE" -o "$WORK/many.tamis" >/dev/null
cmp "$WORK/one.tamis" "$WORK/many.tamis"

echo "a stream on Spark and the same stream on one machine learn the same bytes"
mkdir "$WORK/seen"
cp "$WORK/ratings.tsv" "$WORK/seen"
learn=(stream --train "$WORK/seen" --key tconst --keys 1e5 --quiet)
"$TAMIS" "${learn[@]}" --state "$WORK/one"
"$TAMIS" "${learn[@]}" --state "$WORK/many" --on "$TAMIS_STANDALONE" >/dev/null
cmp "$WORK/one/filter.tamis" "$WORK/many/filter.tamis"

echo "a document's runs by executors"
(cd "$WORK" && "$TAMIS" reproduce ratings --rows 1e5 --on "$TAMIS_STANDALONE" --executors 1,2)
