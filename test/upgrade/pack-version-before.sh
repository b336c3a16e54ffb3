#!/bin/sh
# Packs the commit that version-before.txt names as `npm pack` does, unpacks the tarball, gives it the packages of that
# commit's lock file, and prints its folder. Kept by commit in the user's cache, so that each machine makes it once.
set -eu
cd "$(dirname "$0")"
commit=$(cat version-before.txt)
cache=${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/fahao-before
package=$cache/$commit/package

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$package/client/package.json" ]; then
  git cat-file -e "$commit^{commit}" 2>/dev/null || {
    echo "Commit $commit is missing in this clone, and is what an upgrade begins from. Fetch it: git fetch --unshallow" >&2
    exit 1
  }
  made=$cache/making
  rm -rf "$made"
  mkdir -p "$made/source"
  git -C ../.. archive "$commit" | tar -xf - -C "$made/source"
  (
    cd "$made/source"
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    # A version of its own, so that the status of a cluster tells the two apart.
    npm pkg set version="$(node -p 'require("./package.json").version')-before.$(echo "$commit" | cut -c 1-8)"
    npm pack --pack-destination .. --loglevel=error
  ) >"$made/log" 2>&1 || {
    tail -n 20 "$made/log" >&2
    echo "The version before could not be packed; npm says why above. Is the npm registry reachable?" >&2
    exit 1
  }
  tar -xzf "$made"/fahao-*.tgz -C "$made"
  # The client is a package of its own, which was built for the other one.
  rm -rf "$made/package/client"
  mv "$made/source/node_modules" "$made/source/client" "$made/package/"
  rm -rf "$made/source"
  rm -rf "${cache:?}/$commit"
  mv "$made" "$cache/$commit"
fi
echo "$package"
