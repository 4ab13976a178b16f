# shellcheck shell=bash
# Hadoop: HDFS with one DataNode, YARN with two NodeManagers of 3 GB and 4 cores each

python=${TAMIS_CLUSTER_PYTHON:-$target/python/bin/python}
conf=$home/conf
me=$(id -un)
rpc=18020 manager=18032
# What is started lives for seconds, several at a time on few cores: it is not worth a good compiler.
quick='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'

# Two nodes on one machine: everything that has a port or a folder is told where.
node() {
    local number=$1 port=$((18100 + 10 * $1))
    java_of NodeManager 256 "-Dyarn.nodemanager.address=127.0.0.1:$port" \
        "-Dyarn.nodemanager.localizer.address=127.0.0.1:$((port + 1))" \
        "-Dyarn.nodemanager.webapp.address=127.0.0.1:$((port + 2))" \
        "-Dyarn.nodemanager.local-dirs=$home/node$number/local" \
        "-Dyarn.nodemanager.log-dirs=$logs/yarn-containers$number" "-Dmapreduce.shuffle.port=$((port + 3))"
}

# Starts a daemon from its class, as Hadoop's own scripts do.
#   java_of NodeManager|… MEGABYTES ARGUMENT…
java_of() {
    local class memory=$2
    case $1 in
        NameNode) class=org.apache.hadoop.hdfs.server.namenode.NameNode ;;
        DataNode) class=org.apache.hadoop.hdfs.server.datanode.DataNode ;;
        ResourceManager) class=org.apache.hadoop.yarn.server.resourcemanager.ResourceManager ;;
        NodeManager) class=org.apache.hadoop.yarn.server.nodemanager.NodeManager ;;
    esac
    shift 2
    daemon=("$home/bin/java-of-hadoop" "-Xmx${memory}m" "$class" "$@")
}

up() {
    prepare
    up_hdfs
    java_of ResourceManager 384
    start resourcemanager "${daemon[@]}"
    local number
    for number in 1 2; do
        node "$number"
        start "nodemanager$number" "${daemon[@]}"
    done
    hdfs_answers
    await 60 "the ResourceManager answers" listens "$manager"
    await 90 "both NodeManagers are registered" nodes_are 2
}

# Jars, and files that say what runs where.
prepare() {
    [[ -x $python ]] || fail "there is no $python: ./check --only python makes it, or TAMIS_CLUSTER_PYTHON names another"
    "$python" -c 'import pyspark' || fail "$python has no package pyspark"
    local folder
    folder=$(jars "hadoop-$hadoop-mapreduce" org.apache.hadoop:hadoop-{common,hdfs,yarn-client}:"$hadoop" \
        org.apache.hadoop:hadoop-yarn-server-{resourcemanager,nodemanager,timelineservice}:"$hadoop" \
        org.apache.hadoop:hadoop-mapreduce-client-{app,jobclient,shuffle}:"$hadoop" \
        org.apache.hadoop:hadoop-streaming:"$hadoop_streaming")
    configure "$folder"
}

up_hdfs() {
    [[ -e $home/name/current ]] || "$home/bin/java-of-hadoop" -Xmx256m \
        org.apache.hadoop.hdfs.server.namenode.NameNode -format -nonInteractive >>"$logs/$name-format.log" 2>&1 ||
        fail "the NameNode was not formatted; see $logs/$name-format.log"
    java_of NameNode 384
    start namenode "${daemon[@]}"
    java_of DataNode 256
    start datanode "${daemon[@]}"
}

hdfs_answers() {
    await 60 "the NameNode answers" listens "$rpc"
    await 90 "HDFS takes files" "$home/bin/hdfs" dfs -mkdir -p "/user/$me" /tmp
    await 60 "HDFS has a DataNode" hdfs_is_whole
}

hdfs_is_whole() { "$home/bin/hdfs" dfsadmin -report -live | grep -q 'Live datanodes (1)'; }
nodes_are() { (($("$home/bin/yarn" node -list 2>/dev/null | grep -c RUNNING) == $1)); }

