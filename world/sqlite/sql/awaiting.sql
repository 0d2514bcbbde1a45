-- The steps that wait for the end of a run, those of runs that are over among them.
SELECT a.waiter, a.step, coalesce(r.id, '') FROM awaits a LEFT JOIN runs r ON r.key = a.waiter WHERE a.target = ?1
