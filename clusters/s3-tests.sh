# shellcheck shell=bash
# What ./check --clusters s3 runs, with what `./cluster env s3` says, an empty folder WORK, and the Python PYTHON in which
# the package is installed: first the local program with the feature cloud, then jobs on Spark.

root=$PWD
there=s3://tamis
# store put FILE KEY | get KEY FILE | list [PREFIX] | cat PREFIX | unfinished
store() {
    "$TAMIS_S3_PYTHON" - "$@" <<'END'
import os, sys, boto3
s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
verb, *words = sys.argv[1:]
if verb == "put":
    s3.upload_file(words[0], "tamis", words[1])
elif verb == "get":
    s3.download_file("tamis", words[0], words[1])
elif verb == "list":
    found = s3.list_objects_v2(Bucket="tamis", Prefix="".join(words)).get("Contents", [])
    print("\n".join(file["Key"] for file in found))
elif verb == "cat":
    for file in s3.list_objects_v2(Bucket="tamis", Prefix=words[0])["Contents"]:
        sys.stdout.buffer.write(s3.get_object(Bucket="tamis", Key=file["Key"])["Body"].read())
elif verb == "unfinished":
    print("\n".join(one["Key"] for one in s3.list_multipart_uploads(Bucket="tamis").get("Uploads", [])))
END
}

# shellcheck source=clusters/cloud-tests.sh
source "$root/clusters/cloud-tests.sh"

echo "who may not, and what is not there, is said"
refused "no such bucket" "$TAMIS" build s3://no-such-bucket/a.tsv -o none.tamis
refused "no such bucket" "$TAMIS" build a.tsv --key tconst -o s3://no-such-bucket/a.tamis
refused "nothing can be written behind HTTP" "$TAMIS" build a.tsv --key tconst -o http://127.0.0.1:1/a.tamis
refused "InvalidAccessKeyId" env AWS_ACCESS_KEY_ID=AKIAOTHER "$TAMIS" build s3://tamis/all.tsv --key tconst -o none.tamis
refused "SignatureDoesNotMatch" env AWS_SECRET_ACCESS_KEY=wrong "$TAMIS" build s3://tamis/in --key tconst -o none.tamis
read -r reader_id reader_secret <<<"$TAMIS_S3_READER"
reader=(env AWS_ACCESS_KEY_ID="$reader_id" AWS_SECRET_ACCESS_KEY="$reader_secret" "$TAMIS")
"${reader[@]}" build s3://tamis/all.tsv "${recipe[@]}" -o read.tamis >/dev/null
cmp read.tamis all.tamis
refused "permission denied (AccessDenied)" "${reader[@]}" build s3://tamis/all.tsv "${recipe[@]}" -o s3://tamis/out/denied.tamis
[[ ! -e none.tamis && ! -e none.tsv && -z $(store list out/denied) ]]

echo "on Spark, by s3a: the same bytes, records and counts"
on=(--on 'local[2]' --python "$PYTHON" "--submit-arg=--driver-class-path=$TAMIS_S3_JARS/*" --submit-arg=--driver-memory=1g)
for setting in "endpoint=$AWS_ENDPOINT_URL" "endpoint.region=$AWS_REGION" path.style.access=true \
    attempts.maximum=3 retry.limit=3; do
    on+=("--submit-arg=--conf=spark.hadoop.fs.s3a.$setting")
done
"$TAMIS" plan s3a://tamis/all.tsv "${recipe[@]}" "${on[@]}" -o s3a://tamis/spark/params.json >/dev/null
same spark/params.json params.json
"$TAMIS" build s3a://tamis/all.tsv --params s3a://tamis/spark/params.json --quiet "${on[@]}" \
    -o s3a://tamis/spark/built.tamis >/dev/null
same spark/built.tamis by-params.tamis
"$TAMIS" test s3a://tamis/spark/built.tamis s3a://tamis/all.tsv --json --quiet "${on[@]}" >there.json
"$TAMIS" test by-params.tamis all.tsv --json --quiet >here.json
"$TAMIS_S3_PYTHON" -c 'import json; assert len({json.dumps(json.load(open(f))["groups"]) for f in ("there.json", "here.json")}) == 1'
"$TAMIS" filter s3a://tamis/out/members.tamis s3a://tamis/all.tsv --quiet "${on[@]}" -o s3a://tamis/spark/known >/dev/null
store list spark/known/ | grep -x spark/known/_SUCCESS >/dev/null
"$TAMIS" filter members.tamis all.tsv --quiet | sort -u >here
store cat spark/known/part- | sort -u | cmp - here
mkdir seen && cp all.tsv seen
learn=(--keys 3e5 --key tconst --quiet)
"$TAMIS" stream --train seen "${learn[@]}" --state one-run >/dev/null
store put all.tsv seen/all.tsv
"$TAMIS" stream --train s3a://tamis/seen "${learn[@]}" "${on[@]}" --state s3a://tamis/spark/run >/dev/null
same spark/run/filter.tamis one-run/filter.tamis
refused "no such bucket" "$TAMIS" build s3a://tamis/all.tsv "${recipe[@]}" "${on[@]}" -o s3a://no-such-bucket/a.tamis
[[ -z $(store unfinished) && -z $(store list spark | grep draft) ]]

echo "from Python, by s3a"
"$PYTHON" "$root/clusters/from_python.py" s3a://tamis all.tsv all.tamis "spark.driver.extraClassPath=$TAMIS_S3_JARS/*" \
    "spark.hadoop.fs.s3a.endpoint=$AWS_ENDPOINT_URL" "spark.hadoop.fs.s3a.endpoint.region=$AWS_REGION" \
    spark.hadoop.fs.s3a.path.style.access=true

echo "a server that is killed while a job runs"
mkfifo rows passed
# The output could be written when the job began.
"$TAMIS" build - --format lines --keys 1e6 --quiet -o s3://tamis/out/late.tamis <rows >late 2>&1 &
build=$!
exec 3>rows
# The records that are not wanted wait in a pipe, and with them what is still to be read.
"$TAMIS" build a.tsv --key tconst --quiet -o few.tamis >/dev/null
"$TAMIS" filter few.tamis s3://tamis/large.txt --key 1 --no-header --format csv --rejected passed --quiet -o half.txt >lost 2>&1 &
filter=$!
exec 4<passed
head -c 100000 <&4 >/dev/null
seq 100000 >&3
kill -9 "$TAMIS_S3_SERVER"
exec 3>&-
cat <&4 >/dev/null
for job in "$build late" "$filter lost"; do
    code=0
    wait "${job% *}" || code=$?
    sed 's/^/  (as it should) /' "${job#* }"
    ((code == 1)) || { echo "exit code $code"; exit 1; }
    grep -q "cannot be reached" "${job#* }"
done
[[ ! -e half.txt ]]
