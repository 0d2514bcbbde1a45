-- What keeps dead rows from being removed, oldest first: transactions, also prepared ones, and replication slots. Times are null where this role
-- may not see them.
SELECT kind, who, since, rows FROM (
  SELECT 'transaction' AS kind, format('backend %s of %s (%s, %s)', pid, usename, coalesce(nullif(application_name, ''), 'no name'), state) AS who,
         xact_start AS since, greatest(age(backend_xmin), age(backend_xid))::bigint AS rows
  FROM pg_catalog.pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
  UNION ALL
  SELECT 'prepared transaction', format('%L of %s', gid, owner), prepared, age(transaction)::bigint
  FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()
  UNION ALL
  SELECT 'replication slot', slot_name::text, NULL, greatest(age(xmin), age(catalog_xmin))::bigint
  FROM pg_catalog.pg_replication_slots WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL) held
ORDER BY since NULLS LAST, rows DESC LIMIT 1
