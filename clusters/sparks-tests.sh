# shellcheck shell=bash
# What ./check --clusters sparks runs, with what `./cluster env sparks` says, the program TAMIS and the Python PYTHON in
# which the package is installed: the tests of Spark with each version, and files of the same bytes as one machine's.

package=$("$PYTHON" -c 'import os, tamis; print(os.path.dirname(tamis.__file__))')
"$TAMIS" generate ratings --rows 2e4 -o "$WORK/ratings.tsv" --quiet
recipe=(--key tconst --group averageRating:round --fpr 0.01 --quiet)
"$TAMIS" build "$WORK/ratings.tsv" "${recipe[@]}" -o "$WORK/one.tamis" >/dev/null
# shellcheck disable=SC2153 # it comes from the cluster
for version in $TAMIS_SPARKS; do
    python=$TAMIS_SPARKS_AT/spark-$version/bin/python
    site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    rm -rf "$site/tamis"
    cp -R "$package" "$site/tamis"
    export PYSPARK_PYTHON=$python
    echo "Spark $version: the command line writes the bytes of one machine"
    PATH=$(dirname "$python"):$PATH "$TAMIS" build "$WORK/ratings.tsv" "${recipe[@]}" --on 'local[2]' \
        -o "$WORK/$version.tamis" >/dev/null
    cmp "$WORK/one.tamis" "$WORK/$version.tamis"
    echo "Spark $version: its tests"
    (cd crates/python && "$python" -m pytest --quiet -p no:cacheprovider tests/test_spark.py tests/test_columns.py)
done
