-- The version of a class. By key.
SELECT version FROM classes WHERE key = ?1
