#!/bin/sh
# npm start: from a fresh clone to a running server. The script ends as the server's process, so that signals reach it.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
# The pinned Node comes first; npm puts it there too, but this script may be run without npm.
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
case " $* " in
*' --config '* | *' --config='*) ;; # another file in place of the examples
*) set -- --config examples/fahao.yaml "$@" ;;
esac
exec node dist/fahao.js serve "$@"
