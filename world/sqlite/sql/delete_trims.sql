-- What was not wanted of a run is gone, or the run is. By key.
DELETE FROM trims WHERE run = ?1 AND before <= ?2
