-- Steps of parents that wait for their children; a parent that is unknown waits for nothing. Index runs_id.
INSERT INTO {schema}.awaits (target, waiter, step)
SELECT a.child, r.key, a.step FROM unnest($1::bigint[], $2::text[], $3::text[]) a(child, parent, step)
JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.parent
ON CONFLICT DO NOTHING
