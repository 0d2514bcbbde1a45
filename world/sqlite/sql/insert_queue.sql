-- The queue row of a run that is born.
INSERT INTO queue (run, class, running, priority, owner, take, wake_us, paused) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
