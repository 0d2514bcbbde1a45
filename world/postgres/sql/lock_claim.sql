-- The fence of a claim, and its last statement: fails by a division by zero unless the worker is alive and no later claim
-- ($3: its number) was made or asked for. By key.
SELECT 1 / count(*) FROM (
  SELECT 1 FROM {schema}.lanes WHERE worker = $1::bigint AND lane = $2::smallint AND alive AND taken < $3::bigint FOR UPDATE) alive
