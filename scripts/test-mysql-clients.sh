#!/bin/sh
# npm run test:mysql-clients: clients of MySQL in several languages through the proxy, beside the same clients directly. As
# root on Debian it installs a JDK, Maven, Go, PHP and pip where they are missing. Go, Maven and pip take the clients from
# the registries that their settings name. Names after -- choose among the clients.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
sh scripts/system-packages.sh test/mysql-clients
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
# program, Debian package
missing=$(while read -r program package; do
  command -v "$program" >/dev/null 2>&1 || printf '%s ' "$package"
done <<'LIST'
javac default-jdk-headless
mvn maven
go golang-go
python3 python3
pip3 python3-pip
LIST
)
if [ -n "$missing" ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "This needs Go 1.24, a JDK of version 17 or later, Maven and pip: apt-get install ${missing% }" >&2
    exit 1
  fi
  apt-get update -q
  # shellcheck disable=SC2086 # the list is words
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
fi
exec node test/mysql-clients/run.ts "$@"
