\set n random(1, 1)
SELECT nextval('orders');
SELECT nextval('orders') FROM generate_series(1, :n);
SELECT nextval('orders') AS id \gset
BEGIN;
SELECT nextval('orders') WHERE :id > 0;
COMMIT;
