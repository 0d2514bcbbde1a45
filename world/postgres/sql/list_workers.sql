-- All workers that were not found dead, with what they hold. Indexes queue_owner, tasks_held.
SELECT w.id, w.name, w.build, w.classes, w.steps, w.lease_ns, w.joined_at, w.until,
       (SELECT count(*) FROM {schema}.queue WHERE owner = w.key), (SELECT count(*) FROM {schema}.tasks WHERE worker = w.key)
FROM {schema}.workers w WHERE w.ended IS NULL ORDER BY w.id
