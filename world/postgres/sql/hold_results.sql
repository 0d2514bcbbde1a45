-- Those who wait for runs that are over hold the values that these hold and their results name. Primary keys of awaits, queue and runs.
INSERT INTO {schema}.apart (run, value, key)
SELECT DISTINCT r.id, h.value, h.key FROM unnest($1::bigint[], $2::text[]) n(run, value)
  JOIN {schema}.runs t ON t.key = n.run JOIN {schema}.apart h ON h.run = t.id AND h.value = n.value
  JOIN {schema}.awaits a ON a.target = n.run JOIN {schema}.queue q ON q.run = a.waiter JOIN {schema}.runs r ON r.key = a.waiter
ORDER BY 1, 2
ON CONFLICT (run, value) DO NOTHING
