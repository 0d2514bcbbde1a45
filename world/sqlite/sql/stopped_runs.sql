-- Some runs that are blocked or paused. Index queue_stopped.
SELECT run FROM queue WHERE (blocked IS NOT NULL OR paused OR resumed) LIMIT ?1
