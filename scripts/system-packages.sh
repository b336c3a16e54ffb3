#!/bin/sh
# The system's programs that tests and benchmarks start, and the installation of missing ones. With the arguments of a run
# of tests, as scripts/test.sh has them: also those that only its tests need.
set -eu

# program or path, Debian package, reason
needed() {
  cat <<'LIST'
redis-server redis-server the peer that benchmarks compare with
redis-cli redis-tools a real client, and redis-benchmark beside it
mariadbd mariadb-server an engine, and a peer that benchmarks compare with
psql postgresql an engine, and a peer that benchmarks compare with
etcd etcd-server an engine
etcdctl etcd-client snapshots of an engine, restored
nginx nginx-light a load balancer in front of a fleet
openssl openssl certificates for servers that speak TLS
/usr/lib/python3/dist-packages/redis python3-redis a real client
strace strace makes fsync slow, or fail
faketime faketime moves the clock of a real process
LIST
  case " $* " in
  *' --all '* | *' --rest '* | *test/docs* | *test/console*) echo 'curl curl what pages show requests with' ;;
  esac
  case " $* " in
  *' --all '* | *' --rest '* | *completion*)
    cat <<'LIST'
zsh zsh a shell that completes the command line
fish fish a shell that completes the command line
LIST
    ;;
  esac
  case " $* " in
  *' --all '* | *' --rest '* | *vitess*) echo 'go golang-go the language of Vitess, whose vindexes place rows' ;;
  esac
  case " $* " in
  *' --all '* | *' --rest '* | *prometheus*) echo 'promtool prometheus checks metrics and alerts, and carries them out' ;;
  esac
  case " $* " in
  *' --all '* | *' --rest '* | *artifacts*)
    cat <<'LIST'
dpkg-deb dpkg makes the package of Debian
man man-db reads the manual page
mmdebstrap mmdebstrap a fresh root of Debian, in which the package is installed
systemd-analyze systemd what the unit of the package leaves open
LIST
    ;;
  esac
  case " $* " in
  # 124 MB to download, which every run of `npm test` need not wait for.
  *' --all '* | *' --rest '* | *test/runtimes* | *test/console*)
    echo 'chromium chromium a browser, in which fahao-client and the console are tried'
    ;;
  esac
  case " $* " in
  *' --all '* | *' --rest '* | *mysql*)
    cat <<'LIST'
php php-cli a language whose clients the MySQL proxy is tried with
/var/lib/dpkg/info/php-mysql.list php-mysql real clients of MySQL: PDO and mysqli
/usr/lib/python3/dist-packages/pymysql python3-pymysql a real client of MySQL
/usr/lib/python3/dist-packages/MySQLdb python3-mysqldb a real client of MySQL, on MariaDB's C library
LIST
    ;;
  esac
  case " $* " in
  *' --all '* | *' --rest '* | *mariadb-connect*)
    cat <<'LIST'
/usr/lib/mysql/plugin/ha_connect.so mariadb-plugin-connect an engine of MariaDB that asks other servers
/usr/share/psqlodbc/odbcinst.ini.template odbc-postgresql how that engine asks over PostgreSQL's protocol
LIST
    ;;
  esac
  case " $* " in
  *' --all '* | *' --rest '* | *postgres-clients*)
    cat <<'LIST'
php php-cli a language whose clients PostgreSQL's protocol is tried with
/var/lib/dpkg/info/php-pgsql.list php-pgsql real clients of PostgreSQL: PDO and pgsql
ruby ruby a language whose clients PostgreSQL's protocol is tried with
/var/lib/dpkg/info/ruby-pg.list ruby-pg a real client of PostgreSQL
/var/lib/dpkg/info/ruby-activerecord.list ruby-activerecord the ORM of Rails
/usr/share/psqlodbc odbc-postgresql PostgreSQL's driver for ODBC
/usr/lib/python3/dist-packages/pyodbc.pyi python3-pyodbc a client of ODBC
LIST
    ;;
  esac
}

# Folders of servers' programs, which are not on every user's path.
PATH=$PATH:/usr/sbin:/sbin

missing=$(needed "$@" | while read -r program package reason; do
  command -v "$program" >/dev/null 2>&1 || [ -e "$program" ] || printf '%s ' "$package"
done)
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Some suites need programs that are missing here; install them: apt-get install ${missing% }" >&2
  exit 1
fi

# While this file says 101, Debian starts no service that it installs: tests start servers of their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' INT TERM
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
fi

echo "Installing ${missing% } …" >&2
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
# Package lists may be absent or out of date: fetch them only when a first try fails.
# shellcheck disable=SC2086 # the list is words
install() { apt-get install -y -q --no-install-recommends $missing >"$log" 2>&1 </dev/null; }
if ! install && ! { apt-get update -q >"$log" 2>&1 && install; }; then
  tail -n 15 "$log" >&2
  echo "They could not be installed; apt-get says why above. Install them by hand: apt-get install ${missing% }" >&2
  exit 1
fi
rm -f "$log"
# The services do not start at the next boot either.
for service in redis-server mariadb postgresql etcd nginx prometheus; do
  update-rc.d "$service" disable >/dev/null 2>&1 || true
done
