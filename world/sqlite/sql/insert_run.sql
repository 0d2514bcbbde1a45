-- A run is born. A taken ID or idempotency key inserts nothing: indexes runs_id, runs_idem.
INSERT INTO runs (key, id, workflow, version, idem, priority, parent_run, parent_step, detached, created_us, retention_ns, attributes, sealed, origin_run, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT DO NOTHING
