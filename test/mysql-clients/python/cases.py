"""Runs the steps by a driver of Python's DB-API: cases.py DRIVER. Reads steps as JSON, prints a line of JSON for each."""

import json
import os
import sys


def connected(driver):
    """A connection, and the keywords of its cursors for ordinary and for prepared statements."""
    address = {
        "host": os.environ["DB_HOST"],
        "port": int(os.environ["DB_PORT"]),
        "user": os.environ["DB_USER"],
        "password": os.environ["DB_PASSWORD"],
        "database": os.environ["DB_NAME"],
    }
    if driver == "pymysql":
        import pymysql

        return pymysql.connect(**address), {}, {}
    if driver == "mysqldb":
        import MySQLdb

        return MySQLdb.connect(**address), {}, {}
    import mysql.connector

    return mysql.connector.connect(**address, use_pure=True), {}, {"prepared": True}


def perform(step, connection, usual, prepared):
    report = {"name": step["name"], "affected": [], "ids": []}
    sql = step["sql"].replace("?", "%s")
    way = step["way"]
    if way == "statements":
        return {**report, "absent": True}
    cursor = connection.cursor(**(prepared if way == "prepared" else usual))

    def done():
        report["affected"].append(cursor.rowcount)
        report["ids"].append(str(cursor.lastrowid))

    try:
        if "before" in step:
            earlier = connection.cursor()
            earlier.execute(step["before"])
            earlier.close()
            connection.commit()
        if way == "text":
            cursor.execute(step["sql"])
            done()
        elif way == "batch":
            cursor.executemany(sql, [tuple(row) for row in step["rows"]])
            done()
        else:
            for row in step["rows"]:
                cursor.execute(sql, tuple(row))
                done()
        if way == "rollback":
            connection.rollback()
        else:
            connection.commit()
    except Exception as error:
        report["error"] = error.args[0] if error.args else str(error)
        connection.rollback()
    finally:
        cursor.close()
    asking = connection.cursor()
    asking.execute("SELECT LAST_INSERT_ID()")
    report["last"] = str(asking.fetchone()[0])
    asking.close()
    return report


def main():
    connection, usual, prepared = connected(sys.argv[1])
    for step in json.load(sys.stdin):
        print(json.dumps(perform(step, connection, usual, prepared)), flush=True)
    connection.close()


main()
