-- One run with its input and its place in the queue. Index runs_id.
SELECT {run}
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE r.ns = 0 AND r.id = ?1
