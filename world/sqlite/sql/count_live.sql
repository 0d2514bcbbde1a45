-- The runs that are not over, by workflow. One look at all of the queue.
SELECT c.workflow, q.running, count(*), sum(q.blocked IS NOT NULL), sum(q.paused) FROM queue q CROSS JOIN classes c ON c.key = q.class
GROUP BY c.workflow, q.running
