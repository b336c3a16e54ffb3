#!/bin/sh
# npm run build: src/ to dist/, and `npx fahao` in the repository to what was built.
set -eu
cd "$(dirname "$0")/.."
rm -rf dist
node_modules/.bin/tsc -p tsconfig.build.json
chmod +x dist/cli/fahao.js
# npx would link it too, but never again if it was once called before there was anything to link.
ln -sf ../../dist/cli/fahao.js node_modules/.bin/fahao
