-- Runs are created. A taken ID or idempotency key fails: indexes runs_id, runs_idem. So does, by a division by zero, what a worker begins with it where the
-- workflow is held.
INSERT INTO {schema}.runs ({birth})
SELECT {birth} FROM unnest({arrays}, {begins}::boolean[]) b({birth}, begins)
WHERE NOT b.begins OR 1 / (NOT EXISTS (SELECT FROM {schema}.holds h WHERE h.workflow = b.workflow AND h.state < 2))::integer = 1
