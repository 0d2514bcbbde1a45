-- Makes dead letters messages that were never received, locked in order.
UPDATE {schema}.messages SET dead = false, receives = 0, visible_at = clock_timestamp()
WHERE key IN (SELECT m.key FROM {schema}.messages m WHERE m.key = ANY($1::bigint[]) AND m.dead ORDER BY m.key FOR UPDATE)
