-- The 10,000 oldest deliveries. Indexes inbox_pkey, runs_pkey.
SELECT i."row", i.run, r.id, r.created_at, i.delivery, i.arrived_at, i.format, i.head, i.body, i.sum
FROM (SELECT * FROM {schema}.inbox ORDER BY "row" LIMIT 10000) i JOIN {schema}.runs r ON r.key = i.run
