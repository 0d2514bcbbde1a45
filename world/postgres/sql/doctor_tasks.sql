-- Tasks that have been ready for a minute and that nobody claimed, by step: how many, since when, and whether a worker has registered it. Index
-- tasks_ready.
SELECT t.name, count(*), min(t.visible_at), EXISTS (
         SELECT FROM {schema}.workers w WHERE {alive} AND {schema}.readable(w.steps)::jsonb ? t.name)
FROM {schema}.tasks t WHERE t.worker IS NULL AND t.visible_at < clock_timestamp() - interval '1 minute'
GROUP BY t.name ORDER BY min(t.visible_at)
