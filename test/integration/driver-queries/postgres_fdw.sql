---- []
SELECT pg_catalog.pg_relation_size('pg_catalog.pg_sequences'::pg_catalog.regclass) / 8192
---- []
SELECT pg_catalog.pg_relation_size('public.order_id'::pg_catalog.regclass) / 8192
