-- Whether there are limits.
SELECT 1 FROM limits LIMIT 1
