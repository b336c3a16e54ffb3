#!/bin/sh
# npm run test:mysql -- URL: the engine's contract on a MySQL or MariaDB server that runs somewhere. Its user makes and
# drops databases called fahao_test_…, and needs the rights to do so.
set -eu
cd "$(dirname "$0")/.."
if [ $# -ne 1 ]; then
  echo 'Name the server: npm run test:mysql -- mysql://user:password@host:3306/' >&2
  exit 2
fi
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
FAHAO_TEST_MYSQL_URL="$1"
export FAHAO_TEST_MYSQL_URL
exec node --test test/conformance/mysql.test.ts
