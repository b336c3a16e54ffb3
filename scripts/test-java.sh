#!/bin/sh
# npm run test:java: Java clients of the compatible APIs against a server of this repository. As root on Debian it installs
# a JDK and Maven where they are missing. Maven takes the clients from the repository that its settings name.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
sh scripts/system-packages.sh
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
if ! command -v javac >/dev/null 2>&1 || ! command -v mvn >/dev/null 2>&1; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo 'This needs a JDK of version 17 or later and Maven: apt-get install default-jdk-headless maven' >&2
    exit 1
  fi
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends default-jdk-headless maven
fi
exec node test/java/run.ts "$@"
