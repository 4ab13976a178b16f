#!/bin/bash
# Makes the golden states with a given program, in the folder where it is run:
#
#     mkdir /tmp/states && cd /tmp/states && bash …/testdata/states/make.sh …/tamis
#
# It leaves the inputs and outputs as they were when a stream was killed, its folder `state`, and the
# dedup state `seen.tamis`. Names begin with /proc/self/cwd, so that no machine's paths are in them.
set -eu
tamis=$1
at=/proc/self/cwd
stream="stream --train $at/train.csv --query $at/ask.txt --key user:lower --query-key 1 --group place
    --keys 20 --fpr 0.01 --seed 7 --batch 2 --window 2d --slide 2d --time at --lateness 1h --late take
    --ahead 1h --counts $at/hits.txt --epsilon 0.2 -o $at/out.txt --state state -q"
cat > train.csv <<'END'
user,place,at
Ann,north,2020-01-01T10:00:00Z
bob,south,2020-01-01T11:00:00Z
Cid,north,2020-01-03T09:00:00Z
END
printf 'ann\nbob\n' > ask.txt
$tamis $stream
# Two batches are committed. Of the rest, one batch is full: it is begun, and never committed.
cat >> train.csv <<'END'
dan,south,2020-01-04T09:00:00Z
eve,north,2020-01-06T09:00:00Z
END
printf 'dan\ncid\nzoe\n' >> ask.txt
$tamis $stream --follow --commit-every 1h &
running=$!
until [ -s state/plan.log ]; do sleep 0.05; done
sleep 0.5
kill -9 $running
wait $running || true
rm state/lock state/filter.tamis state/counts.tamis # the last two are other names of files that stay

printf 'id,what\n1,a\n2,b\n1,c\n3,d\n' > in.csv
(echo id; seq 100) > hundred.csv
printf 'id\n9\n' > known.csv
$tamis plan hundred.csv --key id:trim --seed 7 --fpr 0.001 -o params.json -q
$tamis build known.csv --params params.json -o seen.tamis -q
$tamis dedup $at/in.csv --key id:trim --state seen.tamis -o $at/first.csv -q
