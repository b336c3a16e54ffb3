"""SQLAlchemy and Django: prints one line for each step, a name and a value. `frameworks.py FRAMEWORK URL`."""
import asyncio
import os
import ssl
import sys
from urllib.parse import urlsplit


def show(step, value):
    print(f"{step}\t{value}", flush=True)


def sqlalchemy(url, driver):
    from sqlalchemy import Sequence, create_engine, func, inspect, select, text
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.schema import CreateSequence, DropSequence

    # Drivers of libpq read PGSSLMODE by themselves.
    tls = {"ssl_context": unverified()} if driver == "pg8000" and "PGSSLMODE" in os.environ else {}
    address = url.replace("postgres://", f"postgresql+{driver}://")
    engine = create_engine(address, pool_pre_ping=True, connect_args=tls)
    orders = Sequence("orders")
    with engine.connect() as connection:
        show("Sequence", connection.scalar(orders))
        show("next_value", connection.scalar(select(orders.next_value())))
        show("func", connection.scalar(select(func.nextval("orders"))))
        show("many", list(connection.scalars(text("SELECT nextval('orders') FROM generate_series(1, :n)"), {"n": 5})))
        connection.rollback()
        show("after rollback", connection.scalar(orders))
        with connection.begin_nested():
            show("savepoint", connection.scalar(orders))
        connection.commit()
        try:
            connection.scalar(Sequence("missing"))
        except DBAPIError as caught:
            show("missing", getattr(caught.orig, "pgcode", None) or getattr(caught.orig, "sqlstate", None))
        connection.rollback()
    inspector = inspect(engine)
    show("get_sequence_names", sorted(inspector.get_sequence_names()))
    show("has_sequence", [inspector.has_sequence("orders"), inspector.has_sequence("missing")])
    show("get_table_names", inspector.get_table_names())
    show("has_table", inspector.has_table("orders"))
    show("get_view_names", inspector.get_view_names())
    with engine.connect() as connection:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        created = Sequence("created", start=5, increment=10)
        connection.execute(CreateSequence(created, if_not_exists=True))
        connection.execute(CreateSequence(created, if_not_exists=True))
        show("created", [connection.scalar(created) for _ in range(2)])
        connection.execute(DropSequence(created, if_exists=True))
        created.create(connection)
        created.drop(connection)
    engine.dispose()


def unverified():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def sqlalchemy_asyncpg(url):
    from sqlalchemy import Sequence, inspect, select
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(url.replace("postgres://", "postgresql+asyncpg://"))
    draw = select(Sequence("orders").next_value())
    async with engine.connect() as connection:
        show("Sequence", await connection.scalar(draw))
        show("repeated", [await connection.scalar(draw) for _ in range(7)])
        await connection.rollback()
        show("after rollback", await connection.scalar(draw))
        names = await connection.run_sync(lambda sync: inspect(sync).get_sequence_names())
        show("get_sequence_names", sorted(names))
        known = await connection.run_sync(lambda sync: [inspect(sync).has_sequence(name) for name in ("orders", "missing")])
        show("has_sequence", known)
    await engine.dispose()


def django(url):
    from django.conf import settings

    parts = urlsplit(url)
    settings.configure(
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": parts.path[1:],
                "USER": parts.username,
                "PASSWORD": parts.password,
                "HOST": parts.hostname,
                "PORT": parts.port,
                "CONN_HEALTH_CHECKS": True,
                "CONN_MAX_AGE": 60,
            }
        }
    )
    import django as package

    package.setup()
    from django.db import DatabaseError, connection, transaction

    def one(sql, *values):
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchone()[0]

    show("nextval", one("SELECT nextval('orders')"))
    show("parameter", one("SELECT nextval(%s)", "orders"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('orders') FROM generate_series(1, %s)", [5])
        show("many", [row[0] for row in cursor.fetchall()])
    try:
        with transaction.atomic():
            one("SELECT nextval('orders')")
            raise ValueError("rolled back")
    except ValueError:
        show("after rollback", one("SELECT nextval('orders')"))
    with transaction.atomic():
        try:
            with transaction.atomic():
                one("SELECT nextval('missing')")
        except DatabaseError as caught:
            show("missing", caught.__cause__.sqlstate)
        show("after savepoint", one("SELECT nextval('orders')"))
    connection.close_if_unusable_or_obsolete()
    connection.health_check_done = False
    show("after health check", one("SELECT nextval('orders')"))
    show("server version", connection.pg_version >= 140000)
    with connection.cursor() as cursor:
        show("table_names", connection.introspection.table_names(cursor))


framework, url = sys.argv[1:]
if framework == "django":
    django(url)
elif framework == "sqlalchemy-asyncpg":
    asyncio.run(sqlalchemy_asyncpg(url))
else:
    sqlalchemy(url, framework.split("-")[1])
