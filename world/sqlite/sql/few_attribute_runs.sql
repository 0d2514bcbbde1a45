-- How many runs before a key have an attribute, counted up to a few, and the oldest of those. By the table's key.
SELECT count(*), min(run) FROM (SELECT run FROM attributes WHERE name = ?1 AND value = ?2 AND run < ?3 ORDER BY run DESC LIMIT ?4)
