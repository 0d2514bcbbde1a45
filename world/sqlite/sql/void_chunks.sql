-- What earlier attempts of a step wrote at a number and behind is void. Index chunks_run.
DELETE FROM chunks WHERE run = ?1 AND stream = ?2 AND idx >= ?3 AND step = ?4 AND attempt < ?5 AND kind <> 'reset'
