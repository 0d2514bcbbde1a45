-- A worker is alive. By key; no indexed column changes.
UPDATE {schema}.workers SET until = clock_timestamp() + (lease_ns / 1000) * interval '1 microsecond', skew_ns = $2
WHERE key = $1 AND ended IS NULL RETURNING clock_timestamp(), until
