-- Deletes messages, or those of them that are dead, locked in order.
DELETE FROM {schema}.messages WHERE key IN (SELECT m.key FROM {schema}.messages m WHERE m.key = ANY($1::bigint[]) AND (m.dead OR NOT $2::boolean) ORDER BY m.key FOR UPDATE)
