-- The attributes of a run have changed. By key.
UPDATE runs SET attributes = ?2 WHERE key = ?1
