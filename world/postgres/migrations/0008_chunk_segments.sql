-- Chunks go with the segment in which they were written. Of those that are there already, and of those that workers of the release before write, nobody
-- knows which that was: they go with what is the newest when something of their run is deleted.
ALTER TABLE {schema}.chunks ADD COLUMN segment bigint; -- number of the run_continued that began it; 0: the first; null: nobody knows
CREATE INDEX chunks_nowhere ON {schema}.chunks (run) WHERE segment IS NULL;
