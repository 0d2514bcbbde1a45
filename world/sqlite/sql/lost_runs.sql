-- Runs whose owner is not among the workers get one that nobody is, to be buried. Index queue_owner.
UPDATE queue SET owner = -1 WHERE owner IS NOT NULL AND owner NOT IN (SELECT key FROM workers)
