"""Runs what ORMs have of the steps: orms.py django|sqlalchemy. Reads steps as JSON, prints a line of JSON for each."""

import json
import os
import sys

HOST, PORT = os.environ["DB_HOST"], os.environ["DB_PORT"]
USER, PASSWORD, NAME = os.environ["DB_USER"], os.environ["DB_PASSWORD"], os.environ["DB_NAME"]


class Stop(Exception):
    """Ends a transaction that is to be rolled back."""


class Django:
    def __init__(self):
        import django
        import pymysql
        from django.conf import settings

        # Django asks for a version of mysqlclient that PyMySQL stands in for.
        pymysql.version_info = (2, 2, 7, "final", 0)
        pymysql.install_as_MySQLdb()
        address = {"HOST": HOST, "PORT": PORT, "USER": USER, "PASSWORD": PASSWORD, "NAME": NAME}
        database = {"ENGINE": "django.db.backends.mysql", **address}
        settings.configure(DATABASES={"default": database}, USE_TZ=True)
        django.setup()
        from django.db import models, transaction

        class Order(models.Model):
            id = models.BigAutoField(primary_key=True)
            customer = models.CharField(max_length=60, unique=True)
            amount = models.IntegerField()

            class Meta:
                app_label = "shop"
                db_table = "orders"

        self.orders = Order.objects
        self.transaction = transaction

    def insert(self, row):
        return self.orders.create(**row).pk

    def insert_all(self, rows):
        return [each.pk for each in self.orders.bulk_create([self.orders.model(**row) for row in rows])]

    def in_transaction(self, rows, stops):
        with self.transaction.atomic():
            ids = [self.insert(row) for row in rows]
            if stops:
                raise Stop()
        return ids

    def upsert(self, row):
        return self.orders.update_or_create(customer=row["customer"], defaults=row)[0].pk


class SqlAlchemy:
    def __init__(self):
        from sqlalchemy import BigInteger, String, create_engine
        from sqlalchemy.dialects.mysql import insert
        from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

        class Base(DeclarativeBase):
            pass

        class Order(Base):
            __tablename__ = "orders"
            id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
            customer: Mapped[str] = mapped_column(String(60), unique=True)
            amount: Mapped[int]

        scheme = "mysql+pymysql" if sys.argv[1] == "sqlalchemy-mysql" else "mariadb+pymysql"
        self.engine = create_engine(f"{scheme}://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}")
        self.model, self.Session, self.upserting = Order, Session, insert

    def insert(self, row):
        return self.insert_all([row])[0]

    def insert_all(self, rows):
        return self.in_transaction(rows, False)

    def in_transaction(self, rows, stops):
        with self.Session(self.engine) as session:
            made = [self.model(**row) for row in rows]
            session.add_all(made)
            session.flush()
            ids = [each.id for each in made]
            if stops:
                raise Stop()
            session.commit()
            return ids

    def upsert(self, row):
        statement = self.upserting(self.model).values(**row)
        statement = statement.on_duplicate_key_update(amount=statement.inserted.amount)
        with self.engine.begin() as connection:
            return connection.execute(statement).lastrowid


def perform(orders, step):
    name = step["name"]
    report = {"name": name, "affected": [], "ids": []}
    amounts = [5 if name.startswith("dup") else at + 1 for at in range(len(step["customers"]))]
    rows = [{"customer": customer, "amount": amount} for customer, amount in zip(step["customers"], amounts)]
    row = rows[0]
    try:
        if name in ("single", "after"):
            ids = [orders.insert(row)]
        elif name == "multi":
            ids = orders.insert_all(rows)
        elif name == "commit":
            ids = orders.in_transaction(rows, False)
        elif name == "rollback":
            try:
                ids = orders.in_transaction(rows, True)
            except Stop:
                ids = []
        elif name == "explicit":
            ids = [orders.insert({**row, "id": 7001})]
        elif name == "duplicate":
            orders.insert({**row, "id": 8011, "amount": 1})
            ids = [orders.upsert(row)]
        elif name == "duplicate-new":
            ids = [orders.upsert(row)]
        elif name == "clash":
            orders.insert({**row, "id": 8007, "amount": 1})
            ids = [orders.insert(row)]
        else:
            return {**report, "absent": True}
    except Exception as error:
        return {**report, "error": type(error).__name__}
    return {**report, "ids": [None if id is None else str(id) for id in ids]}


def main():
    orders = Django() if sys.argv[1] == "django" else SqlAlchemy()
    for step in json.load(sys.stdin):
        print(json.dumps(perform(orders, step)), flush=True)


main()
