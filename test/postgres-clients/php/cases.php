<?php
// PHP: PDO and the pgsql functions. Prints one line for each step, a name and a value. `cases.php URL`.
declare(strict_types=1);

function show(string $step, mixed $value): void
{
    echo $step, "\t", is_array($value) ? json_encode($value) : $value, "\n";
}

$url = parse_url($argv[1]);
$database = substr($url['path'], 1);
$dsn = "pgsql:host={$url['host']};port={$url['port']};dbname={$database}";

function connect(array $options = []): PDO
{
    global $dsn, $url;
    return new PDO($dsn, $url['user'], $url['pass'] ?? '', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION] + $options);
}

$pdo = connect();
show('nextval', $pdo->query("SELECT nextval('orders')")->fetchColumn());
$statement = $pdo->prepare('SELECT nextval(?)');
$drawn = [];
for ($at = 0; $at < 7; $at++) {
    $statement->execute(['orders']);
    $drawn[] = $statement->fetchColumn();
}
show('prepared', $drawn);
show('lastInsertId', $pdo->lastInsertId());
show('lastInsertId of a sequence', $pdo->lastInsertId('orders'));
$many = $pdo->prepare("SELECT nextval('orders') AS id FROM generate_series(1, :n)");
$many->bindValue('n', 5, PDO::PARAM_INT);
$many->execute();
show('many', $many->fetchAll(PDO::FETCH_COLUMN));
show('column type', $many->getColumnMeta(0)['native_type']);
$pdo->beginTransaction();
$pdo->query("SELECT nextval('orders')");
$pdo->rollBack();
show('after rollback', $pdo->query("SELECT nextval('orders')")->fetchColumn());
show('setval', $pdo->query("SELECT setval('orders', 100)")->fetchColumn());
show('after setval', $pdo->query("SELECT nextval('orders')")->fetchColumn());
try {
    $pdo->query("SELECT nextval('missing')");
} catch (PDOException $error) {
    show('missing', $error->getCode());
}
$emulated = connect([PDO::ATTR_EMULATE_PREPARES => true]);
$statement = $emulated->prepare('SELECT nextval(:name)');
$statement->execute(['name' => 'orders']);
show('emulated prepare', $statement->fetchColumn());
$direct = connect([PDO::PGSQL_ATTR_DISABLE_PREPARES => true]);
$statement = $direct->prepare('SELECT nextval(:name)');
$statement->execute(['name' => 'orders']);
show('no prepare', $statement->fetchColumn());
$pdo->exec('CREATE SEQUENCE created INCREMENT BY 10 START WITH 5');
show('created', [$pdo->query("SELECT nextval('created')")->fetchColumn(), $pdo->query("SELECT nextval('created')")->fetchColumn()]);
$pdo->exec('DROP SEQUENCE created');
show('server', (int) $pdo->getAttribute(PDO::ATTR_SERVER_VERSION) >= 14 ? 'version 14 or later' : 'old');
show('status', $pdo->getAttribute(PDO::ATTR_CONNECTION_STATUS));

$pgsql = pg_connect("host={$url['host']} port={$url['port']} dbname={$database} user={$url['user']} password=" . ($url['pass'] ?? 'none'));
show('pg_query', pg_fetch_result(pg_query($pgsql, "SELECT nextval('orders')"), 0, 0));
show('pg_query_params', pg_fetch_result(pg_query_params($pgsql, 'SELECT nextval($1)', ['orders']), 0, 0));
pg_prepare($pgsql, 'draw', 'SELECT nextval($1) AS id');
$result = pg_execute($pgsql, 'draw', ['orders']);
show('pg_execute', pg_fetch_assoc($result)['id']);
show('pg_field_type', pg_field_type($result, 0));
show('pg_ping', pg_ping($pgsql) ? 'yes' : 'no');
