-- Nothing of a worker whose row is lost commits from here on; waits for what is about to. By key.
UPDATE {schema}.lanes SET alive = false WHERE worker = $1::bigint AND alive AND NOT EXISTS (SELECT 1 FROM {schema}.workers WHERE key = $1::bigint)
