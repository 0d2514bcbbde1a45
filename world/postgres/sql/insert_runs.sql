-- Runs are created. A taken ID or idempotency key fails: indexes runs_id, runs_idem.
INSERT INTO {schema}.runs ({birth})
SELECT * FROM unnest({arrays})
