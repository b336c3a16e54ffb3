#!/bin/sh
# npm run test:failover-clients: cluster clients in several languages while the leader of their generators is killed or stopped.
# As root on Debian it installs what is missing: etcd, a JDK, Maven, Go and Python. Go, Maven and pip take the clients from the
# registries that their settings name. Names after -- choose among the clients.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
sh scripts/system-packages.sh test/integration
sh scripts/language-tools.sh
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
exec node test/failover-clients/run.ts "$@"
