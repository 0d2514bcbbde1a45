-- Runs that have come, and get no place yet. By key.
INSERT INTO {schema}.limit_line (key, urgency, place, run)
SELECT * FROM unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::bigint[]) ON CONFLICT DO NOTHING
