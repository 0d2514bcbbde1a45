-- Of a run that is over, or in a new segment.
DELETE FROM listens WHERE run = ?1
