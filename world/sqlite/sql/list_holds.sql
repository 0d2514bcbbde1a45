-- The workflows that are held: a few.
SELECT workflow, held_by, note, since_us FROM holds WHERE state < 2 ORDER BY workflow
