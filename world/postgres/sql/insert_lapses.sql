-- Runs are to begin by times.
INSERT INTO {schema}.lapses (due_at, run, ttl) SELECT * FROM unnest($1::timestamptz[], $2::bigint[], $3::bigint[])
