#!/bin/sh
# npm run build: src/ to dist/, client/src/ and what it shares to client/dist/, and `npx fahao` in the repository to what
# was built. Arguments go to the compiler.
set -eu
cd "$(dirname "$0")/.."
rm -rf dist client/dist
# The command line imports the client as `#client`, as it is built.
node_modules/.bin/tsc -p client/tsconfig.build.json "$@"
node_modules/.bin/tsc -p tsconfig.build.json "$@"
chmod +x dist/cli/fahao.js
# npx links it too, but not if it was called once before the first build.
ln -sf ../../dist/cli/fahao.js node_modules/.bin/fahao
