#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds, checks and times chevron on all GPUs of this machine in one go, within about 8 minutes; works with one GPU too.
#
#   sh bench/multi_gpu.sh [DIRECTORY]      where the results go; build-multi/results if not given
#
# What it leaves there:
#   summary.txt   what ran, and how it ended
#   topology.txt, links.json               how the GPUs are linked, and what a link carries
#   tests.txt                              the property matrix of some elements (its seed is printed), calls of all kinds, both
#                                          transports, failures, with ranks on all GPUs
#   memcheck.txt                           compute-sanitizer over every algorithm
#   graph.json, eager.json, *.txt          every algorithm and the table's choice, beside copies and NCCL
#   tuned.hpp, tuned.txt                   the table that chevron-tune made here
#   graph.svg                              the plot
#
# CHEVRON_MULTI_GPU_STEPS="links tests memcheck graph eager tune plot" runs some of it. NVLink multicast stays off.
set -u
cd "$(dirname "$0")/.."
results=${1:-build-multi/results}
mkdir -p "$results"
results=$(cd "$results" && pwd)
steps=${CHEVRON_MULTI_GPU_STEPS:-links tests memcheck graph eager tune plot}
export NCCL_NVLS_ENABLE=0 NVSHMEM_DISABLE_NVLS=1 TORCH_SYMM_MEM_DISABLE_MULTICAST=1
export CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=32
command -v nvcc >/dev/null 2>&1 || PATH=$PATH:/usr/local/cuda/bin

count=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null | wc -l)
if [ "$count" -eq 0 ]; then
  echo "bench/multi_gpu.sh: skipped, there is no GPU here"
  exit 77
fi
archs=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | tr -d . | sort -u | paste -sd, -)
devices=$(seq -s, 0 $((count - 1)))
ranks=2
[ "$count" -lt 4 ] || ranks=2,4
[ "$count" -lt 8 ] || ranks=2,4,8

failed=0
# step NAME SECONDS FILE COMMAND...: runs a step, keeps its output, and says how it ended. The command is a program, since
# timeout runs no functions.
step() {
  name=$1 limit=$2 file=$results/$3
  shift 3
  began=$(date +%s)
  timeout -k 10 "$limit" "$@" >"$file" 2>&1 </dev/null
  status=$?
  verdict=passed
  [ "$status" -eq 0 ] || verdict="FAILED ($status)"
  [ "$status" -ne 77 ] || verdict=skipped
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failed=$((failed + 1))
  echo "$name: $verdict, $(($(date +%s) - began)) s" | tee -a "$results/summary.txt"
}
wanted() { case " $steps " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

{
  date -u +%Y-%m-%dT%H:%MZ
  nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader
} >"$results/summary.txt"
nvidia-smi topo -m >"$results/topology.txt" 2>&1

links=bench/chevron-link-rates
perf=bench/chevron-perf-cuda
targets="$links $perf"
# In the order in which they run: what is most likely to find something comes first.
matrices='collective_cuda_matrix_float32_all_calls collective_cuda_matrix_bfloat16_2_to_6'
most_ranks=4
if [ "$count" -ge 8 ]; then
  matrices="$matrices collective_cuda_matrix_bfloat16_7_to_11"
  most_ranks=8
fi
matrices=${CHEVRON_MULTI_GPU_MATRICES:-$matrices}
gpu_tests='transport_cuda_ipc collective_cuda_calls_system transport_cuda_failure_system transport_cuda_ordering_system
  transport_cuda_ipc_failure'
if wanted tests; then
  for test in $gpu_tests $matrices; do targets="$targets tests/${test}_test"; done
fi
export archs targets
step build 240 build.txt sh -c '
  sh scripts/configure.sh build-multi -Dcuda=enabled -Dgpu_archs="$archs" -Dexamples=disabled -Ddocs=disabled \
    -Dbuildtype=release && ninja -C build-multi $targets'
links=build-multi/$links perf=build-multi/$perf

! wanted links || step links 30 links.txt "$links" --json "$results/links.json"

# CHEVRON_TEST_DEVICES is for the tests alone. Some failures take their deadline of seconds each, so not all of them are
# provoked between processes.
export matrices gpu_tests devices most_ranks
! wanted tests || step tests 300 tests.txt sh -c '
  export CHEVRON_TEST_DEVICES="$devices" CHEVRON_TEST_RANKS="2-$most_ranks"
  bad=0
  for test in $matrices $gpu_tests; do
    some=
    [ "$test" != transport_cuda_ipc_failure ] || some="*is named as dead,an abort*,a device*,a rank that does not come*"
    echo "== $test on devices $devices"
    timeout --foreground -k 5 90 "build-multi/tests/${test}_test" --durations yes ${some:+"$some"} || {
      status=$?
      echo "== $test ended with $status"
      [ "$status" -eq 77 ] || bad=1
    }
  done
  exit $bad'

! wanted memcheck || step memcheck 60 memcheck.txt compute-sanitizer --tool memcheck --error-exitcode 9 \
  "$perf" --few --devices "$devices" --ranks "$ranks" --algorithm all

! wanted graph || step graph 90 graph.txt "$perf" --graph --devices "$devices" --ranks "$ranks" --algorithm all \
  -b 1K -e 256M -f 4 --peers nccl,nccl_symmetric --json "$results/graph.json"
! wanted eager || step eager 60 eager.txt "$perf" --devices "$devices" --ranks "$ranks" --host-time \
  -b 1K -e 256M -f 4 --peers nccl,nccl_symmetric --json "$results/eager.json"

! wanted tune || step tune 150 tune.txt python3 bench/tune --program "$perf" --transport cuda_peer --devices "$devices" \
  --ranks "$ranks" --elements bfloat16 --from 1K --to 256M --most-lanes 132 --budget 120s -o "$results/tuned.hpp"
! wanted plot || step plot 60 plot.txt python3 bench/plot.py "$results/graph.json" -o "$results/graph.svg"

[ ! -f "$results/graph.txt" ] || cat "$results/graph.txt"
cat "$results/summary.txt"
exit $((failed > 0))
