<?php
// Runs the steps by PDO or mysqli: cases.php pdo-emulated|pdo-native|mysqli. Reads steps as JSON, prints a line of JSON for each.

function open(): PDO|mysqli
{
    [$host, $port, $user, $password, $name] = array_map('getenv', ['DB_HOST', 'DB_PORT', 'DB_USER', 'DB_PASSWORD', 'DB_NAME']);
    global $argv;
    if ($argv[1] === 'mysqli') {
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        return new mysqli($host, $user, $password, $name, (int) $port);
    }
    return new PDO("mysql:host=$host;port=$port;dbname=$name;charset=utf8mb4", $user, $password, [
        PDO::ATTR_EMULATE_PREPARES => $argv[1] === 'pdo-emulated',
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
    ]);
}

/** Affected rows and the insert id of a statement without parameters. */
function text(PDO|mysqli $db, string $sql): array
{
    if ($db instanceof PDO) return [$db->exec($sql), $db->lastInsertId()];
    $db->query($sql);
    return [$db->affected_rows, (string) $db->insert_id];
}

/** The same of several statements that are sent at once. */
function statements(PDO|mysqli $db, string $sql): array
{
    $results = [];
    if ($db instanceof PDO) {
        $statement = $db->query($sql);
        do $results[] = [$statement->rowCount(), $db->lastInsertId()];
        while ($statement->nextRowset());
        return $results;
    }
    $db->multi_query($sql);
    do $results[] = [$db->affected_rows, (string) $db->insert_id];
    while ($db->more_results() && $db->next_result());
    return $results;
}

/** The same for each row, by one statement. */
function prepared(PDO|mysqli $db, string $sql, array $rows): array
{
    $statement = $db->prepare($sql);
    $results = [];
    foreach ($rows as $row) {
        if ($db instanceof PDO) {
            foreach ($row as $at => $value) {
                $type = is_int($value) ? PDO::PARAM_INT : ($value === null ? PDO::PARAM_NULL : PDO::PARAM_STR);
                $statement->bindValue($at + 1, $value, $type);
            }
            $statement->execute();
            $results[] = [$statement->rowCount(), $db->lastInsertId()];
        } else {
            $types = implode('', array_map(fn ($value) => is_string($value) ? 's' : 'i', $row));
            $statement->bind_param($types, ...$row);
            $statement->execute();
            $results[] = [$statement->affected_rows, (string) $statement->insert_id];
        }
    }
    return $results;
}

function perform(PDO|mysqli $db, array $step): array
{
    $report = ['name' => $step['name'], 'affected' => [], 'ids' => []];
    // PDO prepares what `query` is given, unless prepares are emulated; the server prepares one statement at a time.
    $cannot = $step['way'] === 'statements' && $db instanceof PDO && !$db->getAttribute(PDO::ATTR_EMULATE_PREPARES);
    if ($step['way'] === 'batch' || $cannot) return $report + ['absent' => true];
    $inTransaction = $step['way'] === 'rollback' || $step['way'] === 'commit';
    try {
        if (isset($step['before'])) text($db, $step['before']);
        if ($inTransaction) $db instanceof PDO ? $db->beginTransaction() : $db->begin_transaction();
        $results = match ($step['way']) {
            'text' => [text($db, $step['sql'])],
            'statements' => statements($db, $step['sql']),
            default => prepared($db, $step['sql'], $step['rows']),
        };
        $report['affected'] = array_column($results, 0);
        $report['ids'] = array_column($results, 1);
        if ($step['way'] === 'rollback') $db->rollBack();
        if ($step['way'] === 'commit') $db->commit();
    } catch (PDOException $error) {
        $report['error'] = $error->errorInfo[1];
    } catch (mysqli_sql_exception $error) {
        $report['error'] = $error->getCode();
    }
    $asked = $db->query('SELECT LAST_INSERT_ID()');
    $row = $db instanceof PDO ? $asked->fetch(PDO::FETCH_NUM) : $asked->fetch_row();
    return $report + ['last' => (string) $row[0]];
}

$db = open();
foreach (json_decode(stream_get_contents(STDIN), true) as $step) {
    echo json_encode(perform($db, $step)), "\n";
}
