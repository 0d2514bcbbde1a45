-- Ends the transactions for which burials ($1: their statements) wait, and which themselves wait for their clients for longer than that.
SELECT pg_terminate_backend(b.pid)
FROM pg_stat_activity a CROSS JOIN LATERAL unnest(pg_blocking_pids(a.pid)) u(pid) JOIN pg_stat_activity b ON b.pid = u.pid
WHERE a.datname = current_database() AND a.wait_event_type = 'Lock' AND left(a.query, 500) IN (SELECT left(s, 500) FROM unnest($1::text[]) s)
  AND b.wait_event_type = 'Client' AND b.state_change < clock_timestamp() - $2::bigint * interval '1 microsecond'
