-- Nothing that a worker which is gone still has under way commits from here on; waits for what is about to. By key.
UPDATE {schema}.lanes SET alive = false
WHERE worker = $1 AND alive AND EXISTS (SELECT 1 FROM {schema}.workers WHERE key = $1 AND ended IS NOT NULL)
