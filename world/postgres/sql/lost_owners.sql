-- Owners of runs and holders of tasks that are not among the workers: nobody would bury them. Indexes queue_owner, tasks_held.
SELECT q.owner FROM {schema}.queue q WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = q.owner)
UNION SELECT t.worker FROM {schema}.tasks t WHERE t.worker IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = t.worker)
LIMIT 1000
