-- Those that are over. Index listens_pkey.
DELETE FROM {schema}.listens l USING unnest($1::bigint[], $2::text[]) a(run, wait) WHERE l.run = a.run AND l.wait = a.wait
