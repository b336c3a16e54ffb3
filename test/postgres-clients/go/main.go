// Go: pgx, pgx through database/sql, and lib/pq. Prints one line for each step, a name and a value. `main DRIVER URL`.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
)

func show(step string, value any) {
	fmt.Printf("%s\t%v\n", step, value)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func stateOf(err error) string {
	var ofPgx *pgconn.PgError
	if errors.As(err, &ofPgx) {
		return ofPgx.Code
	}
	var ofPq *pq.Error
	if errors.As(err, &ofPq) {
		return string(ofPq.Code)
	}
	return fmt.Sprint(err)
}

func main() {
	driver, url := os.Args[1], os.Args[2]
	switch driver {
	case "pgx":
		withPgx(url)
	case "pgx-exec", "pgx-simple", "pgx-describe", "pgx-cache-describe":
		modes := map[string]pgx.QueryExecMode{
			"pgx-exec":           pgx.QueryExecModeExec,
			"pgx-simple":         pgx.QueryExecModeSimpleProtocol,
			"pgx-describe":       pgx.QueryExecModeDescribeExec,
			"pgx-cache-describe": pgx.QueryExecModeCacheDescribe,
		}
		withMode(url, modes[driver])
	case "pgx-sql":
		withSQL("pgx", url)
	case "pq":
		withSQL("postgres", url)
	case "pq-binary":
		withSQL("postgres", url+"?binary_parameters=yes")
	}
}

func withPgx(url string) {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, url)
	must(err)
	defer connection.Close(ctx)
	one := func(sql string, values ...any) (id int64) {
		must(connection.QueryRow(ctx, sql, values...).Scan(&id))
		return
	}
	ids := func(sql string, values ...any) []int64 {
		rows, err := connection.Query(ctx, sql, values...)
		must(err)
		all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		must(err)
		return all
	}
	show("nextval", one("SELECT nextval('orders')"))
	show("parameter", one("SELECT nextval($1)", "orders"))
	var drawn []int64
	for range 7 {
		drawn = append(drawn, one("SELECT nextval($1)", "orders"))
	}
	show("repeated", drawn)
	show("currval", one("SELECT currval($1)", "orders"))
	show("lastval", one("SELECT lastval()"))
	show("many", ids("SELECT nextval('orders') FROM generate_series(1, $1)", 5))
	tx, err := connection.Begin(ctx)
	must(err)
	nested, err := tx.Begin(ctx)
	must(err)
	_, err = nested.Exec(ctx, "SELECT nextval('orders')")
	must(err)
	must(nested.Rollback(ctx))
	must(tx.Rollback(ctx))
	show("after rollback", one("SELECT nextval('orders')"))
	show("setval", one("SELECT setval('orders', $1)", 100))
	show("after setval", one("SELECT nextval('orders')"))
	batch := &pgx.Batch{}
	for range 3 {
		batch.Queue("SELECT nextval('orders')")
	}
	results := connection.SendBatch(ctx, batch)
	drawn = nil
	for range 3 {
		var id int64
		must(results.QueryRow().Scan(&id))
		drawn = append(drawn, id)
	}
	must(results.Close())
	show("batch", drawn)
	_, err = connection.Exec(ctx, "SELECT nextval('missing')")
	show("missing", stateOf(err))
	_, err = connection.Exec(ctx, "CREATE SEQUENCE created INCREMENT BY 10 START WITH 5")
	must(err)
	show("created", []int64{one("SELECT nextval('created')"), one("SELECT nextval('created')")})
	_, err = connection.Exec(ctx, "DROP SEQUENCE created")
	must(err)
	must(connection.Ping(ctx))
	withPool(ctx, url)
}

func withPool(ctx context.Context, url string) {
	pool, err := pgxpool.New(ctx, url)
	must(err)
	defer pool.Close()
	var group sync.WaitGroup
	drawn := make([]int, 8)
	for at := range drawn {
		group.Add(1)
		go func() {
			defer group.Done()
			must(pool.QueryRow(ctx, "SELECT nextval($1)", "orders").Scan(&drawn[at]))
		}()
	}
	group.Wait()
	sort.Ints(drawn)
	show("pool", drawn)
}

func withMode(url string, mode pgx.QueryExecMode) {
	ctx := context.Background()
	config, err := pgx.ParseConfig(url)
	must(err)
	config.DefaultQueryExecMode = mode
	connection, err := pgx.ConnectConfig(ctx, config)
	must(err)
	defer connection.Close(ctx)
	var drawn []int64
	for range 3 {
		var id int64
		must(connection.QueryRow(ctx, "SELECT nextval($1)", "orders").Scan(&id))
		drawn = append(drawn, id)
	}
	show("parameter", drawn)
	rows, err := connection.Query(ctx, "SELECT nextval('orders') FROM generate_series(1, $1)", 3)
	must(err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	must(err)
	show("many", all)
	_, err = connection.Exec(ctx, "SELECT nextval('missing')")
	show("missing", stateOf(err))
}

func withSQL(driver, url string) {
	database, err := sql.Open(driver, url)
	must(err)
	defer database.Close()
	database.SetMaxOpenConns(1)
	one := func(query string, values ...any) (id int64) {
		must(database.QueryRow(query, values...).Scan(&id))
		return
	}
	must(database.Ping())
	show("nextval", one("SELECT nextval('orders')"))
	show("parameter", one("SELECT nextval($1)", "orders"))
	statement, err := database.Prepare("SELECT nextval($1)")
	must(err)
	var drawn []int64
	for range 3 {
		var id int64
		must(statement.QueryRow("orders").Scan(&id))
		drawn = append(drawn, id)
	}
	must(statement.Close())
	show("prepared", drawn)
	rows, err := database.Query("SELECT nextval('orders') FROM generate_series(1, $1)", 5)
	must(err)
	drawn = nil
	for rows.Next() {
		var id int64
		must(rows.Scan(&id))
		drawn = append(drawn, id)
	}
	must(rows.Err())
	show("many", drawn)
	tx, err := database.Begin()
	must(err)
	_, err = tx.Exec("SELECT nextval('orders')")
	must(err)
	must(tx.Rollback())
	show("after rollback", one("SELECT nextval('orders')"))
	tx, err = database.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: false})
	must(err)
	must(tx.QueryRow("SELECT nextval('orders')").Scan(&drawn[0]))
	must(tx.Commit())
	show("serializable", drawn[0])
	_, err = database.Exec("SELECT nextval('missing')")
	show("missing", stateOf(err))
	show("setval", one("SELECT setval('orders', $1)", 100))
	show("after setval", one("SELECT nextval('orders')"))
	_, err = database.Exec("CREATE SEQUENCE created INCREMENT BY 10 START WITH 5")
	must(err)
	show("created", []int64{one("SELECT nextval('created')"), one("SELECT nextval('created')")})
	_, err = database.Exec("DROP SEQUENCE created")
	must(err)
}
