-- The runs that are over and kept, by workflow and status.
SELECT workflow, status, n FROM totals
