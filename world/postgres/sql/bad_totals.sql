-- Whether the counts of runs cannot be right: fewer than none, more than there ever were, or of what no run is counted as. All of a small table, on purpose.
SELECT EXISTS (
  SELECT FROM {schema}.totals GROUP BY workflow, status
  HAVING sum(n) < 0 OR sum(n) > (SELECT coalesce(max(key), 0) FROM {schema}.runs) OR status <> ALL ('{pending,running,completed,failed,cancelled,paused,blocked}'))
