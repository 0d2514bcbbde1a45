-- All limits: a few.
SELECT name, said, number, until_end, per_ns, burst, refuse, runs, steps, messages FROM limits ORDER BY name
