-- The same of those that are not over, of one workflow or all: what has ended is not looked at. By key of the queue.
SELECT {run}
FROM queue q CROSS JOIN runs r ON r.key = q.run LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE q.run < ?1 AND q.run > ?2 AND q.running IN (?3, ?4)
  AND (?5 IS NULL OR q.class IN (SELECT key FROM classes WHERE workflow = ?5))
  AND (?6 IS NULL OR r.created_us >= ?6) AND (?7 IS NULL OR r.created_us <= ?7)
  AND (?8 IS NULL OR r.parent_run IS NULL) AND (?9 IS NULL OR coalesce(c.version, r.version) = ?9)
ORDER BY q.run DESC
