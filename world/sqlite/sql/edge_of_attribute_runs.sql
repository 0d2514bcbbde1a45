-- The run that comes so many after a key, of those with an attribute. By the table's key.
SELECT run FROM attributes WHERE name = ?3 AND value = ?4 AND run < ?1 ORDER BY run DESC LIMIT 1 OFFSET ?2
