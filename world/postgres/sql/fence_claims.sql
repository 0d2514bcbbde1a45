-- Waits for a claim of a worker that is about to be committed; none up to a number ($3) is from here on. No row where
-- the worker is not alive. By key.
UPDATE {schema}.lanes SET taken = greatest(taken, $3::bigint) WHERE worker = $1::bigint AND lane = $2::smallint AND alive RETURNING taken
