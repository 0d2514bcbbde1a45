-- Some runs whose IDs are between two texts. Index runs_id.
SELECT key FROM runs WHERE ns = 0 AND id >= ?1 AND id < ?2 LIMIT ?3
