# shellcheck shell=bash
# What all clusters share: folders, jars, processes. Sourced by ./cluster, which has set `name`. A cluster's own file
# defines `up` and `settings`; the verbs are here.

# shellcheck source=clusters/versions
source clusters/versions
target=${CARGO_TARGET_DIR:-target}
[[ $target == /* ]] || target=$PWD/$target
clusters=$target/clusters
home=$clusters/$name
logs=$clusters/logs
mkdir -p "$home" "$logs"

fail() {
    echo "cluster: $1" >&2
    exit 1
}

# Puts artifacts of Maven and all that they need into a folder, once; says which.
#   jars FOLDER GROUP:ARTIFACT:VERSION…
jars() {
    local folder=$clusters/jars/$1 pom artifact group id version
    shift
    if [[ -e $folder/.complete ]]; then
        echo "$folder"
        return
    fi
    command -v mvn >/dev/null || fail "Maven is missing (on Debian: apt-get install maven)"
    rm -rf "$folder"
    mkdir -p "$folder"
    pom=$folder/pom.xml
    {
        echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        echo '<groupId>tamis</groupId><artifactId>cluster</artifactId><version>1</version><dependencies>'
        for artifact; do
            IFS=: read -r group id version <<<"$artifact"
            echo "<dependency><groupId>$group</groupId><artifactId>$id</artifactId><version>$version</version></dependency>"
        done
        echo '</dependencies></project>'
    } >"$pom"
    mvn --quiet --batch-mode --file "$pom" dependency:copy-dependencies -DincludeScope=runtime \
        "-DoutputDirectory=$folder" >"$logs/maven-$(basename "$folder").log" 2>&1 ||
        fail "Maven could not get $*; see $logs/maven-$(basename "$folder").log"
    touch "$folder/.complete"
    echo "$folder"
}

# Starts a process that outlives this script, unless it runs; its output is added to its log.
#   start PROCESS COMMAND…
start() {
    local process=$1
    shift
    ! runs "$process" || return 0
    echo "--- $(date -u +%FT%TZ) $*" >>"$logs/$name-$process.log"
    setsid "$@" </dev/null >>"$logs/$name-$process.log" 2>&1 &
    echo $! >"$home/$process.pid"
}

# Whether a process of ours runs: a number alone may be another's by now.
runs() {
    local pid
    pid=$(cat "$home/$1.pid" 2>/dev/null) || return 1
    [[ -e /proc/$pid ]] && [[ $(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$pid/status") != Z ]]
}

processes() {
    local file
    for file in "$home"/*.pid; do
        [[ -e $file ]] && basename "$file" .pid
    done
    return 0
}

# Waits until a command succeeds; ends in words where it does not within this many seconds, or a process has ended.
#   await SECONDS WHAT COMMAND…
await() {
    local until=$((SECONDS + $1)) what=$2 process
    shift 2
    until "$@" >/dev/null 2>&1; do
        for process in $(processes); do
            runs "$process" || {
                tail -n 5 "$logs/$name-$process.log" >&2
                fail "$process of $name has ended; see $logs/$name-$process.log"
            }
        done
        ((SECONDS < until)) || fail "$what: not within the time; see $logs/$name-*.log"
        sleep 0.2
    done
}

# Whether something listens on a port of this machine.
listens() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Ends a process, in words first.
stop() {
    local process=$1 pid tries=0
    if runs "$process"; then
        pid=$(cat "$home/$process.pid")
        kill "$pid" 2>/dev/null || true
        while runs "$process" && ((tries++ < 50)); do sleep 0.1; done
        ! runs "$process" || kill -9 "$pid" 2>/dev/null || true
    fi
    rm -f "$home/$process.pid"
}

cluster_up() {
    [[ $(processes) ]] || rm -f "$logs/$name"-*.log # what is waited for may stand in a log of an earlier time
    up "$@"
    cluster_status
}

cluster_down() {
    local process
    for process in $(processes | tac); do stop "$process"; done
    rm -rf "$home"
}

# Where there are no processes, a file `ready` says that all is there.
cluster_status() {
    local process code=0
    if [[ ! $(processes) && -e $home/ready ]]; then
        echo "$name is ready"
        return
    fi
    [[ $(processes) ]] || {
        echo "$name does not run"
        return 1
    }
    for process in $(processes); do
        if runs "$process"; then
            echo "$process runs (process $(cat "$home/$process.pid"))"
        else
            echo "$process has ended; see $logs/$name-$process.log"
            code=1
        fi
    done
    return "$code"
}

cluster_env() {
    cluster_status >/dev/null || fail "$name does not run: ./cluster up $name"
    settings
}
