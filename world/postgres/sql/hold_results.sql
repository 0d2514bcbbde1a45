-- Those who wait for runs that are over hold the values that their results name. Primary keys of awaits, queue and runs.
INSERT INTO {schema}.apart (run, value, key)
SELECT DISTINCT r.id, n.value, (SELECT max(h.key) FROM {schema}.apart h WHERE h.value = n.value) FROM unnest($1::bigint[], $2::text[]) n(run, value)
  JOIN {schema}.awaits a ON a.target = n.run JOIN {schema}.queue q ON q.run = a.waiter JOIN {schema}.runs r ON r.key = a.waiter
ORDER BY 1, 2
ON CONFLICT (run, value) DO NOTHING
