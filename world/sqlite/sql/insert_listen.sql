-- A wait that listens to what is published.
INSERT INTO listens (run, wait, shape, hash, back_us, match) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
