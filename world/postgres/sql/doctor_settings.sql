-- Settings of the server that matter, its version, and how many of its connections are in use.
SELECT name, setting FROM pg_catalog.pg_settings
WHERE name IN ('server_version', 'fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'max_connections', 'transaction_timeout')
UNION ALL SELECT 'connections', count(*)::text FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'
