-- A run has an attribute no more, or another value of it. By the table's key.
DELETE FROM attributes WHERE name = ?1 AND value = ?2 AND run = ?3
