-- How many transactions ago the database was frozen last; at 2 billion it stops.
SELECT age(datfrozenxid)::bigint FROM pg_catalog.pg_database WHERE datname = current_database()
