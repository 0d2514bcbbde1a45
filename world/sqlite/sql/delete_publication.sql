-- Deletes what was published.
DELETE FROM publications WHERE key = ?1
