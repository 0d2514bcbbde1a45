-- Whether the counts of runs cannot be right: no number, fewer than none, more than there ever were, or of what no run is counted as. All of a small table,
-- on purpose.
SELECT EXISTS (SELECT 1 FROM totals WHERE typeof(n) <> 'integer' OR n < 0 OR n > (SELECT coalesce(max(key), 0) FROM runs)
  OR status NOT IN ('pending', 'running', 'completed', 'failed', 'cancelled', 'paused', 'blocked'))
