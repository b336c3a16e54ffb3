// Runs the steps by go-sql-driver/mysql, or what GORM has of them: mysql-clients PARAMETERS [gorm], where PARAMETERS are of
// the driver's address. Reads steps as JSON, prints a line of JSON for each.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/go-sql-driver/mysql"
)

type step struct {
	Name   string  `json:"name"`
	Way    string  `json:"way"`
	SQL    string  `json:"sql"`
	Rows   [][]any `json:"rows"`
	Before string  `json:"before"`

	Customers []string `json:"customers"`
}

type report struct {
	Name     string   `json:"name"`
	Affected []int64  `json:"affected"`
	IDs      []string `json:"ids"`
	Last     string   `json:"last,omitempty"`
	Error    any      `json:"error"`
	Absent   bool     `json:"absent"`
}

type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

func main() {
	var steps []step
	check(json.NewDecoder(os.Stdin).Decode(&steps))
	address := fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?%s", os.Getenv("DB_USER"), os.Getenv("DB_PASSWORD"),
		os.Getenv("DB_HOST"), os.Getenv("DB_PORT"), os.Getenv("DB_NAME"), os.Args[1])
	pool, err := sql.Open("mysql", address)
	check(err)
	if len(os.Args) > 2 {
		performByGorm(pool, steps)
		return
	}
	db, err := pool.Conn(context.Background())
	check(err)
	for _, each := range steps {
		show(perform(db, each))
	}
}

func show(done report) {
	line, err := json.Marshal(done)
	check(err)
	fmt.Println(string(line))
}

func perform(db *sql.Conn, step step) report {
	done := report{Name: step.Name, Affected: []int64{}, IDs: []string{}}
	if step.Way == "batch" || step.Way == "statements" {
		done.Absent = true
		return done
	}
	if err := run(db, step, &done); err != nil {
		done.Error = wordsOf(err)
	}
	check(db.QueryRowContext(context.Background(), "SELECT LAST_INSERT_ID()").Scan(&done.Last))
	return done
}

func run(db *sql.Conn, step step, done *report) error {
	ctx := context.Background()
	if step.Before != "" {
		if _, err := db.ExecContext(ctx, step.Before); err != nil {
			return err
		}
	}
	switch step.Way {
	case "text":
		return note(done)(db.ExecContext(ctx, step.SQL))
	case "bound":
		return note(done)(db.ExecContext(ctx, step.SQL, arguments(step.Rows[0])...))
	case "prepared":
		return prepared(db, step, done)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := prepared(tx, step, done); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if step.Way == "rollback" {
		return tx.Rollback()
	}
	return tx.Commit()
}

func prepared(db executor, step step, done *report) error {
	ctx := context.Background()
	statement, err := db.PrepareContext(ctx, step.SQL)
	if err != nil {
		return err
	}
	defer statement.Close()
	for _, row := range step.Rows {
		if err := note(done)(statement.ExecContext(ctx, arguments(row)...)); err != nil {
			return err
		}
	}
	return nil
}

func note(done *report) func(sql.Result, error) error {
	return func(result sql.Result, err error) error {
		if err != nil {
			return err
		}
		affected, err := result.RowsAffected()
		if err != nil {
			return err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return err
		}
		done.Affected = append(done.Affected, affected)
		done.IDs = append(done.IDs, fmt.Sprint(id))
		return nil
	}
}

// arguments turns JSON's numbers into integers, as a program has them.
func arguments(row []any) []any {
	values := make([]any, len(row))
	for at, value := range row {
		if number, ok := value.(float64); ok {
			values[at] = int64(number)
		} else {
			values[at] = value
		}
	}
	return values
}

// wordsOf is the number of a MySQL error, or the driver's own words.
func wordsOf(err error) any {
	var failure *mysql.MySQLError
	if errors.As(err, &failure) {
		return failure.Number
	}
	return err.Error()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
