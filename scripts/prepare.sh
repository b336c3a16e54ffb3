#!/bin/sh
# Installs and builds, each only after a change.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

# True if $1 is missing, or a file or folder under the other paths is newer. A deletion makes a folder newer.
outdated() {
  made=$1
  shift
  [ ! -e "$made" ] || [ -n "$(find "$@" -newer "$made" -print 2>/dev/null | head -n 1)" ]
}

# npm writes this file at the end of an installation.
if outdated node_modules/.package-lock.json package-lock.json; then
  echo 'Installing dependencies (once; about half a minute) …' >&2
  npm ci --include=dev --no-audit --no-fund --loglevel=error >&2 || {
    echo 'Dependencies could not be installed; npm says why above. Is the npm registry reachable?' >&2
    exit 1
  }
fi

# An installation empties .bin, and the build puts the program there.
if outdated dist/fahao.js src console scripts/console.ts client/src client/package.json package.json package-lock.json scripts/build.ts tsconfig.json client/tsconfig.build.json || outdated client/dist/index.js client/src || [ ! -e node_modules/.bin/fahao ]; then
  echo 'Building dist/ …' >&2
  node scripts/build.ts --run >&2 || {
    echo 'The build failed; it says why above.' >&2
    exit 1
  }
fi
