#!/bin/sh
# npm test: types, lint, then the tests of scripts/test-lists.ts; or all (--all), or those named: npm test -- test/unit/ids
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
# Without these programs the suites that need them fail with a sentence each; the other suites still run.
sh scripts/system-packages.sh "$@" || true
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
# Types and lint at the same time: each uses one core for half a minute.
{ tsc --noEmit && tsc --noEmit -p console; } &
types=$!
biome check --error-on-warnings .
wait "$types"
exec node scripts/suites.ts "$@"
