#!/usr/bin/env bash
# Tags the modules that others import beside the main one, at the commit of its tag, and pushes these tags to origin:
#
#	internal/tools/release/tags.sh v0.1.0 [--dry-run]
#
# It can be run again. Nothing is pushed where a go.mod asks for another version of ours than is released, as go get
# would find it, or where such a tag is at another commit.
set -euo pipefail

version=$1
main=github.com/stepwell/stepwell
commit=$(git rev-parse --verify --quiet "refs/tags/$version^{commit}") || { echo "there is no tag $version" >&2; exit 1; }

refs=()
for module in agent telemetry/otlp vet vet/golangci; do
	other=$(git show "$commit:$module/go.mod" | awk -v main="$main" -v is="$version" '{ for (i = 1; i < NF; i++) if (index($i, main) == 1 && $(i+1) ~ /^v/ && $(i+1) != is) print $i, $(i+1) }')
	[ -z "$other" ] || { echo "$module/go.mod requires $other, and $version is released" >&2; exit 1; }
	refs+=("$commit:refs/tags/$module/$version")
done
git push --atomic "${@:2}" origin "${refs[@]}"
