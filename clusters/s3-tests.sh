# shellcheck shell=bash
# What ./check --clusters s3 runs, with what `./cluster env s3` says, an empty folder WORK, and the Python PYTHON in which
# the package is installed: first the local program with the feature cloud, then jobs on Spark.

# One program for all of it, built as ./check builds it, with one feature more.
echo "the feature cloud: lints, and its own tests"
export PYO3_BUILD_EXTENSION_MODULE=1
cloud=(--quiet --locked --workspace --exclude tamis-bench --features tamis-cli/kafka,tamis-cli/cloud)
cargo clippy "${cloud[@]}" --all-targets -- -D warnings
cargo test "${cloud[@]}" --test cloud
cargo build "${cloud[@]}" --bins
cp "$TAMIS" "$WORK/tamis"
TAMIS=$WORK/tamis
cd "$WORK"

# s3 put FILE KEY | get KEY FILE | list [PREFIX] | uploads | cat PREFIX
s3() {
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
elif verb == "uploads":
    print("\n".join(one["Key"] for one in s3.list_multipart_uploads(Bucket="tamis").get("Uploads", [])))
END
}

# A command that must fail with words that have this in them; and with nothing left where it would have written.
refused() {
    local words=$1 code=0
    shift
    "$@" >said 2>&1 || code=$?
    ((code == 1 || code == 2)) || { cat said; echo "exit code $code: $*"; return 1; }
    grep -qF -- "$words" said || { cat said; echo "no word of '$words': $*"; return 1; }
    sed 's/^/  (as it should) /' said
}

same() { # OBJECT FILE
    s3 get "$1" got
    cmp got "$2"
}

echo "data, here and there"
"$TAMIS" generate ratings --rows 3e5 -o all.tsv --quiet
head -n 100000 all.tsv >a.tsv
{ head -n 1 all.tsv; tail -n +100001 all.tsv; } >b.tsv
gzip -k -c b.tsv >b.tsv.gz
recipe=(--key tconst --group averageRating:round --fpr 0.01 --quiet)
"$TAMIS" build all.tsv "${recipe[@]}" -o all.tamis >/dev/null
"$TAMIS" filter all.tamis all.tsv -o all.parquet --quiet >/dev/null
for file in a.tsv b.tsv.gz; do s3 put "$file" "in/$file"; done
for file in all.tsv all.parquet; do s3 put "$file" "$file"; done
s3 put a.tsv in/.hidden
: >empty && s3 put empty in/_SUCCESS

echo "build: a file, a folder, a glob, text that is compressed, Parquet; the same bytes"
for input in all.tsv in in/ 'in/*.tsv*' '*/?.tsv*' '**/[ab].tsv*' all.parquet 'all.p*'; do
    "$TAMIS" build "s3://tamis/$input" "${recipe[@]}" -o "$TAMIS_S3/out/one.tamis" >/dev/null
    s3 get out/one.tamis got
    # Parquet and text differ in what the file says of its source, and in nothing else.
    case $input in *p*) "$TAMIS" build all.parquet "${recipe[@]}" -o want.tamis >/dev/null ;; *) cp all.tamis want.tamis ;; esac
    cmp got want.tamis
done
"$TAMIS" build s3a://tamis/in a.tsv "${recipe[@]}" --exact -o "$TAMIS_S3/out/keys.tamis" >/dev/null
"$TAMIS" build a.tsv b.tsv a.tsv "${recipe[@]}" --exact -o keys.tamis >/dev/null
same out/keys.tamis keys.tamis
same out/keys.tamis.keys keys.tamis.keys

echo "plan, and build by its parameters"
"$TAMIS" plan s3://tamis/in "${recipe[@]}" -o s3://tamis/out/params.json >/dev/null
"$TAMIS" plan all.tsv "${recipe[@]}" -o params.json >/dev/null
same out/params.json params.json
"$TAMIS" build s3://tamis/all.tsv --params s3://tamis/out/params.json --quiet -o s3://tamis/out/by-params.tamis >/dev/null
"$TAMIS" build all.tsv --params params.json --quiet -o by-params.tamis >/dev/null
same out/by-params.tamis by-params.tamis

echo "test, query, inspect, verify, merge, compare, top"
"$TAMIS" test s3://tamis/out/one.tamis s3://tamis/in --json --quiet --report s3://tamis/out/page.html >there.json
"$TAMIS" test want.tamis a.tsv b.tsv --json --quiet --report page.html >here.json
"$TAMIS_S3_PYTHON" - <<'END'
import json
there, here = (json.load(open(name)) for name in ("there.json", "here.json"))
for report in (there, here):
    for key in ("file", "inputs", "seconds", "path", "paths"):
        report.pop(key, None)
assert there["groups"] == here["groups"], "other counts"
END
s3 list out/page | grep page.html >/dev/null
"$TAMIS" query s3://tamis/out/one.tamis tt0000001 --quiet >there || true
"$TAMIS" query want.tamis tt0000001 --quiet >here || true
cmp there here
"$TAMIS" inspect s3://tamis/out/one.tamis >/dev/null
"$TAMIS" verify s3://tamis/out/keys.tamis >/dev/null
"$TAMIS" build s3://tamis/in --key tconst --group '(file)' --quiet -o index.tamis >/dev/null
"$TAMIS" locate index.tamis "$(sed -n 2p a.tsv | cut -f 1)" --quiet | grep '/in/a.tsv' >/dev/null
for part in a b; do
    "$TAMIS" build $part.tsv --params params.json --quiet -o "s3://tamis/out/$part.tamis" >/dev/null
