-- Code says other weights of the keys of a limit. By key.
DELETE FROM limit_weights WHERE name = ?1
