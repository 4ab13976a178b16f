# shellcheck shell=bash
# HDFS alone: the NameNode and the DataNode of yarn, at the same ports

# shellcheck source=clusters/yarn.sh
source clusters/yarn.sh

up() {
    prepare
    up_hdfs
    hdfs_answers
}

settings() {
    echo "export PATH=$home/bin:\$PATH TAMIS_HDFS=hdfs://127.0.0.1:$rpc/user/$me"
    echo "export TAMIS_HDFS_NAMENODE=$(cat "$home/namenode.pid") TAMIS_HDFS_DATANODE=$(cat "$home/datanode.pid")"
}
