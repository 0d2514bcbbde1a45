-- The runs by workflow and status, and of how many changes each number is the sum. All of a small table, on purpose.
SELECT workflow, status, greatest(least(sum(n), 9223372036854775807), -9223372036854775808)::bigint, count(*) FROM {schema}.totals GROUP BY workflow, status
