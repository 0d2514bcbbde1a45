-- A key of a rate that refuses, for a start: how it stands, by the database's clock. Its row is locked. By key.
WITH k AS (INSERT INTO {schema}.limit_keys AS k (key, used) VALUES ($1, 0) ON CONFLICT (key) DO UPDATE SET used = k.used RETURNING k.turn_ns)
SELECT coalesce(k.turn_ns, 0), coalesce(l.number, l.said), l.per_ns, coalesce(l.burst, 0), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000
FROM k JOIN {schema}.limits l ON l.name = split_part($1, '/', 1) WHERE l.per_ns IS NOT NULL