done
"$TAMIS" merge s3://tamis/out/a.tamis s3://tamis/out/b.tamis -o s3://tamis/out/merged.tamis --quiet >/dev/null
same out/merged.tamis by-params.tamis
"$TAMIS" compare s3://tamis/out/a.tamis s3://tamis/out/b.tamis >/dev/null
"$TAMIS" top s3://tamis/all.tsv --key averageRating --quiet >there
"$TAMIS" top all.tsv --key averageRating --quiet >here
cmp there here

echo "filter and dedup, from there and to there, as text, compressed and as Parquet"
"$TAMIS" build a.tsv --key tconst --exact --quiet -o s3://tamis/out/members.tamis >/dev/null
"$TAMIS" build a.tsv --key tconst --exact --quiet -o members.tamis >/dev/null
for output in known.tsv known.tsv.gz known.parquet; do
    "$TAMIS" filter s3://tamis/out/members.tamis s3://tamis/in --strict --quiet -o "s3://tamis/out/$output" \
        --rejected "s3://tamis/out/un$output" >/dev/null
    "$TAMIS" filter members.tamis a.tsv b.tsv --strict --quiet -o "$output" --rejected "un$output" >/dev/null
    same "out/$output" "$output"
    same "out/un$output" "un$output"
done
"$TAMIS" filter s3://tamis/out/members.tamis s3://tamis/all.parquet --strict --quiet -o s3://tamis/out/rows.parquet >/dev/null
"$TAMIS" filter members.tamis all.parquet --strict --quiet -o rows.parquet >/dev/null
same out/rows.parquet rows.parquet
"$TAMIS" dedup s3://tamis/all.tsv --key averageRating --quiet -o s3://tamis/out/once.tsv >/dev/null
"$TAMIS" dedup all.tsv --key averageRating --quiet -o once.tsv >/dev/null
same out/once.tsv once.tsv

echo "what is larger than one request is sent in parts"
head -c 30000000 /dev/urandom | base64 -w 60 >large.txt
s3 put large.txt large.txt
"$TAMIS" build s3://tamis/large.txt --fpr 1e-9 --exact --quiet -o s3://tamis/out/large.tamis >/dev/null
"$TAMIS" build large.txt --fpr 1e-9 --exact --quiet -o large.tamis >/dev/null
same out/large.tamis.keys large.tamis.keys
same out/large.tamis large.tamis
[[ -z $(s3 uploads) ]]

echo "what cannot be done is said, and leaves nothing"
refused "no such file" "$TAMIS" build s3://tamis/none.tsv -o none.tamis
refused "no file matches" "$TAMIS" build 's3://tamis/none*' -o none.tamis
refused "contains no files" "$TAMIS" build s3://tamis/none/ -o none.tamis
refused "no such bucket" "$TAMIS" build s3://no-such-bucket/a.tsv -o none.tamis
refused "no such file" "$TAMIS" query s3://tamis/none.tamis x
refused "not the name of a file" "$TAMIS" build a.tsv --key tconst -o s3://tamis/folder/
refused "no such bucket" "$TAMIS" build a.tsv --key tconst -o s3://no-such-bucket/a.tamis
refused "nothing can be written behind HTTP" "$TAMIS" build a.tsv --key tconst -o http://127.0.0.1:1/a.tamis
refused "lies elsewhere" "$TAMIS" add s3://tamis/out/merged.tamis a.tsv
refused "lies elsewhere" "$TAMIS" dedup s3://tamis/all.tsv --key tconst --state state.tamis -o none.tsv
refused "files of this machine" "$TAMIS" stream --train s3://tamis/all.tsv --query a.tsv --keys 1e6
refused "is an input" "$TAMIS" filter members.tamis s3://tamis/all.tsv -o s3://tamis/all.tsv
refused "InvalidAccessKeyId" env AWS_ACCESS_KEY_ID=AKIAOTHER "$TAMIS" build s3://tamis/all.tsv --key tconst -o none.tamis
refused "SignatureDoesNotMatch" env AWS_SECRET_ACCESS_KEY=wrong "$TAMIS" build s3://tamis/in --key tconst -o none.tamis
read -r reader_id reader_secret <<<"$TAMIS_S3_READER"
reader=(env AWS_ACCESS_KEY_ID="$reader_id" AWS_SECRET_ACCESS_KEY="$reader_secret" "$TAMIS")
"${reader[@]}" build s3://tamis/all.tsv "${recipe[@]}" -o read.tamis >/dev/null
cmp read.tamis all.tamis
refused "permission denied (AccessDenied)" "${reader[@]}" build s3://tamis/all.tsv "${recipe[@]}" -o s3://tamis/out/denied.tamis
[[ ! -e none.tamis && ! -e none.tsv && -z $(s3 list out/denied) ]]

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
s3 list spark/known/ | grep -x spark/known/_SUCCESS >/dev/null
"$TAMIS" filter members.tamis all.tsv --quiet | sort -u >here
s3 cat spark/known/part- | sort -u | cmp - here
refused "no such bucket" "$TAMIS" build s3a://tamis/all.tsv "${recipe[@]}" "${on[@]}" -o s3a://no-such-bucket/a.tamis
[[ -z $(s3 uploads) && -z $(s3 list spark | grep draft) ]]

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
