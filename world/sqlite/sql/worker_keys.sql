-- All workers of the file: a handful.
SELECT key, id FROM workers
