-- What came to a run too late, in order of arrival. Index delivered_late.
SELECT d.late FROM runs r CROSS JOIN delivered d INDEXED BY delivered_late ON d.run = r.key WHERE r.ns = 0 AND r.id = ?1 AND d.late IS NOT NULL ORDER BY d.at_us LIMIT ?2
