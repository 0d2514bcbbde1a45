-- A run is created, where neither its ID nor its idempotency key is taken: indexes runs_id, runs_idem, and
-- delivered_idem of starts that were merged, in the function merged. Waits for a stranger who is about to take one. What
-- a worker begins with it ({begins}) fails by a division by zero where the workflow is held.
INSERT INTO {schema}.runs ({birth}) SELECT {values}
WHERE ($5::text IS NULL OR {schema}.merged($3::text, $5::text) IS NULL) AND (NOT {begins}::boolean OR 1 / (NOT EXISTS (SELECT FROM {schema}.holds h WHERE h.workflow = $3::text AND h.state < 2))::integer = 1)
ON CONFLICT DO NOTHING
