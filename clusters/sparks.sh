# shellcheck shell=bash
# Environments of Python with the versions of Spark that most clusters run: no servers

# They stay for the next time, beside the jars.
environments=$clusters/python

up() {
    local version python
    for version in "${sparks[@]}"; do
        python=$environments/spark-$version/bin/python
        "$python" -c 'import pyspark' 2>/dev/null || {
            python3 -m venv --clear "$environments/spark-$version" && "$python" -m pip install --quiet \
                --disable-pip-version-check "pyspark==$version" 'pandas<3' 'numpy<2' 'pyarrow<22' pytest hypothesis
        } >"$logs/pip-spark-$version.log" 2>&1 ||
            fail "pip could not get Spark $version; see $logs/pip-spark-$version.log"
    done
    touch "$home/ready"
}

settings() {
    echo "export TAMIS_SPARKS='${sparks[*]}' TAMIS_SPARKS_AT=$environments SPARK_LOCAL_IP=127.0.0.1"
}
