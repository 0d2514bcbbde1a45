-- The run started, has another version, or was paused or resumed by its owner. By key.
UPDATE queue SET class = ?2, running = ?3, paused = ?4 WHERE run = ?1
