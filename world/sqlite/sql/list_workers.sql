-- All workers, with what they hold. Indexes queue_owner, tasks_held.
SELECT w.key, w.id, w.name, w.build, w.classes, w.steps, w.lease_ns, w.joined_us, w.until_us,
       (SELECT count(*) FROM queue WHERE owner = w.key), (SELECT count(*) FROM tasks WHERE worker = w.key), w.remote
FROM workers w ORDER BY w.key
