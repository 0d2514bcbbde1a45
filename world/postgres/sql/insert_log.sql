-- Commits, one row each. A number that is taken fails: index log_run.
INSERT INTO {schema}.log (run, seq, n, format, head, body)
SELECT a.run, a.seq, a.n, $4::smallint, a.head, a.body
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $5::text[], $6::bytea[]) a(run, seq, n, head, body)
