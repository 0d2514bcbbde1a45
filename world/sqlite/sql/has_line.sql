-- Whether somebody stands in the line of a key. By key.
SELECT 1 FROM limit_line WHERE key = ?1 LIMIT 1
