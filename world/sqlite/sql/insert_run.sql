-- A run is created. A taken ID or idempotency key inserts nothing: indexes runs_id, runs_idem.
INSERT INTO runs ({birth}) VALUES ({values})
ON CONFLICT DO NOTHING
