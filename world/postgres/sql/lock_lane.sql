-- The fence, and the last lock of a transaction: no row where the worker is not alive. By key.
SELECT 1 FROM {schema}.lanes WHERE worker = $1::bigint AND lane = $2::smallint AND alive FOR UPDATE
