-- The runs by workflow and status: a handful of rows for each workflow.
SELECT workflow, status, n FROM totals
