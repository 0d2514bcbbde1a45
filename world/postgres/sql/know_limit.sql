-- A limit that a run needs, as the first start under it says.
INSERT INTO {schema}.limits (name, said, until_end, per_ns, burst, refuse, runs, steps, messages)
VALUES ($1, $2, $3, nullif($4::bigint, 0), nullif($5::integer, 0), nullif($6::boolean, false), $7, $8, $9) ON CONFLICT DO NOTHING
