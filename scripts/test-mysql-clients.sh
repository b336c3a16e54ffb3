#!/bin/sh
# npm run test:mysql-clients: clients of MySQL in several languages through the proxy, beside the same clients directly. As
# root on Debian it installs a JDK, Maven, Go, PHP and pip where they are missing. Go, Maven and pip take the clients from
# the registries that their settings name. Names after -- choose among the clients.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
sh scripts/system-packages.sh test/mysql-clients
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
sh scripts/language-tools.sh
exec node test/mysql-clients/run.ts "$@"
