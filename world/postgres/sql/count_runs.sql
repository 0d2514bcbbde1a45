-- The runs by workflow and status, and of how many changes each number is the sum. All of a small table, on purpose.
SELECT workflow, status, sum(n)::bigint, count(*) FROM {schema}.totals GROUP BY workflow, status
