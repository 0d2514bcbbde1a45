-- What births brought is known when it comes again. Primary key.
INSERT INTO {schema}.delivered (run, key, print, sender, marked)
SELECT k.run, k.key, k.print, k.sender, k.marked FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::text[], $5::boolean[]) k(run, key, print, sender, marked)
ON CONFLICT DO NOTHING
