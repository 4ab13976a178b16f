# shellcheck shell=bash
# A server of Spark Connect with two cores, from the package pyspark

python=${TAMIS_CLUSTER_PYTHON:-$target/python/bin/python}
port=19002

up() {
    [[ -x $python ]] || fail "there is no $python: ./check --only python makes it, or TAMIS_CLUSTER_PYTHON names another"
    local spark
    spark=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))') ||
        fail "$python has no package pyspark"
    "$python" -c 'import grpc, grpc_status, zstandard' 2>/dev/null ||
        "$python" -m pip install --quiet --disable-pip-version-check "grpcio==$grpc" "grpcio-status==$grpc" zstandard \
            >"$logs/pip-connect.log" 2>&1 || fail "pip could not get what a client of Connect needs; see $logs/pip-connect.log"
    mkdir -p "$home/work"
    export SPARK_HOME=$spark SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON=$python SPARK_LOCAL_DIRS=$home/local
    start server "$spark/bin/spark-submit" --master 'local[2]' --driver-memory 1g \
        --class org.apache.spark.sql.connect.service.SparkConnectServer \
        --conf spark.connect.grpc.binding.address=127.0.0.1 --conf "spark.connect.grpc.binding.port=$port" \
        --conf spark.ui.enabled=false --conf "spark.sql.warehouse.dir=$home/work" spark-internal
    await 120 "the server answers" listens "$port"
}

settings() {
    echo "export TAMIS_CONNECT=sc://127.0.0.1:$port SPARK_LOCAL_IP=127.0.0.1"
}
