#!/usr/bin/env bash
# Installs what the tests of the Python client need, where it is not there: on Debian and its like, as root. Elsewhere the tests say that they
# were not run.
set -euo pipefail

! { command -v mypy && python3 -c 'import venv, ensurepip' && /usr/bin/python3 -c 'import setuptools, wheel, pip'; } >/dev/null 2>&1 || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "perhaps not installed: python3, python3-pip, python3-venv, python3-setuptools, python3-wheel, mypy" >&2
	exit 0
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends python3 python3-pip python3-venv python3-setuptools python3-wheel mypy
