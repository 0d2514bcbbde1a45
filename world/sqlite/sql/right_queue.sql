-- What the log of a run says of its row: running and paused; ?4: it is to be claimed for a resumption that waits. By key.
UPDATE queue SET running = ?2, paused = ?3 AND NOT ?4, resumed = ?3 AND ?4 WHERE run = ?1
