-- What operators set for all. By key.
SELECT value FROM settings WHERE name = ?1
