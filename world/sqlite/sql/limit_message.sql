-- A message that was just sent needs places. By key.
UPDATE messages SET places = ?2, rates = ?3 WHERE key = ?1
