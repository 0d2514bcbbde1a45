-- The steps that wait for the end of a run, of runs that are not over.
SELECT a.waiter, a.step, r.id FROM awaits a CROSS JOIN queue q ON q.run = a.waiter CROSS JOIN runs r ON r.key = a.waiter WHERE a.target = ?1
