-- The owner gives the run up; mail that waits makes it ready at once. ?10: it is paused, and is to be claimed for a resumption that waits. By key; index inbox_run.
UPDATE queue SET class = ?2, running = ?3, paused = ?4 AND NOT ?10, resumed = ?10, owner = NULL, wake_us = ?5, blocked = ?6, full = ?7, waiting = ?8, released = ?9, strikes = 0,
  taken = max(taken, ?11),
  mail_us = (SELECT min(arrived_us) FROM inbox WHERE run = ?1),
  cancel = coalesce((SELECT max(cancel) FROM inbox WHERE run = ?1), 0)
WHERE run = ?1
