-- Which process of the server answers, how it isolates transactions that do not say, its time, and how many connections it lets this role have here: the least of its own
-- limit, the database's and the role's (the last two are not a superuser's).
SELECT pg_backend_pid(), current_setting('default_transaction_isolation'), clock_timestamp(), least(
  current_setting('max_connections')::integer,
  CASE WHEN r.rolsuper OR r.rolconnlimit < 0 THEN NULL ELSE r.rolconnlimit END,
  CASE WHEN r.rolsuper OR d.datconnlimit < 0 THEN NULL ELSE d.datconnlimit END)
FROM pg_catalog.pg_roles r, pg_catalog.pg_database d WHERE r.rolname = current_user AND d.datname = current_database()
