-- A run is born, where neither its ID nor its idempotency key is taken: indexes runs_id, runs_idem. Waits for a stranger who is about to take one.
INSERT INTO {schema}.runs (key, id, workflow, version, idem, priority, parent_run, parent_step, detached, created_at, retention_ns, attributes, sealed,
  origin_run, sum)
VALUES ($1::bigint, $2::text, $3::text, $4::integer, $5::text, $6::smallint, $7::text, $8::text, $9::boolean, $10::timestamptz, $11::bigint, $12::text, $13::text,
  $14::text, $15::integer)
ON CONFLICT DO NOTHING
