-- Whether fewer runs are not over than there are of a workflow: a handful of rows for each workflow.
SELECT total(CASE WHEN status IN ('pending', 'running') THEN n END) < total(CASE WHEN workflow = ?1 AND status NOT IN ('paused', 'blocked') THEN n END)
FROM totals
