-- What came to a run too late. Index delivered_late.
SELECT d.late FROM runs r CROSS JOIN delivered d INDEXED BY delivered_late ON d.run = r.key WHERE r.ns = 0 AND r.id = ?1 AND d.late IS NOT NULL LIMIT ?2
