#!/usr/bin/env bash
# Installs a Chromium where the tests would find none: on Debian and its like, as root. Elsewhere it says what to install; the tests that need it then
# fail and say so too.
set -euo pipefail

[ -z "${STEPWELL_TEST_BROWSER:-}" ] || exit 0
for name in chromium chromium-browser google-chrome google-chrome-stable /usr/lib/chromium/chromium /snap/bin/chromium \
	"/Applications/Chromium.app/Contents/MacOS/Chromium" "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do # as in internal/tools/against/browser
	! command -v "$name" >/dev/null || exit 0
done

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "not installed: chromium. Tests of the web UI will fail." >&2
	echo "  Debian, Ubuntu: apt-get install --no-install-recommends chromium, or make test as root; macOS: brew install --cask chromium" >&2
	exit 0
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium
