-- Waits that listen to what is published.
INSERT INTO {schema}.listens (run, wait, shape, hash, back, match)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::text[])
