-- The runs of a worker. Index queue_owner.
SELECT q.run, r.id FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.owner = ?1
