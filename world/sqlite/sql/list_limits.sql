-- All limits: a few.
SELECT name, said, number, until_end FROM limits ORDER BY name
