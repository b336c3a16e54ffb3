"""Drivers of Python: prints one line for each step, a name and a value. `drivers.py DRIVER URL`."""
import asyncio
import os
import ssl
import sys
from urllib.parse import urlsplit


def show(step, value):
    print(f"{step}\t{value}", flush=True)


def dbapi(connection, error):
    """The steps that every DB-API driver can do."""
    cursor = connection.cursor()

    def one(sql, *values):
        cursor.execute(sql, values)
        return cursor.fetchone()[0]

    show("nextval", one("SELECT nextval('orders')"))
    show("parameter", one("SELECT nextval(%s)", "orders"))
    show("repeated", [one("SELECT nextval(%s)", "orders") for _ in range(7)])
    show("currval", one("SELECT currval(%s)", "orders"))
    show("lastval", one("SELECT lastval()"))
    connection.commit()
    cursor.execute("SELECT nextval('orders') FROM generate_series(1, %s)", (5,))
    show("many", [row[0] for row in cursor.fetchall()])
    connection.rollback()
    show("after rollback", one("SELECT nextval('orders')"))
    show("setval", one("SELECT setval('orders', %s)", 100))
    show("after setval", one("SELECT nextval('orders')"))
    show("column name", [each[0] for each in (cursor.execute("SELECT nextval('orders')") or cursor).description])
    cursor.fetchall()
    connection.commit()

    def state(sql):
        try:
            return one(sql)
        except error as caught:
            return getattr(caught, "pgcode", None) or getattr(caught, "sqlstate", None) or caught.args[0].get("C")

    show("missing", state("SELECT nextval('missing')"))
    show("failed transaction", state("SELECT 1"))
    connection.rollback()
    show("goes on", one("SELECT nextval('orders')"))
    connection.commit()
    connection.autocommit = True
    cursor.execute("CREATE SEQUENCE created INCREMENT BY 10 START WITH 5")
    show("created", [one("SELECT nextval('created')") for _ in range(2)])
    cursor.execute("DROP SEQUENCE created")
    connection.close()


def psycopg2(url):
    import psycopg2 as driver
    dbapi(driver.connect(url), driver.Error)
    with driver.connect(url) as connection, connection.cursor("server_side") as cursor:
        cursor.itersize = 2
        cursor.execute("SELECT nextval('orders') FROM generate_series(1, %s)", (3,))
        show("server-side cursor", [row[0] for row in cursor])


def psycopg(url):
    import psycopg as driver
    dbapi(driver.connect(url), driver.Error)
    with driver.connect(url) as connection:
        with connection.pipeline():
            drawn = [connection.execute("SELECT nextval('orders')") for _ in range(3)]
        show("pipeline", [cursor.fetchone()[0] for cursor in drawn])
        show("binary", connection.execute("SELECT nextval(%s)", ("orders",), binary=True).fetchone()[0])
        with connection.transaction():
            with connection.transaction():
                show("savepoint", connection.execute("SELECT nextval('orders')").fetchone()[0])
        cursor = connection.cursor()
        cursor.executemany("SELECT nextval(%s)", [("orders",)] * 3, returning=True)
        drawn = []
        while True:
            drawn.append(cursor.fetchone()[0])
            if not cursor.nextset():
                break
        show("executemany", drawn)
        show("prepared", [connection.execute("SELECT nextval(%s)", ("orders",), prepare=True).fetchone()[0] for _ in range(2)])
    with driver.connect(url) as connection:
        with connection.cursor(name="server_side") as cursor:
            cursor.itersize = 2
            cursor.execute("SELECT nextval('orders') FROM generate_series(1, 3)")
            show("server-side cursor", [row[0] for row in cursor])


def pg8000(url):
    import pg8000 as driver
    parts = urlsplit(url)
    login = {"user": parts.username, "password": parts.password, "host": parts.hostname, "port": parts.port}
    tls = {"ssl_context": unverified()} if "PGSSLMODE" in os.environ else {}
    dbapi(driver.connect(**login, database=parts.path[1:], **tls), driver.Error)


def unverified():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def with_asyncpg(url):
    import asyncpg
    connection = await asyncpg.connect(url)
    show("nextval", await connection.fetchval("SELECT nextval('orders')"))
    show("parameter", await connection.fetchval("SELECT nextval($1)", "orders"))
    show("repeated", [await connection.fetchval("SELECT nextval($1)", "orders") for _ in range(7)])
    show("currval", await connection.fetchval("SELECT currval($1)", "orders"))
    show("lastval", await connection.fetchval("SELECT lastval()"))
    rows = await connection.fetch("SELECT nextval('orders') AS id FROM generate_series(1, $1)", 5)
    show("many", [row["id"] for row in rows])
    rows = await connection.fetch("SELECT nextval('orders') AS id FROM generate_series(1, $1::int)", 2)
    show("cast", [row["id"] for row in rows])
    transaction = connection.transaction()
    await transaction.start()
    show("in transaction", await connection.fetchval("SELECT nextval('orders')"))
    await transaction.rollback()
    show("after rollback", await connection.fetchval("SELECT nextval('orders')"))
    show("setval", await connection.fetchval("SELECT setval('orders', $1)", 100))
    show("after setval", await connection.fetchval("SELECT nextval('orders')"))
    statement = await connection.prepare("SELECT nextval('orders')")
    show("prepared", [await statement.fetchval() for _ in range(3)])
    show("attributes", [(each.name, each.type.name) for each in statement.get_attributes()])
    async with connection.transaction():
        drawn = [row[0] async for row in connection.cursor("SELECT nextval('orders') FROM generate_series(1, 3)", prefetch=2)]
    show("cursor", drawn)
    try:
        await connection.fetchval("SELECT nextval('missing')")
    except asyncpg.PostgresError as caught:
        show("missing", caught.sqlstate)
    await connection.execute("CREATE SEQUENCE created INCREMENT BY 10 START WITH 5")
    show("created", [await connection.fetchval("SELECT nextval('created')") for _ in range(2)])
    show("two statements", await connection.execute("SELECT nextval('created'); SELECT nextval('created')"))
    await connection.execute("DROP SEQUENCE created")
    await connection.reset()
    await connection.close()
    pool = await asyncpg.create_pool(url, min_size=2, max_size=2)
    drawn = await asyncio.gather(*(pool.fetchval("SELECT nextval('orders')") for _ in range(8)))
    show("pool", sorted(drawn))
    await pool.close()


def asyncpg(url):
    asyncio.run(with_asyncpg(url))


{"psycopg2": psycopg2, "psycopg": psycopg, "pg8000": pg8000, "asyncpg": asyncpg}[sys.argv[1]](sys.argv[2])
