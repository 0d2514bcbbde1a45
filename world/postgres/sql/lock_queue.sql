-- Locks queue rows in the order of their runs, and fails by a division by zero unless each shows the owner and the claim that are named. By key.
SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM (
  SELECT 1 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) a(run, owner, take)
  JOIN {schema}.queue q ON q.run = a.run AND q.owner = a.owner AND q.take = a.take
  ORDER BY q.run FOR UPDATE OF q) locked
