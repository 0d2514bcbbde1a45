-- Runs are born. A taken ID or idempotency key fails: indexes runs_id, runs_idem.
INSERT INTO {schema}.runs ({born})
SELECT * FROM unnest({arrays})
