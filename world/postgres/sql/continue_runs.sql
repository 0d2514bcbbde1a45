-- Runs go on in new segments. By key.
UPDATE {schema}.runs r SET segment = a.seq, trim = greatest(r.trim, a.trim)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) a(run, seq, trim) WHERE r.key = a.run
