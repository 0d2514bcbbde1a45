-- A new segment awaits nothing yet; the children of the ones before are its children still. Index awaits_waiter.
DELETE FROM awaits WHERE waiter = ?1 AND NOT EXISTS (SELECT 1 FROM runs WHERE key = awaits.target AND parent_run = ?2)
