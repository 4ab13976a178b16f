# shellcheck shell=bash
# MapReduce by Hadoop Streaming, with tamis as mapper and reducer. The tests of the cluster yarn source this: with what
# `./cluster env yarn` says, the program TAMIS and an empty folder WORK.

echo "two jobs of Hadoop Streaming build and count what one machine does"
(cd "$WORK" && "$TAMIS" reproduce speedup --sizes 1e5 --records 0 --repeats 1 --on hadoop --json >speedup.json)
grep -q '"same_bytes": true' "$WORK/speedup.json"

echo "a reducer that writes the binary file to HDFS itself"
streamed=tamis-streamed-$$
"$TAMIS" generate words --rows 2e4 -o "$WORK/words.txt" --quiet
"$TAMIS" plan "$WORK/words.txt" --fpr 0.01 -o "$WORK/params.json" --quiet >/dev/null
"$TAMIS" build "$WORK/words.txt" --params "$WORK/params.json" -o "$WORK/one.tamis" --quiet
cat >"$WORK/reduce.sh" <<END
set -e
./tamis merge - -o words.tamis --quiet
"$(command -v hadoop)" fs -put words.tamis "\$mapreduce_task_output_dir/words.tamis"
END
hadoop fs -mkdir -p "$streamed"
hadoop fs -put "$WORK/words.txt" "$streamed/words.txt"
mapred streaming -D mapreduce.job.reduces=1 -D mapreduce.job.maps=3 \
    -files "$TAMIS#tamis,$WORK/params.json,$WORK/reduce.sh" -input "$streamed/words.txt" -output "$streamed/out" \
    -mapper './tamis build - --params params.json -o - --base64 --quiet' -reducer 'sh reduce.sh' >"$WORK/streamed.log" 2>&1 ||
    { cat "$WORK/streamed.log" && exit 1; }
hadoop fs -cat "$streamed/out/words.tamis" | cmp - "$WORK/one.tamis"
hadoop fs -cat "$streamed/out/words.tamis" | "$TAMIS" verify -
hadoop fs -rm -r -f -skipTrash "$streamed" >/dev/null
