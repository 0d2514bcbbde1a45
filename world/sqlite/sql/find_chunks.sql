-- A batch that may have been written already. Index chunks_run.
SELECT idx FROM chunks WHERE run = ?1 AND stream = ?2 AND step = ?3 AND attempt = ?4 AND pos = ?5
