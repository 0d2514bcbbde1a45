-- A run is created, where neither its ID nor its idempotency key is taken: indexes runs_id, runs_idem. Waits for a stranger who is about to take one.
INSERT INTO {schema}.runs ({birth}) VALUES ({values})
ON CONFLICT DO NOTHING
