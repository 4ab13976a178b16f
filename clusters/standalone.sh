# shellcheck shell=bash
# Spark's own cluster manager: a master and two workers of two cores, from the package pyspark

python=${TAMIS_CLUSTER_PYTHON:-$target/python/bin/python}
port=17077

up() {
    [[ -x $python ]] || fail "there is no $python: ./check --only python makes it, or TAMIS_CLUSTER_PYTHON names another"
    local spark worker
    spark=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))') ||
        fail "$python has no package pyspark"
    export SPARK_HOME=$spark SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON=$python SPARK_DAEMON_MEMORY=256m
    export SPARK_WORKER_DIR=$home/work SPARK_LOCAL_DIRS=$home/local
    start master "$spark/bin/spark-class" org.apache.spark.deploy.master.Master \
        --host 127.0.0.1 --port "$port" --webui-port 0
    await 60 "the master answers" listens "$port"
    for worker in 1 2; do
        start "worker$worker" "$spark/bin/spark-class" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 \
            --cores 2 --memory 2g --webui-port 0 "spark://127.0.0.1:$port"
    done
    for worker in 1 2; do
        await 60 "worker $worker is registered" \
            grep -q "Successfully registered with master" "$logs/standalone-worker$worker.log"
    done
}

settings() {
    echo "export TAMIS_STANDALONE=spark://127.0.0.1:$port"
    echo "export PYSPARK_PYTHON=$python SPARK_LOCAL_IP=127.0.0.1"
}
