-- Answers to webhooks' requests of segments before the one at ?2 go, at most ?3, and their streams with them. Index chunks_run.
DELETE FROM chunks WHERE rowid IN (
  SELECT rowid FROM chunks WHERE run = ?1 AND stream >= 'webhook/' AND stream < 'webhook0' AND segment < ?2 LIMIT ?3)
