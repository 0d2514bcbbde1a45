-- Runs that a rate has let in have begun: the next has its turn then. By key.
UPDATE limit_keys SET turn_ns = ?2, late = 1 WHERE key = ?1
