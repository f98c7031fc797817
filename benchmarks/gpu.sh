#!/usr/bin/env bash
# Limits, whole stacks and decode of every mechanism on one GPU, within eight minutes: benchmarks/gpu.sh OUT_DIR
#
# Everything that the run needs is checked before anything is timed: Python, torch, Triton, the GPU, its memory, the disk, and
# one small step of each mechanism against its own bytes. PYTHON names another interpreter. The record is OUT_DIR/<device>;
# to contribute it, copy that folder to data/measurements. A second call goes on where the first one stopped.
set -euo pipefail

if [ $# -ne 1 ] || [ "${1#-}" != "$1" ]; then
    echo "usage: benchmarks/gpu.sh OUT_DIR" >&2
    exit 2
fi
python=${PYTHON:-python3}
mkdir -p "$1" || { echo "OUT_DIR: $1 cannot be made; wanted a folder to write to" >&2; exit 2; }
out=$(cd "$1" && pwd)
[ -w "$out" ] || { echo "OUT_DIR: $1 cannot be written to" >&2; exit 2; }
cd "$(dirname "$0")/.."
command -v "$python" >/dev/null || { echo "PYTHON: $python is not there; name one: PYTHON=python3.12 $0 $1" >&2; exit 2; }

# one chip, whichever the caller chose first; a record is of one device
chosen=${CUDA_VISIBLE_DEVICES:-0}
export CUDA_VISIBLE_DEVICES="${chosen%%,*}"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"

started=$SECONDS
"$python" -m benchmarks.preflight "$out"
# eight minutes in all: what checking and compiling took is taken off, and a minute is kept for the point that is under way
rest=$((480 - 60 - (SECONDS - started)))
if [ "$rest" -lt 60 ]; then
    echo "checking and compiling took $((SECONDS - started)) s; call again, kernels are kept" >&2
    exit 1
fi
"$python" -m lib.measure --device cuda --suite limits,stack,decode --budget "$rest" --out "$out"
"$python" -m lib.measure --check --out "$("$python" -m benchmarks.preflight --folder "$out")"
