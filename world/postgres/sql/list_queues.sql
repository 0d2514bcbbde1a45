-- Queues by name; null: all.
SELECT key, name, visibility_ns, max_receives, paused, limits FROM {schema}.queues WHERE $1::text[] IS NULL OR name = ANY($1) ORDER BY name
