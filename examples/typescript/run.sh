#!/usr/bin/env bash
# Runs the example against a Stepwell of its own, in a file that is deleted afterwards. Needs Go, Node 20 and npm.
set -euo pipefail
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(
	cd ../../clients/typescript
	npm ci --no-audit --no-fund --ignore-scripts >/dev/null
	npm run --silent build
	npm pack --silent --ignore-scripts --pack-destination "$dir" >/dev/null
)
npm install --no-audit --no-fund --no-save "$dir"/stepwell-client-*.tgz >/dev/null
npm run --silent build
go build -C ../.. -o "$dir/" ./cmd/stepwell ./examples/typescript/worker

export STEPWELL_LISTEN=${STEPWELL_LISTEN:-127.0.0.1:7381}
export STEPWELL_URL=http://$STEPWELL_LISTEN
"$dir/stepwell" dev --db "sqlite:$dir/app.db" -- "$dir/worker" >"$dir/log" 2>&1 &
trap 'kill %1; wait; rm -rf "$dir"' EXIT
until "$dir/stepwell" health "$STEPWELL_URL" >/dev/null 2>&1; do
	kill -0 %1 || { cat "$dir/log" >&2; exit 1; }
	sleep 0.1
done

npm run --silent start
