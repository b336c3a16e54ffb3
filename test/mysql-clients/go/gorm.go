package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// Order is a row with an id of the database's own, as GORM's conventions have it.
type Order struct {
	ID       uint64
	Customer string
	Amount   int
}

var errStop = errors.New("the transaction is to be rolled back")

func performByGorm(pool *sql.DB, steps []step) {
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
	check(err)
	for _, each := range steps {
		show(reportOfGorm(db, each))
	}
}

func reportOfGorm(db *gorm.DB, step step) report {
	done := report{Name: step.Name, Affected: []int64{}, IDs: []string{}}
	orders := make([]Order, len(step.Customers))
	for at, customer := range step.Customers {
		orders[at] = Order{Customer: customer, Amount: at + 1}
		if strings.HasPrefix(step.Name, "dup") {
			orders[at].Amount = 5
		}
	}
	err := insertByGorm(db, step.Name, orders, &done)
	if err != nil {
		done.Error = wordsOf(err)
		return done
	}
	for _, order := range orders {
		done.IDs = append(done.IDs, fmt.Sprint(order.ID))
	}
	return done
}

func insertByGorm(db *gorm.DB, name string, orders []Order, done *report) error {
	switch name {
	case "single", "after":
		return db.Create(&orders[0]).Error
	case "multi":
		return db.Create(&orders).Error
	case "batch":
		return db.CreateInBatches(&orders, 2).Error
	case "explicit":
		orders[0].ID = 7001
		return db.Create(&orders[0]).Error
	case "duplicate":
		if err := db.Create(&Order{ID: 8011, Customer: orders[0].Customer, Amount: 1}).Error; err != nil {
			return err
		}
		return upsertByGorm(db, orders)
	case "duplicate-new":
		return upsertByGorm(db, orders)
	case "clash":
		if err := db.Create(&Order{ID: 8007, Customer: orders[0].Customer, Amount: 1}).Error; err != nil {
			return err
		}
		return db.Create(&orders[0]).Error
	case "rollback", "commit":
		err := db.Transaction(func(tx *gorm.DB) error {
			for at := range orders {
				if err := tx.Create(&orders[at]).Error; err != nil {
					return err
				}
			}
			if name == "rollback" {
				return errStop
			}
			return nil
		})
		if errors.Is(err, errStop) {
			return nil
		}
		return err
	}
	done.Absent = true
	return nil
}

func upsertByGorm(db *gorm.DB, orders []Order) error {
	return db.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"amount"})}).Create(&orders[0]).Error
}
