-- When the next one is due that is not yet. Index schedules_due.
SELECT min(due_us) FROM schedules WHERE code = ?1 AND due_us > ?2
