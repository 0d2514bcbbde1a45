#!/usr/bin/env bash
# Tags the modules that others import beside the main one, at the commit of its tag, and pushes these tags to origin:
#
#	internal/tools/release/tags.sh v0.1.0 [--dry-run]
#
# It can be run again. Nothing is pushed where a go.mod asks for another version than is released, as go get would find
# it, or where such a tag is at another commit.
set -euo pipefail

version=$1
main=github.com/stepwell/stepwell
commit=$(git rev-parse --verify --quiet "refs/tags/$version^{commit}") || { echo "there is no tag $version" >&2; exit 1; }

refs=()
for module in agent analysis/golangci telemetry/otlp; do
	git show "$commit:$module/go.mod" | awk -v is="$main $version" 'NF > 1 && $(NF-1) " " $NF == is { found = 1 } END { exit !found }' ||
		{ echo "$module/go.mod does not require $main $version" >&2; exit 1; }
	refs+=("$commit:refs/tags/$module/$version")
done
git push --atomic "${@:2}" origin "${refs[@]}"
