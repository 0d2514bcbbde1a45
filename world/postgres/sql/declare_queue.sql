-- Makes a queue, or says anew what holds for it; $4 null: its limits stay. One that never had any has none.
INSERT INTO {schema}.queues AS q (name, visibility_ns, max_receives, limits) VALUES ($1, $2, $3, nullif($4, '[]'))
ON CONFLICT (name) DO UPDATE SET visibility_ns = $2, max_receives = $3, limits = CASE WHEN $4 = '[]' AND q.limits IS NULL THEN NULL ELSE coalesce($4, q.limits) END
