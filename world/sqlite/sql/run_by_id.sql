-- What the writer needs to know of a run, by its ID; queue columns are null when it is over. Index runs_id.
SELECT r.key, r.created_us, r.workflow, r.retention_ns, q.class, q.running, q.priority, q.owner, q.take, q.paused OR q.resumed,
       q.mail_us, q.cancel, q.wake_us, q.blocked IS NOT NULL, r.takes, q.full, r.sealed,
       r.priority, r.parent_run, r.parent_step, r.detached, r.origin_run, r.sum,
       q.places, q.keeps, q.has, q.parked_us, q.rates
FROM runs r LEFT JOIN queue q ON q.run = r.key
WHERE r.ns = 0 AND r.id = ?1
