-- Whether the schema has a table of versions.
SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'versions')
