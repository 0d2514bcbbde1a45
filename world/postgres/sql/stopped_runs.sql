-- Some runs that are blocked or paused. Index queue_stopped.
SELECT run FROM {schema}.queue WHERE (blocked IS NOT NULL OR paused) ORDER BY run LIMIT $1
