-- The groups of messages. It locks nothing; the group of a message never changes.
SELECT DISTINCT m.queue, m.grp FROM {schema}.messages m WHERE m.key = ANY($1::bigint[]) AND m.grp IS NOT NULL ORDER BY m.queue, m.grp
