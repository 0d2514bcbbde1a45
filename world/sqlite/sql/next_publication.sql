-- When the next publication is due that is not yet. Index due_due.
SELECT min(due_us) FROM due WHERE due_us > ?1 AND due_us < 9223372036854775807
