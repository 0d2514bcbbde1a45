-- What is held or released, with runs that are not moved: a few. For how long it is left to who is at it, which is $1
-- since somebody last went on with it, µs; below 0: no longer.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT h.workflow, greatest($1::bigint - (extract(epoch FROM c.now - greatest(least(h.changed_at, c.now), c.now - interval '1 day')) * 1000000)::bigint, -1)
FROM {schema}.holds h CROSS JOIN clock c WHERE h.state <> 1 ORDER BY h.workflow
