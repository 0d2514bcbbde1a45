-- The same of those with some keys. By key.
SELECT {run}
FROM (SELECT value AS key FROM json_each(?3) ORDER BY value DESC) k CROSS JOIN runs r ON r.key = k.key
LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE k.key < ?1 AND k.key > ?2
ORDER BY k.key DESC
