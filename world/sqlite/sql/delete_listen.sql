DELETE FROM listens WHERE run = ?1 AND wait = ?2
