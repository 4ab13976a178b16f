# shellcheck shell=bash
# What ./check --clusters hdfs runs, with what `./cluster env hdfs` says and an empty folder WORK: the local program with
# the feature cloud, and files there from Python. Jobs on Spark with files there are tested on yarn.

root=$PWD
there=$TAMIS_HDFS
# store put FILE KEY | get KEY FILE | list PREFIX | unfinished
store() {
    local verb=$1
    shift
    case $verb in
        put) hdfs dfs -mkdir -p "$(dirname "$there/$2")" && hdfs dfs -put -f "$1" "$there/$2" ;;
        get) hdfs dfs -get -f "$there/$1" "$2" ;;
        list) hdfs dfs -ls -C "$there/${1-}*" 2>/dev/null || true ;;
        unfinished) hdfs dfs -ls -R -C "$there" | grep -v 'in/\.hidden$' | grep '/\.' || true ;;
    esac
}

# shellcheck source=clusters/cloud-tests.sh
source "$root/clusters/cloud-tests.sh"

echo "what is not there, and a quota that is used up, is said"
refused "cannot be reached" "$TAMIS" build hdfs://127.0.0.1:1/a.tsv -o none.tamis
hdfs dfs -mkdir -p "$there/small"
hdfs dfsadmin -setSpaceQuota 64k "$there/small"
refused "quota" "$TAMIS" build a.tsv --key tconst --quiet -o "$there/small/a.tamis"
[[ -z $(store list small/a) && -z $(store unfinished) ]]

echo "from Python, by Spark"
"$PYTHON" "$root/clusters/from_python.py" "$there" all.tsv all.tamis

echo "a NameNode that hangs is given up, and what it would have been asked can be done later"
kill -STOP "$TAMIS_HDFS_NAMENODE"
trap 'kill -CONT "$TAMIS_HDFS_NAMENODE"' EXIT
refused "no answer in 30 s" "$TAMIS" build "$there/all.tsv" "${recipe[@]}" -o none.tamis
refused "no answer in 30 s" "$TAMIS" build a.tsv --key tconst --quiet -o "$there/out/hung.tamis"
kill -CONT "$TAMIS_HDFS_NAMENODE"
"$TAMIS" build "$there/all.tsv" "${recipe[@]}" -o later.tamis >/dev/null
cmp later.tamis all.tamis
[[ ! -e none.tamis && -z $(store list out/hung) && -z $(store unfinished) ]]

echo "a DataNode that is killed while a job runs"
mkfifo passed
"$TAMIS" build a.tsv --key tconst --quiet -o few.tamis >/dev/null
"$TAMIS" filter few.tamis "$there/large.txt" --key 1 --no-header --format csv --rejected passed --quiet -o half.txt >lost 2>&1 &
job=$!
exec 4<passed
head -c 100000 <&4 >/dev/null
kill -9 "$TAMIS_HDFS_DATANODE"
cat <&4 >/dev/null
code=0
wait "$job" || code=$?
sed 's/^/  (as it should) /' lost
((code == 1)) || { echo "exit code $code"; exit 1; }
[[ ! -e half.txt ]]
