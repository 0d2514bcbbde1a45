-- A run is born. A taken ID or idempotency key inserts nothing: indexes runs_id, runs_idem.
INSERT INTO runs ({born}) VALUES ({values})
ON CONFLICT DO NOTHING
