# shellcheck shell=bash
# What ./check --clusters connect runs, with what `./cluster env connect` says and the Python PYTHON in which the package
# is installed.

echo "DataFrames of Spark Connect"
(cd crates/python && "$PYTHON" -m pytest --quiet -p no:cacheprovider tests/test_connect.py)
