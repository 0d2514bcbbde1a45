-- The same of those that were made of one, of one workflow or all. Index runs_origin.
SELECT {run}
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE r.origin_run = ?9 AND r.key < ?1 AND r.key > ?2 AND (?10 IS NULL OR r.workflow = ?10)
  AND (?6 IS NULL OR r.status IN (?3, ?4, ?5) OR r.status IS NULL AND ?6)
  AND (?7 IS NULL OR r.created_us >= ?7) AND (?8 IS NULL OR r.created_us <= ?8)
ORDER BY r.key DESC
