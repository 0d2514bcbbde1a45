-- All limits: a few.
SELECT name, said, number, until_end, per_ns, burst, refuse, runs, steps FROM limits ORDER BY name
