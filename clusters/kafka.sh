# shellcheck shell=bash
# Kafka without ZooKeeper: three brokers that also vote; a plain port, and one with TLS and SCRAM

brokers=(1 2 3)
# Of broker N: 19090 + N is plain, 19190 + N has TLS and passwords, 19290 + N is among the brokers. Where others have
# these ports, TAMIS_KAFKA_PORT says another beginning.
plain=${TAMIS_KAFKA_PORT:-19090} safe=$((plain + 100)) voting=$((plain + 200))
user=tamis
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

# A port of each broker, separated by commas; with the number of the broker before it, as voters are named.
#   addresses PORT [numbered]
addresses() {
    local broker list=
    for broker in "${brokers[@]}"; do list+="${list:+,}${2:+$broker@}127.0.0.1:$(($1 + broker))"; done
    echo "$list"
}

# One of Kafka's tools.
tool() {
    "$java" -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$home/config:$jars/*" "$@"
}

# A certificate of our own authority for this machine, one of another authority, and a password: other ones each time.
secrets() {
    local folder=$home/secrets
    mkdir -p "$folder"
    (
        umask 077
        cd "$folder"
        openssl rand -hex 16 >password
        openssl rand -hex 16 >store-password
        openssl req -x509 -newkey rsa:2048 -noenc -days 30 -subj /CN=ours -keyout ca.key -out ca.pem
        openssl req -x509 -newkey rsa:2048 -noenc -days 30 -subj /CN=another -keyout other.key -out other-ca.pem
        openssl req -newkey rsa:2048 -noenc -subj /CN=localhost -keyout broker.key -out broker.csr
        openssl x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out broker.pem \
            -extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1")
        openssl pkcs12 -export -in broker.pem -inkey broker.key -certfile ca.pem -name broker \
            -passout file:store-password -out broker.p12
    ) >"$logs/kafka-secrets.log" 2>&1 || fail "no certificates could be made; see $logs/kafka-secrets.log"
}

# What broker N is told. Sizes are small, and waits short: leaders are to move within seconds.
properties() {
    local broker=$1
    cat <<END
node.id=$broker
process.roles=broker,controller
controller.quorum.voters=$(addresses "$voting" numbered)
controller.listener.names=VOTES
listeners=PLAIN://127.0.0.1:$((plain + broker)),SAFE://127.0.0.1:$((safe + broker)),VOTES://127.0.0.1:$((voting + broker))
advertised.listeners=PLAIN://127.0.0.1:$((plain + broker)),SAFE://127.0.0.1:$((safe + broker))
listener.security.protocol.map=PLAIN:PLAINTEXT,SAFE:SASL_SSL,VOTES:PLAINTEXT
inter.broker.listener.name=PLAIN
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.safe.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PKCS12
ssl.keystore.location=$home/secrets/broker.p12
ssl.keystore.password=$(cat "$home/secrets/store-password")
log.dirs=$home/data$broker
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
offsets.topic.num.partitions=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=3
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=1500
auto.leader.rebalance.enable=true
leader.imbalance.check.interval.seconds=5
log.cleaner.backoff.ms=200
log.cleaner.dedupe.buffer.size=8388608
log.retention.check.interval.ms=500
num.network.threads=2
num.io.threads=4
END
}

# The folders of all brokers, with a user whose password is in the first records of the cluster.
format() {
    local broker formatting=() one
    secrets
    mkdir -p "$home/config"
    cat >"$home/config/log4j2.properties" <<'END'
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c{1} %m%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
END
    tool kafka.tools.StorageTool random-uuid >"$home/id" 2>>"$logs/kafka-format.log" ||
        fail "Kafka's tools do not run; see $logs/kafka-format.log"
    for broker in "${brokers[@]}"; do
        properties "$broker" >"$home/config/$broker.properties"
        tool kafka.tools.StorageTool format --cluster-id "$(cat "$home/id")" --config "$home/config/$broker.properties" \
            --add-scram "SCRAM-SHA-512=[name=$user,password=$(cat "$home/secrets/password")]" \
            >>"$logs/kafka-format.log" 2>&1 &
        formatting+=($!)
    done
    for one in "${formatting[@]}"; do
        wait "$one" || fail "the folders of the brokers could not be made; see $logs/kafka-format.log"
    done
    touch "$home/formatted"
}

# Whether all brokers take part in the cluster.
joined() {
    local found
    found=$(tool org.apache.kafka.tools.ClusterTool list-endpoints \
        --bootstrap-server "$(addresses "$plain")" | grep -c ' unfenced ')
    ((found == ${#brokers[@]}))
}

up() {
    local broker jars
    jars=$(jars "kafka-$kafka" "org.apache.kafka:kafka_2.13:$kafka" "org.apache.kafka:kafka-tools:$kafka" \
        "org.apache.logging.log4j:log4j-slf4j-impl:$log4j" "org.apache.logging.log4j:log4j-core:$log4j")
    [[ -e $home/formatted ]] || format
    for broker in "${brokers[@]}"; do
        start "broker$broker" "$java" -Xms256m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
            -cp "$home/config:$jars/*" kafka.Kafka "$home/config/$broker.properties"
    done
    for broker in "${brokers[@]}"; do
        await 60 "broker $broker answers" listens $((plain + broker))
    done
    await 60 "all brokers take part" joined
}

settings() {
    echo "export TAMIS_KAFKA=$(addresses "$plain")"
    echo "export TAMIS_KAFKA_SAFE=$(addresses "$safe")"
    echo "export TAMIS_KAFKA_CA=$home/secrets/ca.pem TAMIS_KAFKA_OTHER_CA=$home/secrets/other-ca.pem"
    echo "export TAMIS_KAFKA_USER=$user TAMIS_KAFKA_PASSWORD=$(cat "$home/secrets/password")"
    echo "export TAMIS_KAFKA_HOME=$home # broker1.pid, broker2.pid, broker3.pid: the processes"
}
