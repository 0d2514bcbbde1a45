-- A run that is claimed has paid the rates that it needed. By key.
UPDATE queue SET places = ?2, has = ?3, rates = 0 WHERE run = ?1
