-- Which keys values that are kept apart are encrypted with, and how many runs hold any. All of apart, on purpose: no piece is read.
SELECT coalesce(key, ''), count(DISTINCT run) FROM {schema}.apart GROUP BY key ORDER BY 1
