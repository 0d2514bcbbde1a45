#!/usr/bin/env bash
# Runs the example against a Stepwell of its own, in a folder that is deleted afterwards. Needs Go, and Python 3.10 or newer.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
go build -o "$dir/stepwell" ./cmd/stepwell
go build -o "$dir/worker" ./examples/resize/worker
secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
operator=$(secret) worker=$(secret)
STEPS_KEY=$(secret)
export STEPWELL_URL=http://127.0.0.1:7382 PYTHONPATH=clients/python/src STEPS_KEY
keys="operator:album:$operator,worker:go:$worker,steps?step=resize:python:$STEPS_KEY"
STEPWELL_API_KEY=$keys "$dir/stepwell" server --db "sqlite:$dir/app.db" --listen 127.0.0.1:7382 >"$dir/log" 2>&1 &
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
until "$dir/stepwell" health "$STEPWELL_URL" >/dev/null 2>&1; do sleep 0.1; done
STEPWELL_API_KEY=$worker "$dir/worker" >>"$dir/log" 2>&1 &
mkdir "$dir/album"
STEPWELL_API_KEY=$operator "${PYTHON:-python3}" examples/resize/album.py "$dir/album"
