#!/bin/sh
# npm run test:vitess: Vitess's own package of vindexes finds the shards of orders. It needs a Go of the
# version in test/vitess/go.mod, which Debian lacks; Go takes the package from the proxy that its settings name.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
if ! command -v go >/dev/null 2>&1; then
  echo 'This needs Go, of the version in test/vitess/go.mod or later: https://go.dev/dl' >&2
  exit 1
fi
exec node test/vitess/run.ts "$@"
