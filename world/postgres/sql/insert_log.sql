-- Commits, one row each. A number that is taken fails: index log_run.
INSERT INTO {schema}.log (run, seq, n, format, head, body, sum)
SELECT a.run, a.seq, a.n, $4::smallint, a.head, a.body, a.sum
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $5::text[], $6::bytea[], $7::integer[]) a(run, seq, n, head, body, sum)
