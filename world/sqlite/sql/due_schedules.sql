-- What is due of those that need the code of one set. Index schedules_due.
SELECT name, said, sum, change FROM schedules WHERE code = ?1 AND due_us <= ?2 ORDER BY due_us LIMIT ?3
