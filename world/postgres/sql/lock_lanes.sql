-- The fence, and the last statement: fails by a division by zero unless all workers of the group are alive. By key.
SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM (
  SELECT 1 FROM {schema}.lanes WHERE worker = ANY($1::bigint[]) AND lane = $2::smallint AND alive ORDER BY worker FOR UPDATE) alive
