#!/usr/bin/env bash
# Runs the Slurm lines of harness/README.md on a Slurm cluster of this one host.
#
#   harness/e2e/slurm_test.sh SPARKBENCH
#
# Starts munged, slurmctld and slurmd with their own folders and ports, and submits the README's
# batch file with a small grid. Kills one of its jobs and leaves one out, merges the rest, submits
# these two again, merges, and compares with the sweep in one piece. Always ends the daemons. Exit
# status 77: skipped, without Slurm or without root, which its daemons need.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sparkbench=$(realpath "$1")
# The third and the fourth of eight shards have the longest sequences, so that they can be killed
# meanwhile.
readonly grid="--device emulated-v100 --pass fwd --headdim 64 --heads 2 --batch 1 --causal both \
--dropout 0.1 --seqlen 64,1024,80,96,112,1000,128,144"
readonly killed=3 left_out=6

skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }

for program in munged slurmctld slurmd sbatch srun scancel squeue sinfo; do
  command -v "$program" >/dev/null || skip "no $program; apt-get install slurm-wlm munge"
done
((EUID == 0)) || skip "Slurm's daemons need root"

work=$(mktemp -d)
daemons=()

end_all() {
  local status=$?
  trap - EXIT INT TERM
  set +e
  if ((status != 0)); then tail -n 10 "$work"/*.log "$work"/jobs/slurm-*.out >&2; fi
  if [[ -n $(squeue -h 2>/dev/null) ]]; then
    scancel --signal=KILL --user=root
    scancel --user=root
    for ((i = 0; i < 50; ++i)); do [[ -z $(squeue -h) ]] && break; sleep 0.1; done
  fi
  for ((i = ${#daemons[@]} - 1; i >= 0; --i)); do kill "${daemons[i]}" 2>/dev/null; done
  wait
  rm -rf "$work"
  exit "$status"
}
trap end_all EXIT
trap 'exit 130' INT TERM

# wait_until SECONDS COMMAND...
wait_until() {
  local tries=$(($1 * 20))
  shift
  for ((i = 0; i < tries; ++i)); do
    "$@" 2>/dev/null && return
    for daemon in "${daemons[@]}"; do kill -0 "$daemon" || fail "a daemon of Slurm's ended"; done
    sleep 0.05
  done
  fail "waited too long for: $*"
}

free_port() {
  local port
  while
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
  do :; done
  echo "$port"
}

start_slurm() {
  chmod 711 "$work"  # munged wants its socket within everybody's reach
  mkdir "$work"/{state,spool,jobs}
  head -c 1024 /dev/urandom >"$work/munge.key"
  chmod 600 "$work/munge.key"
  cat >"$work/slurm.conf" <<END
ClusterName=sparkbench
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
KillWait=5
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
GresTypes=gpu
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  # Two devices pose as GPUs for the batch file, which then runs on the emulated V100.
  printf 'Name=gpu File=%s\n' /dev/null /dev/zero >"$work/gres.conf"
  # A container may have no cgroups. Older versions do without if nothing asks for them.
  local version
  version=$(slurmd -V | grep -o '[0-9]*' | head -n 1)
  ((version < 23)) || echo "CgroupPlugin=disabled" >"$work/cgroup.conf"
  export SLURM_CONF=$work/slurm.conf
  munged --foreground --key-file="$work/munge.key" --socket="$work/munge.socket" \
    --pid-file="$work/munged.pid" --seed-file="$work/munge.seed" --log-file="$work/munged.log" \
    >"$work/munged_out.log" 2>&1 &
  daemons+=($!)
  wait_until 20 test -S "$work/munge.socket"
  slurmctld -D >"$work/slurmctld_out.log" 2>&1 &
  daemons+=($!)
  slurmd -D >"$work/slurmd_out.log" 2>&1 &
  daemons+=($!)
  wait_until 60 node_is_idle
}

node_is_idle() { [[ $(sinfo -h -o %t) == idle ]]; }
queue_is_empty() { [[ -z $(squeue -h) ]]; }

# The README's batch file, with a small grid instead of the paper's.
write_batch_file() {
  sed -n '/^#!\/bin\/bash$/,/^```$/{/^```$/d;p}' "$here/../README.md" \
    | sed "s/--preset paper-forward/$grid/" >sweep.sbatch
  grep -q -- "--array=1-8" sweep.sbatch && grep -q -- "$grid" sweep.sbatch \
    || fail "the README's batch file is not what is expected: $(cat sweep.sbatch)"
}

has_begun() { [[ $(wc -l <"part-$1/cases.jsonl") -ge 1 ]]; }

# Expects the exit status, and each text in the output.
expect_merge() {
  local want=$1 got=0
  shift
  local merge
  merge=$(grep -m 1 '^sparkbench merge ' "$here/../README.md") || fail "the README has no merge line"
  bash -c "$merge" >merge.log 2>&1 || got=$?
  ((got == want)) || fail "'$merge' ended with $got, not $want: $(cat merge.log)"
  for text in "$@"; do
    grep -qF -- "$text" merge.log || fail "'$merge' does not say '$text': $(cat merge.log)"
  done
}

start_slurm
cd "$work/jobs"
PATH=$(dirname "$sparkbench"):$PATH
write_batch_file

echo "All shards but one, of which one is killed"
array=1-$((left_out - 1)),$((left_out + 1))-8
job=$(sbatch --parsable --array="$array" sweep.sbatch)
wait_until 120 has_begun "$killed"
scancel --signal=KILL "${job}_$killed"
wait_until 240 queue_is_empty
grep -q '"complete": false' "part-$killed/run.json" \
  || fail "shard $killed ended before it was killed"
rows=$(wc -l <"part-$killed/cases.jsonl")
expect_merge 4 "shard $left_out/8 is missing" "--shard $left_out/8" \
  "'part-$killed' is not complete: sparkbench sweep --resume 'part-$killed'"
rm -r whole

echo "The two again: one goes on behind its $rows rows, one begins"
cp "part-$killed/cases.jsonl" before.jsonl
sbatch --parsable --array="$killed,$left_out" sweep.sbatch >/dev/null
wait_until 240 queue_is_empty
head -n "$rows" "part-$killed/cases.jsonl" | cmp - before.jsonl \
  || fail "rows were lost or run again"
expect_merge 0 "8 runs: 48 ok, 0 incorrect, 0 skipped, 0 failed"

echo "The same cases, with the same bits, as in one piece"
# shellcheck disable=SC2086
sparkbench sweep $grid --out one-piece >one-piece.log 2>&1
sparkbench diff one-piece whole --fail-on failed,incorrect,missing,worse,memory,bits,new \
  || fail "the merged shards are not the sweep in one piece"
cmp <(cut -d, -f1 one-piece/cases.csv) <(cut -d, -f1 whole/cases.csv) \
  || fail "other cases, or another order"
echo "Passed"
