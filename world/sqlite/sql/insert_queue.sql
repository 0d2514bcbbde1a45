-- The queue row of a run that is created, and perhaps given up at once.
INSERT INTO queue (run, class, running, priority, owner, take, wake_us, paused, blocked, full, waiting, places, keeps, has, parked_us, held, rates)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
