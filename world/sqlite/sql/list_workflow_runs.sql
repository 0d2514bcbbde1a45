-- The same of one workflow. Index runs_workflow.
SELECT r.key, r.id, r.workflow, r.version, r.status, r.idem, r.priority, r.parent_run, r.parent_step, r.detached, r.created_us, r.ended_us,
       r.retention_ns, r.output, r.error, r.attributes, r.takes, q.class, q.running, q.take, q.wake_us, q.paused, q.blocked, q.full, q.waiting,
       w.id, w.name
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN workers w ON w.key = q.owner
WHERE r.workflow = ?2 AND r.key < ?1
ORDER BY r.key DESC
