-- Waits that have looked back. Index listens_pkey.
UPDATE {schema}.listens l SET back = NULL, match = NULL FROM unnest($1::bigint[], $2::text[]) a(run, wait) WHERE l.run = a.run AND l.wait = a.wait
