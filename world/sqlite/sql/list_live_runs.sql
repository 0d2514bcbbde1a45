-- The same of those that are not over, of one workflow or all: what has ended is not looked at. By key of the queue.
SELECT r.key, r.id, r.workflow, r.version, r.status, r.idem, r.priority, r.parent_run, r.parent_step, r.detached, r.created_us, r.ended_us,
       r.retention_ns, r.output, r.error, r.attributes, r.takes, c.version, q.running, q.take, q.wake_us, q.paused OR q.resumed, q.blocked, q.full, q.waiting,
       w.id, w.name, (SELECT count(*) FROM inbox i WHERE i.run = q.run), l.format, l.head, l.body,
       r.sealed, r.origin_run, r.sum, r.end_sum, l.sum
FROM queue q CROSS JOIN runs r ON r.key = q.run LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE q.run < ?1 AND q.run > ?2 AND q.running IN (?3, ?4)
  AND (?5 IS NULL OR q.class IN (SELECT key FROM classes WHERE workflow = ?5))
  AND (?6 IS NULL OR r.created_us >= ?6) AND (?7 IS NULL OR r.created_us <= ?7)
ORDER BY q.run DESC
