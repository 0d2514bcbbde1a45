#!/usr/bin/env bash
# Installs PostgreSQL, pgbouncer and libfaketime where the tests would find none: on Debian and its like, as root. Elsewhere it says what to install;
# the tests that need them then fail and say so too. Nothing is left running: the tests start servers of their own.
set -euo pipefail

# there is true where a program is in PATH or fits one of the patterns; these are the folders of binaries.go.
there() {
	command -v "$1" >/dev/null && return
	for path in "${@:2}"; do [ ! -e "$path" ] || return 0; done
	return 1
}

missing=()
there initdb /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb /usr/libexec/postgresql*/initdb /opt/homebrew/opt/postgresql*/bin/initdb \
	/usr/local/opt/postgresql*/bin/initdb /Applications/Postgres.app/Contents/Versions/*/bin/initdb /usr/local/pgsql/bin/initdb || missing+=(postgresql)
there pgbouncer /usr/sbin/pgbouncer /opt/homebrew/bin/pgbouncer /usr/local/bin/pgbouncer || missing+=(pgbouncer)
[ "$(uname)" != Linux ] || there libfaketime /usr/lib/*/faketime/libfaketime.so.1 /usr/lib64/faketime/libfaketime.so.1 /usr/lib/faketime/libfaketime.so.1 ||
	missing+=(libfaketime)
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "not installed: ${missing[*]}. Tests that need them will fail." >&2
	echo "  Debian, Ubuntu: apt-get install --no-install-recommends ${missing[*]}, or make test as root; macOS: brew install postgresql@17 pgbouncer" >&2
	exit 0
fi

# Debian would make a cluster and start the services. Both are told not to, for as long as this takes.
undo=()
trap 'rm -f "${undo[@]}"' EXIT
if [ ! -e /usr/sbin/policy-rc.d ]; then
	undo+=(/usr/sbin/policy-rc.d)
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
fi
if [[ " ${missing[*]} " == *" postgresql "* ]]; then
	mkdir -p /etc/postgresql-common/createcluster.d
	undo+=(/etc/postgresql-common/createcluster.d/stepwell.conf)
	echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/stepwell.conf
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
if [[ " ${missing[*]} " == *" pgbouncer "* ]] && command -v systemctl >/dev/null; then
	systemctl disable pgbouncer >/dev/null 2>&1 || true # nor at the next boot
fi
