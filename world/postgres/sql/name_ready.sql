-- The IDs of runs ($1), and of the runs of tasks ($2). By key.
SELECT 0::smallint, r.key, r.id, NULL::text, NULL::text FROM {schema}.runs r WHERE r.key = ANY($1::bigint[])
UNION ALL
SELECT 1, t.key, r.id, t.step, t.name FROM {schema}.tasks t JOIN {schema}.runs r ON r.key = t.run WHERE t.key = ANY($2::bigint[])
