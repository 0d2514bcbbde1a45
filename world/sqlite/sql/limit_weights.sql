-- The weights of the keys of a limit. By key.
SELECT text, weight FROM limit_weights WHERE name = ?1
