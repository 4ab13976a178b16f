# shellcheck shell=bash
# What ./check --clusters yarn runs, with what `./cluster env yarn` says, the program TAMIS, the Python PYTHON with the
# package in it and an empty folder WORK. The driver is on this machine (client mode) or on a node (cluster mode).

root=$PWD
cd "$WORK"
mkdir bin && ln -s "$TAMIS" bin/tamis
export PATH=$WORK/bin:$PATH
recipe=(--key tconst --group averageRating:round --fpr 0.01)
# Many small tasks, so that a node can be lost between them.
small=--submit-arg=--conf=spark.sql.files.maxPartitionBytes=200k

same() { cmp "$1" "$2" || { echo "not the same: $1 and $2" >&2; return 1; }; }
# What a folder of Spark holds, as one machine writes it: one header, and records in any order.
records() { hdfs dfs -cat "$1/part-*" | sort -u; }
# The numbers of a test, without its times.
numbers() { python3 -c 'import json, sys; found = json.load(sys.stdin); del found["seconds"]; print(json.dumps(found, sort_keys=True))'; }
# Runs a command that must fail, and say this.
fails() {
    local words=$1 code=0 since=$SECONDS
    shift
    "$@" >said 2>&1 || code=$?
    sed 's/^/  (as it should) /' said
    ((code == 1)) || { echo "exit code $code, not 1: $*" >&2; return 1; }
    grep -q -- "$words" said || { echo "it did not say: $words" >&2; return 1; }
    echo "  after $((SECONDS - since)) s"
}
# Nothing is left in HDFS: no draft, no staging.
is_clean() {
    hdfs dfs -ls -R . >listing
    ! grep -E '\.draft|\.tamis/.' listing || { echo "this was left" >&2; return 1; }
}
# Processes that run in the folder of a node: its containers.
containers() {
    local process
    for process in /proc/[0-9]*; do
        [[ $(readlink "$process/cwd" 2>/dev/null) != "$TAMIS_YARN/node$1/"* ]] || echo "${process#/proc/}"
    done
}
runs_on() {
    local pid
    for pid in $(containers "$1"); do
        ! grep -qa -- "$2" "/proc/$pid/cmdline" 2>/dev/null || return 0
    done
    return 1
}
tasks_run() { runs_on 1 pyspark.daemon || runs_on 2 pyspark.daemon; }
until_tasks_run() {
    local until=$((SECONDS + 240))
    until tasks_run; do
        ((SECONDS < until)) || { echo "no task ran" >&2; return 1; }
        sleep 0.1
    done
}
none_runs() {
    local applications
    applications=$(yarn application -list 2>/dev/null | grep -c application_ || true)
    ((applications == 0)) || { echo "$applications applications still run" >&2; return 1; }
}
# Kills a node as a power cut does, NodeManager and containers, once a process of this name runs there, and none of the other
# name, and tasks of Python run anywhere.
lose_node_with() {
    local node until=$((SECONDS + 240))
    while ((SECONDS < until)); do
        for node in 1 2; do
            if runs_on "$node" "$1" && tasks_run && { [[ -z ${2-} ]] || ! runs_on "$node" "$2"; }; then
                # shellcheck disable=SC2046 # words
                kill -9 "$(cat "$TAMIS_YARN/nodemanager$node.pid")" $(containers "$node") 2>/dev/null || true
                echo "  node $node is lost"
                return
            fi
        done
        sleep 0.1
    done
    echo "no $1 ran" >&2
    return 1
}
# Starts the DataNode again, with these settings.
restart_datanode() {
    kill -9 "$(cat "$TAMIS_YARN/datanode.pid")"
    if (($#)); then
        setsid java-of-hadoop -Xmx256m org.apache.hadoop.hdfs.server.datanode.DataNode "$@" </dev/null >>datanode.log 2>&1 &
        echo $! >"$TAMIS_YARN/datanode.pid"
        # The NameNode knows it again, and what it has room for.
        local until=$((SECONDS + 90))
        until grep -q 'Successfully sent block report\|heartbeating to' datanode.log; do
            ((SECONDS < until)) || { cat datanode.log >&2; return 1; }
            sleep 0.2
        done
        sleep 5
        return
    fi
    nodes_again
}
nodes_again() { (cd "$root" && ./cluster up yarn >/dev/null); }

echo "what one machine makes of it"
tamis generate ratings --rows 1e5 -o data.tsv --quiet
tamis plan data.tsv "${recipe[@]}" -o one.json --quiet >/dev/null
tamis build data.tsv "${recipe[@]}" -o one.tamis --quiet >/dev/null
tamis test one.tamis data.tsv --json --quiet | numbers >one.numbers
tamis filter one.tamis data.tsv --group 8 --quiet | sort -u >one.records

# An environment as the documentation has it made. What the executors' own Python has is nothing.
python3 -m venv --without-pip env
site=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
into=$(env/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
for package in tamis pyarrow numpy numpy.libs pandas dateutil six.py pytz tzdata; do
    [[ ! -e $site/$package ]] || cp -R "$site/$package" "$into"
done
ln -s "$site/pyspark" "$site/py4j" "$into"
# Of the debug build, most is for a debugger, and of the packages, much is their tests: less to ship.
strip --strip-debug "$into/tamis/_tamis.abi3.so" 2>/dev/null || true
rm -rf "$into"/{pyarrow,numpy,pandas}/tests "$into"/pyarrow/{include,src,*.pyx,*.pxi}
rm -f "$into"/pyarrow/{lib,_}*{flight,s3}*
env/bin/python -c 'import pyarrow.compute'
! python3 -c 'import tamis' 2>/dev/null || { echo "python3 has tamis already: this tests nothing" >&2; exit 1; }
unset PYSPARK_PYTHON

echo "the walk-through of docs/how-to/machines.md, line by line"
python3 - "$root/docs/how-to/machines.md" <<'END'
import re, subprocess, sys
blocks = re.findall(r"^```sh yarn\n(.*?)^```", open(sys.argv[1]).read(), re.M | re.S)
lines = [line for block in blocks for line in block.replace("\\\n", "").splitlines()]
assert len(lines) > 5, "the page has no walk-through"
for line in lines:
    print("$", line, flush=True)
    subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=True)
END
hdfs dfs -get params.json .
hdfs dfs -get ratings.tamis .
hdfs dfs -get streamed.tamis .
same one.json params.json
same one.tamis ratings.tamis
records known | same one.records -
tamis stream --train data.tsv --params one.json --state one-run --quiet
same one-run/filter.tamis streamed.tamis
is_clean

me=hdfs:///user/$(id -un)
archive=(--submit-arg=--archives=hdfs:///tmp/env.tar.gz#env --python ./env/bin/python)
on=(--on yarn "${archive[@]}" --executors 2 --wait 5m --quiet)
echo "the driver on a node: the same bytes and counts, with files here and there"
tamis build Data/Input/data.tsv --params params.json "${on[@]}" --deploy-mode cluster -o "file://$WORK/far.tamis" >/dev/null
same one.tamis far.tamis
tamis test "file://$WORK/far.tamis" "$me/Data/Input/" "${on[@]}" --submit-arg=--deploy-mode=cluster --json >far.json
numbers <far.json | same one.numbers -
is_clean

echo "a stream goes on with files that come, the driver on a node: the same bytes and answers"
tamis generate ratings --rows 5e3 --seed 2 -o more.tsv --quiet
hdfs dfs -put more.tsv Data/Input/
tamis stream --train Data/Input --query Data/Input --params params.json --state run "${on[@]}" --deploy-mode cluster \
    -o answers >/dev/null
tamis stream --train data.tsv more.tsv --query data.tsv more.tsv --batch 1e6 --params one.json --state two-runs \
    -o two-runs.txt --quiet
hdfs dfs -get run/filter.tamis two.tamis
same two-runs/filter.tamis two.tamis
sort -u two-runs.txt >two-runs.sorted
hdfs dfs -cat 'answers/batch=*/part-*' | sort -u | same two-runs.sorted -
hdfs dfs -rm -skipTrash Data/Input/more.tsv >/dev/null
is_clean

echo "Ctrl-C ends the application, and the driver on a node"
env --default-signal=INT tamis test ratings.tamis Data/Input/data.tsv "${on[@]}" "$small" --deploy-mode cluster >said 2>&1 &
waits=$! code=0
until_tasks_run
kill -INT "$waits"
wait "$waits" || code=$?
sed 's/^/  (as it should) /' said
((code == 130)) || { echo "exit code $code, not 130" >&2; exit 1; }
none_runs
is_clean

echo "the node of the application master is lost, and the driver on it: the same records, once"
lose_node_with deploy.yarn.ApplicationMaster &
tamis filter ratings.tamis Data/Input/data.tsv --group 8 "${on[@]}" "$small" --deploy-mode cluster -o far
wait $!
records far | same one.records -
is_clean
nodes_again

echo "the node of the application master is lost, and the driver is here: the same bytes"
lose_node_with deploy.yarn.ExecutorLauncher &
tamis build Data/Input/data.tsv --params params.json "${on[@]}" "$small" -o again.tamis >/dev/null
wait $!
hdfs dfs -get again.tamis .
same one.tamis again.tamis
nodes_again

echo "a node with nothing but an executor is lost: the same counts"
lose_node_with YarnCoarseGrainedExecutorBackend deploy.yarn.ExecutorLauncher &
# So large that no node has both executors beside the application master.
tamis test ratings.tamis Data/Input/data.tsv "${on[@]}" "$small" --submit-arg=--executor-memory=1g --json >again.json
wait $!
numbers <again.json | same one.numbers -
nodes_again

echo "what cannot be is said, in bounded time"
build=(tamis build Data/Input/data.tsv "${recipe[@]}" --on yarn --executors 1 --quiet -o x.tamis)
fails "hdfs://.*/user/.*/none.tsv: without a scheme" tamis build none.tsv "${recipe[@]}" "${on[@]}" -o x.tamis
fails "file://$WORK/one.tamis is on this machine" tamis test one.tamis Data/Input/data.tsv "${on[@]}"
fails "gave it no container, and it was ended" "${build[@]}" "${archive[@]}" --submit-arg=--queue=closed --wait 15s
PYSPARK_DRIVER_PYTHON=$PYTHON fails "there is no Python ./env/bin/python9 where the tasks run" \
    "${build[@]}" "${archive[0]}" --python ./env/bin/python9
hdfs dfsadmin -safemode enter >/dev/null
fails "in safe mode" "${build[@]}" "${archive[@]}"
hdfs dfsadmin -safemode leave >/dev/null
hdfs dfs -mkdir -p small
hdfs dfsadmin -setSpaceQuota 64k small
fails "the quota of a folder of HDFS is used up" tamis build Data/Input/data.tsv "${recipe[@]}" "${on[@]}" -o small/x.tamis
! hdfs dfs -test -e small/x.tamis
is_clean
fails "YARN ended a container because it took more memory than it had asked for" "${build[@]}" "${archive[@]}" \
    "$small" --submit-arg=--conf=spark.executor.memoryOverhead=1m --submit-arg=--executor-cores=4 \
    --submit-arg=--conf=spark.yarn.maxAppAttempts=1 \
    --submit-arg=--conf=spark.executor.extraJavaOptions='-XX:+UseSerialGC -XX:+AlwaysPreTouch -Xms512m'
# A disk of which nothing is left for blocks.
restart_datanode -Ddfs.datanode.du.reserved=1000000000000000
fails "HDFS is full" "${build[@]}" "${archive[@]}"
restart_datanode
is_clean
none_runs

# shellcheck source=clusters/mapreduce-tests.sh
source "$root/clusters/mapreduce-tests.sh"
