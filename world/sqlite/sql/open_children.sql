-- The attached children of a run that are not over. Index awaits_waiter.
SELECT r.id FROM awaits a CROSS JOIN queue q ON q.run = a.target CROSS JOIN runs r ON r.key = a.target
WHERE a.waiter = ?1 AND r.parent_run = ?2 AND NOT r.detached
