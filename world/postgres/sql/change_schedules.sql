-- Changes schedules, in the order of their names, and fails by a division by zero unless each is as it was when it was read. By name.
WITH a AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::timestamptz[], $6::text[], $7::bigint[]) a(name, said, sum, code, due_at, of_set, change)),
locked AS MATERIALIZED (
  SELECT s.name FROM a JOIN {schema}.schedules s ON s.name = a.name AND s.change = a.change ORDER BY s.name FOR UPDATE OF s),
changed AS (
  UPDATE {schema}.schedules s SET said = a.said, sum = a.sum, change = s.change + 1, code = a.code, due_at = a.due_at, of_set = a.of_set
  FROM a JOIN locked ON locked.name = a.name WHERE s.name = a.name AND s.change = a.change
  RETURNING 1)
SELECT 1 / (count(*) = cardinality($1::text[]))::integer FROM changed
