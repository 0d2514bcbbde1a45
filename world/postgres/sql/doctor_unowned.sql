-- Runs whose owner is not among the workers: nobody would give them back. Index queue_owner.
SELECT count(*), coalesce(min((SELECT r.id FROM {schema}.runs r WHERE r.key = q.run)), '')
FROM {schema}.queue q WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = q.owner)
