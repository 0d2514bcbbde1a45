-- Whom a backend waits for. What this role may not see of them is not told.
SELECT coalesce(string_agg(format('backend %s (%s), %s since %s', a.pid, coalesce(nullif(a.application_name, ''), 'no name'),
  coalesce(a.state, 'in a transaction'), coalesce(to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), 'an unknown time')), '; ' ORDER BY a.pid), '')
FROM pg_catalog.pg_stat_activity a WHERE a.pid = ANY(pg_blocking_pids($1::integer))
