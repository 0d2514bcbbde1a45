-- The run is over. By key.
DELETE FROM queue WHERE run = ?1
