-- The same of those with an attribute, of one workflow or all. By the key of the attributes.
SELECT {run}
FROM attributes a CROSS JOIN runs r ON r.key = a.run LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class
LEFT JOIN workers w ON w.key = q.owner LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE a.name = ?9 AND a.value = ?10 AND a.run < ?1 AND a.run > ?2 AND (?11 IS NULL OR r.workflow = ?11)
  AND (?6 IS NULL OR r.status IN (?3, ?4, ?5) OR r.status IS NULL AND ?6)
  AND (?7 IS NULL OR r.created_us >= ?7) AND (?8 IS NULL OR r.created_us <= ?8)
ORDER BY a.run DESC
