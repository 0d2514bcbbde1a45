-- The counts of runs are about to be made anew.
DELETE FROM totals
