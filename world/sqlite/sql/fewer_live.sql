-- Whether fewer runs are not over than there are of a workflow: a handful of rows for each workflow.
SELECT coalesce(sum(CASE WHEN status IN ('pending', 'running') THEN n END), 0)
       < coalesce(sum(CASE WHEN workflow = ?1 AND status NOT IN ('paused', 'blocked') THEN n END), 0)
FROM totals