# A property of a file of Hadoop, for each pair of words.
properties() {
    echo '<configuration>'
    while (($#)); do
        echo "  <property><name>$1</name><value>$2</value></property>"
        shift 2
    done
    echo '</configuration>'
}

configure() {
    local jars=$1
    # The artifacts lack the pages of HDFS, without which its daemons do not start: empty ones will do.
    mkdir -p "$conf"/webapps/{hdfs,datanode} "$home/bin" "$home/spark"
    properties fs.defaultFS "hdfs://127.0.0.1:$rpc" hadoop.tmp.dir "$home/tmp" \
        ipc.client.connect.max.retries 3 ipc.client.connect.max.retries.on.timeouts 3 >"$conf/core-site.xml"
    # A DataNode that is gone is known to be after some seconds, not after ten minutes.
    properties dfs.replication 1 dfs.blocksize 16m dfs.namenode.fs-limits.min-block-size 1m \
        dfs.namenode.name.dir "$home/name" dfs.datanode.data.dir "$home/data" \
        dfs.namenode.http-address 127.0.0.1:18070 dfs.datanode.address 127.0.0.1:18066 \
        dfs.datanode.http.address 127.0.0.1:18064 dfs.datanode.ipc.address 127.0.0.1:18067 \
        dfs.datanode.hostname 127.0.0.1 dfs.client.use.datanode.hostname false \
        dfs.heartbeat.interval 1 dfs.namenode.heartbeat.recheck-interval 3000 \
        dfs.namenode.safemode.extension 0 >"$conf/hdfs-site.xml"
    # One machine stands for several: its disk is nearly full more often than theirs, and what Java reserves is not
    # what it takes. There are no cgroups, which would mind memory otherwise. A node that is gone is known to be after
    # seconds, not after ten minutes.
    properties yarn.resourcemanager.hostname 127.0.0.1 yarn.resourcemanager.address "127.0.0.1:$manager" \
        yarn.resourcemanager.scheduler.address 127.0.0.1:18030 \
        yarn.resourcemanager.resource-tracker.address 127.0.0.1:18031 \
        yarn.resourcemanager.admin.address 127.0.0.1:18033 yarn.resourcemanager.webapp.address 127.0.0.1:18088 \
        yarn.nodemanager.hostname 127.0.0.1 yarn.nodemanager.resource.memory-mb 3072 \
        yarn.nodemanager.resource.cpu-vcores 4 yarn.scheduler.minimum-allocation-mb 128 \
        yarn.scheduler.maximum-allocation-mb 3072 yarn.scheduler.maximum-allocation-vcores 4 \
        yarn.nodemanager.vmem-check-enabled false yarn.nodemanager.pmem-check-enabled true \
        yarn.nodemanager.resource.memory.enforced false yarn.nodemanager.container-monitor.interval-ms 500 \
        yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage 99.5 \
        yarn.nodemanager.delete.debug-delay-sec 0 yarn.nodemanager.log.retain-seconds 86400 \
        yarn.resourcemanager.nm.liveness-monitor.interval-ms 1000 yarn.nm.liveness-monitor.expiry-interval-ms 15000 \
        yarn.am.liveness-monitor.expiry-interval-ms 90000 yarn.resourcemanager.rm.container-allocation.expiry-interval-ms 60000 \
        yarn.resourcemanager.nodemanagers.heartbeat-interval-ms 300 yarn.resourcemanager.am.max-attempts 3 \
        yarn.nodemanager.env-whitelist JAVA_HOME,HADOOP_CONF_DIR,LANG,TZ \
        yarn.nodemanager.aux-services mapreduce_shuffle \
        yarn.log-aggregation-enable false >"$conf/yarn-site.xml"
    properties mapreduce.framework.name yarn mapreduce.application.classpath "$jars/*" \
        yarn.app.mapreduce.am.staging-dir /tmp/staging yarn.app.mapreduce.am.resource.mb 512 \
        yarn.app.mapreduce.am.command-opts -Xmx300m mapreduce.map.memory.mb 512 mapreduce.reduce.memory.mb 512 \
        mapreduce.map.java.opts -Xmx200m mapreduce.reduce.java.opts -Xmx200m mapreduce.task.io.sort.mb 50 \
        >"$conf/mapred-site.xml"
    # Most of a queue may be application masters: a tenth of 6 GB is not one driver. The queue `closed` takes applications,
    # and never gives them a container.
    properties yarn.scheduler.capacity.root.queues default,closed \
        yarn.scheduler.capacity.root.default.capacity 100 yarn.scheduler.capacity.root.closed.capacity 0 \
        yarn.scheduler.capacity.root.closed.maximum-capacity 0 \
        yarn.scheduler.capacity.root.closed.maximum-applications 10 \
        yarn.scheduler.capacity.maximum-am-resource-percent 0.8 \
        yarn.scheduler.capacity.resource-calculator org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator \
        >"$conf/capacity-scheduler.xml"
    cat >"$conf/log4j.properties" <<END
log4j.rootLogger=\${hadoop.root.logger}
hadoop.root.logger=INFO,console
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
END
    # The jars of Spark are on every node: without this, each job would upload them.
    cat >"$home/spark/spark-defaults.conf" <<END
spark.yarn.jars local:$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')/jars/*
spark.yarn.appMasterEnv.SPARK_LOCAL_IP 127.0.0.1
spark.yarn.am.memory 512m
spark.driver.memory 512m
spark.executor.memory 512m
spark.executor.memoryOverhead 512m
spark.driver.extraJavaOptions $quick
spark.executor.extraJavaOptions $quick
spark.yarn.am.extraJavaOptions $quick
spark.ui.enabled false
spark.hadoop.yarn.timeline-service.enabled false
END
    program java-of-hadoop "exec java -Dhadoop.log.dir=$logs -Djava.net.preferIPv4Stack=true $quick \
--add-opens=java.base/java.lang=ALL-UNNAMED -cp '$conf:$jars/*' \"\$@\""
    # What Hadoop's own scripts of these names do, of which there is no artifact.
    local shell="export HADOOP_CONF_DIR=$conf; run() { exec $home/bin/java-of-hadoop -Xmx128m -Dhadoop.root.logger=WARN,console \"\$@\"; }"
    program hdfs "$shell
case \$1 in
    dfs) shift && run org.apache.hadoop.fs.FsShell \"\$@\" ;;
    dfsadmin) shift && run org.apache.hadoop.hdfs.tools.DFSAdmin \"\$@\" ;;
    *) echo 'hdfs: give dfs or dfsadmin' >&2 && exit 2 ;;
