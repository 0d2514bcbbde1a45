-- A run waits for nothing any more. Index awaits_waiter.
DELETE FROM awaits WHERE waiter = ?1
