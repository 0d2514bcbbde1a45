-- The oldest transaction that has sent with a delivery ID and is still open. View pg_locks.
SELECT l.pid, coalesce(a.application_name, ''), coalesce(to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'some time ago')
FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database() LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objsubid = 2 AND l.granted AND l.mode = 'ShareLock' ORDER BY a.xact_start LIMIT 1
