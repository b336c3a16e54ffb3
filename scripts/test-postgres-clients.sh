#!/bin/sh
# npm run test:postgres-clients: clients of PostgreSQL in several languages against a server of this repository, beside the
# same clients with PostgreSQL. As root on Debian it installs what is missing: a JDK, Maven, Go, pip, and Debian's clients.
# Go, Maven and pip take the others from the registries that their settings name. Names after -- choose among the clients.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
sh scripts/system-packages.sh test/postgres-clients
sh scripts/language-tools.sh
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
exec node test/postgres-clients/run.ts "$@"
