#!/bin/sh
# npm run test:image: builds the image by buildah on a root of Debian's packages, and runs it as compose.yaml describes. Needs root on
# Debian, and installs what is missing. Nothing comes from a registry of images.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo 'This makes a root of Debian packages, and runs containers in it: run it as root on Debian' >&2
  exit 1
fi
missing=$(for each in buildah mmdebstrap podman runc etcd-server mariadb-server; do
  dpkg -s "$each" >/dev/null 2>&1 || printf '%s ' "$each"
done)
if [ -n "$missing" ]; then
  apt-get update -q
  # shellcheck disable=SC2086 # the list is words
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
fi
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
exec node test/packaging/run-image.ts "$@"
