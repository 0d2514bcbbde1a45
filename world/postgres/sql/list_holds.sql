-- The workflows that are held: a few.
SELECT workflow, held_by, note, since FROM {schema}.holds WHERE state < 2 ORDER BY workflow
