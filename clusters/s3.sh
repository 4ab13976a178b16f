# shellcheck shell=bash
# An S3 server that checks signatures and permissions (the Python package moto), with a bucket

port=19000
# As moto's own program does, but that a request which waits for "100 Continue" gets one of them: the library beneath
# sends two, and Hadoop's client takes the second for the answer.
serve='
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple
class Handler(WSGIRequestHandler):
    def handle_expect_100(self):
        return True
app = DomainDispatcherApplication(create_backend_app)
run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True, request_handler=Handler)
'
python=$clusters/tools/moto-$moto/bin/python

up() {
    if [[ ! -e $clusters/tools/moto-$moto/.complete ]]; then
        rm -rf "$clusters/tools/moto-$moto"
        python3 -m venv "$clusters/tools/moto-$moto" || fail "python3 with venv is missing"
        "$python" -m pip install --quiet --disable-pip-version-check "moto[s3,server]==$moto" \
            >"$logs/pip-moto.log" 2>&1 || fail "pip could not get moto $moto; see $logs/pip-moto.log"
        touch "$clusters/tools/moto-$moto/.complete"
    fi
    jars "hadoop-aws-$hadoop" "org.apache.hadoop:hadoop-aws:$hadoop" >/dev/null
    ! runs server || return 0
    # Users are made before it begins to check who asks: six requests.
    start server env INITIAL_NO_AUTH_ACTION_COUNT=6 AWS_DEFAULT_REGION=us-east-1 \
        "$python" -c "$serve" "$port"
    await 60 "the server answers" listens "$port"
    "$python" - "http://127.0.0.1:$port" >"$home/keys" <<'END' || fail "its users could not be made"
import json, sys, boto3
place = dict(endpoint_url=sys.argv[1], region_name="us-east-1")
iam = boto3.client("iam", aws_access_key_id="any", aws_secret_access_key="any", **place)
def user(name, actions):
    iam.create_user(UserName=name)
    allowed = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    iam.put_user_policy(UserName=name, PolicyName="s3", PolicyDocument=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]
owner, reader = user("owner", ["s3:*"]), user("reader", ["s3:Get*", "s3:List*"])
boto3.client("s3", aws_access_key_id=owner[0], aws_secret_access_key=owner[1], **place).create_bucket(Bucket="tamis")
print(*owner, *reader)
END
}

settings() {
    local id secret reader_id reader_secret
    read -r id secret reader_id reader_secret <"$home/keys"
    echo "export AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_REGION=us-east-1"
    echo "export AWS_ACCESS_KEY_ID=$id AWS_SECRET_ACCESS_KEY=$secret"
    echo "export TAMIS_S3=s3://tamis TAMIS_S3_PYTHON=$python TAMIS_S3_SERVER=$(cat "$home/server.pid")"
    echo "export TAMIS_S3_JARS=$clusters/jars/hadoop-aws-$hadoop"
    echo "export TAMIS_S3_READER='$reader_id $reader_secret'"
}
