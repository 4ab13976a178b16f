# shellcheck shell=bash
# Programs that read and write other systems' filters by their own classes: no servers

python=${TAMIS_CLUSTER_PYTHON:-$target/python/bin/python}

up() {
    local folder spark
    [[ -x $python ]] || fail "there is no $python: ./check --only python makes it, or TAMIS_CLUSTER_PYTHON names another"
    command -v javac >/dev/null || fail "a Java compiler is missing (on Debian: apt-get install openjdk-17-jdk-headless)"
    command -v go >/dev/null || fail "Go is missing (on Debian: apt-get install golang-go)"
    # The package pyspark brings the classes of Spark, and with them those of Guava and Hadoop.
    spark=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))') ||
        fail "$python has no package pyspark"
    folder=$(jars "datasketches-$datasketches" "org.apache.datasketches:datasketches-java:$datasketches")
    folder="$folder/*:$spark/jars/*"
    javac -nowarn -cp "$folder" -d "$home/classes" clusters/formats/Others.java \
        clusters/formats/com/google/common/hash/Mitz32.java
    mkdir -p "$home/dcso"
    cp clusters/formats/dcso/main.go "$home/dcso/"
    (
        cd "$home/dcso"
        [[ -e go.mod ]] || go mod init dcso
        go get "github.com/DCSO/bloom@$dcso_bloom"
        go mod tidy
        go build -o dcso .
    ) >"$logs/formats-go.log" 2>&1 || fail "Go could not build it; see $logs/formats-go.log"
    echo "$folder" >"$home/jars"
    touch "$home/ready"
}

settings() {
    echo "export OTHERS='java -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=off -cp $home/classes:$(cat "$home/jars") Others'"
    echo "export DCSO=$home/dcso/dcso"
}
