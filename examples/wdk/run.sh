#!/usr/bin/env bash
# Runs the example against a Stepwell of its own, in a file that is deleted afterwards. Needs Go, Node 22 and npm.
set -euo pipefail
cd "$(dirname "$0")"
npm install --no-audit --no-fund --legacy-peer-deps >/dev/null
(cd ../../clients/wdk && npm install --no-audit --no-fund --no-package-lock >/dev/null && npm run --silent build)
mkdir -p node_modules/@stepwell/world
cp -R ../../clients/wdk/package.json ../../clients/wdk/dist node_modules/@stepwell/world/
npm run --silent build

dir=$(mktemp -d)
(cd ../.. && go build -o "$dir/stepwell" ./cmd/stepwell)
"$dir/stepwell" server --db "sqlite:$dir/app.db" --listen 127.0.0.1:7380 2>"$dir/log" &
trap 'kill %1; wait; rm -rf "$dir"' EXIT
until "$dir/stepwell" health http://127.0.0.1:7380 >/dev/null 2>&1; do sleep 0.1; done

export WORKFLOW_TARGET_WORLD=@stepwell/world STEPWELL_URL=http://127.0.0.1:7380
npm run --silent start
"$dir/stepwell" runs list --db http://127.0.0.1:7380
