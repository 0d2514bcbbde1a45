-- Mail that has waited for over a minute though its run is neither paused nor blocked, of the 10,000 oldest rows: how many, since when, for whom.
-- Indexes inbox_pkey, queue_pkey.
SELECT count(*), min(i.arrived_at), coalesce(min((SELECT r.id FROM {schema}.runs r WHERE r.key = i.run)), '')
FROM (SELECT run, arrived_at FROM {schema}.inbox ORDER BY "row" LIMIT 10000) i JOIN {schema}.queue q ON q.run = i.run
WHERE i.arrived_at < clock_timestamp() - interval '1 minute' AND q.running AND NOT q.paused AND q.blocked IS NULL
