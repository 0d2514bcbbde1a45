-- Runs are born. A taken ID or idempotency key fails: indexes runs_id, runs_idem.
INSERT INTO {schema}.runs (key, id, workflow, version, idem, priority, parent_run, parent_step, detached, created_at, retention_ns, attributes, sealed,
  origin_run, sum)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::smallint[], $7::text[], $8::text[], $9::boolean[],
  $10::timestamptz[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::integer[])
