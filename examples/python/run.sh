#!/usr/bin/env bash
# Runs the example against a Stepwell of its own, in a folder that is deleted afterwards. Needs Go, and Python 3.10 or newer.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
go build -o "$dir/stepwell" ./cmd/stepwell
go build -o "$dir/worker" ./examples/python/worker
export STEPWELL_URL=http://127.0.0.1:7381 PYTHONPATH=clients/python/src
"$dir/stepwell" dev --db "sqlite:$dir/app.db" --listen 127.0.0.1:7381 -- "$dir/worker" >"$dir/log" 2>&1 &
trap 'kill -INT $! 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
until "$dir/stepwell" health "$STEPWELL_URL" >/dev/null 2>&1; do sleep 0.1; done
"${PYTHON:-python3}" examples/python/order.py
