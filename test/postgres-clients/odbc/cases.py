"""ODBC: prints one line for each step, a name and a value. `cases.py URL [KEY=VALUE;…]`, the keys as of the driver."""
import os
import sys
from urllib.parse import urlsplit

import pyodbc

parts = urlsplit(sys.argv[1])
database = parts.path[1:]
options = sys.argv[2] if len(sys.argv) > 2 else ""
secured = "SSLmode=require;" if "PGSSLMODE" in os.environ else ""
address = f"{secured}Driver=PostgreSQL Unicode;Server={parts.hostname};Port={parts.port};Database={database}"
connection = pyodbc.connect(f"{address};Uid={parts.username};Pwd={parts.password};{options}")
cursor = connection.cursor()


def show(step, value):
    print(f"{step}\t{value}", flush=True)


def ids(sql, *values):
    return [row[0] for row in cursor.execute(sql, *values).fetchall()]


show("nextval", ids("SELECT nextval('orders')"))
show("parameter", [ids("SELECT nextval(?)", "orders") for _ in range(7)])
show("many", ids("SELECT nextval('orders') FROM generate_series(1, ?)", 5))
show("currval", ids("SELECT currval('orders')"))
show("lastval", ids("SELECT lastval()"))
show("type", [(each[0], each[1].__name__) for each in cursor.execute("SELECT nextval('orders') AS id").description])
cursor.fetchall()
connection.commit()
ids("SELECT nextval('orders')")
connection.rollback()
show("after rollback", ids("SELECT nextval('orders')"))
show("setval", ids("SELECT setval('orders', ?)", 100))
show("after setval", ids("SELECT nextval('orders')"))
connection.commit()
try:
    ids("SELECT nextval('missing')")
except pyodbc.Error as caught:
    show("missing", caught.args[0])
connection.rollback()
show("goes on", ids("SELECT nextval('orders')"))
connection.commit()
connection.autocommit = True
cursor.execute("CREATE SEQUENCE created INCREMENT BY 10 START WITH 5")
show("created", [ids("SELECT nextval('created')") for _ in range(2)])
cursor.execute("DROP SEQUENCE created")
show("tables", [row.table_name for row in cursor.tables(tableType="TABLE")])
show("columns", [(row.column_name, row.type_name) for row in cursor.columns(table="missing")])
show("name", connection.getinfo(pyodbc.SQL_DBMS_NAME))
connection.close()
