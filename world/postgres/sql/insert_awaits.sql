-- Steps that wait for the end of runs.
INSERT INTO {schema}.awaits (target, waiter, step) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) ON CONFLICT DO NOTHING
