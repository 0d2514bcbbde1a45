-- Notes that a publication is to be spread.
INSERT OR REPLACE INTO due (publication, due_us) VALUES (?1, ?2)
