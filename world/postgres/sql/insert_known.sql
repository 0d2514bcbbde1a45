-- What births brought is known when it comes again, with the idempotency keys of starts that were merged. Primary key,
-- index delivered_idem.
INSERT INTO {schema}.delivered (run, key, print, sender, marked, workflow, idem)
SELECT k.run, k.key, k.print, k.sender, k.marked, k.workflow, k.idem
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::text[], $5::boolean[], $6::text[], $7::text[]) k(run, key, print, sender, marked, workflow, idem)
ON CONFLICT (run, key) DO NOTHING
