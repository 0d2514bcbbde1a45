-- Sums up the changes of totals, at most 100,000 at once; those that another process is summing up are left to it.
WITH gone AS (
  DELETE FROM {schema}.totals
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM {schema}.totals LIMIT 100000 FOR UPDATE SKIP LOCKED))
  RETURNING workflow, status, n)
INSERT INTO {schema}.totals (workflow, status, n)
SELECT workflow, status, greatest(least(sum(n), 9223372036854775807), -9223372036854775808) FROM gone GROUP BY workflow, status HAVING sum(n) <> 0
