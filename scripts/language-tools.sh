#!/bin/sh
# Go, a JDK, Maven and pip, for the clients of servers that other languages have: as root on Debian it installs those that
# are missing.
set -eu
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
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "This needs Go 1.25, a JDK of version 17 or later, Maven and pip: apt-get install ${missing% }" >&2
  exit 1
fi
apt-get update -q
# shellcheck disable=SC2086 # the list is words
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