esac"
    program hadoop "$shell
case \$1 in
    fs) shift && run org.apache.hadoop.fs.FsShell \"\$@\" ;;
    *) echo 'hadoop: give fs' >&2 && exit 2 ;;
esac"
    program mapred "$shell
case \$1 in
    streaming) shift && run org.apache.hadoop.streaming.HadoopStreaming \"\$@\" ;;
    job) shift && run org.apache.hadoop.mapred.JobClient \"\$@\" ;;
    *) echo 'mapred: give streaming or job' >&2 && exit 2 ;;
esac"
    program yarn "$shell
case \$1 in
    application) run org.apache.hadoop.yarn.client.cli.ApplicationCLI \"\$@\" ;;
    node) shift && run org.apache.hadoop.yarn.client.cli.NodeCLI \"\$@\" ;;
    *) echo 'yarn: give application or node' >&2 && exit 2 ;;
esac"
}

# A program of this cluster, which `env` puts into the PATH.
program() {
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$home/bin/$1"
    chmod +x "$home/bin/$1"
}

settings() {
    echo "export HADOOP_CONF_DIR=$conf SPARK_CONF_DIR=$home/spark SPARK_LOCAL_IP=127.0.0.1"
    echo "export SPARK_HOME=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')"
    echo "export PYSPARK_PYTHON=$python PATH=$home/bin:\$PATH"
    echo "export SPARK_SUBMIT_OPTS='$quick' TAMIS_YARN=$home"
}

# Containers outlive a node that was killed: they are known by the folder that they run in.
cluster_down() {
    local process folder
    for process in $(processes | tac); do stop "$process"; done
    for process in /proc/[0-9]*; do
        folder=$(readlink "$process/cwd" 2>/dev/null) || continue
        [[ $folder != "$home"/* ]] || kill -9 "${process#/proc/}" 2>/dev/null || true
    done
    rm -rf "$home"
}
