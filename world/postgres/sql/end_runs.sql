-- The outcome of runs. By key.
UPDATE {schema}.runs r SET status = a.status, version = a.version, output = a.output, error = a.error, output_apart = a.apart, ended_at = a.ended,
  sweep_at = CASE WHEN r.retention_ns > 0 THEN a.ended + (r.retention_ns / 1000) * interval '1 microsecond' END, takes = a.takes, end_sum = a.sum
FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::bytea[], $5::text[], $6::timestamptz[], $7::bigint[], $8::integer[], $9::text[])
  a(run, status, version, output, error, ended, takes, sum, apart)
WHERE r.key = a.run
