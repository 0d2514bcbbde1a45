-- Keys of limits that are not counted as the rows of the queue, of tasks and of messages say: how many places are held, and how many
-- need it, as it is counted and as it is. All of them, on purpose.
WITH need AS MATERIALIZED (
  SELECT j.value AS key, sum(j.key < q.has) AS used, count(*) AS live
  FROM (SELECT places, has FROM queue WHERE places IS NOT NULL UNION ALL SELECT places, has FROM tasks WHERE places IS NOT NULL
    UNION ALL SELECT places, has FROM messages WHERE places IS NOT NULL) q,
    json_each(CASE WHEN json_valid(q.places) THEN q.places ELSE '[]' END) j GROUP BY j.value)
SELECT k.key, k.name, k.text, k.used, coalesce(n.used, 0), coalesce(n.live, 0)
FROM limit_keys k LEFT JOIN need n ON n.key = k.key WHERE k.used IS NOT coalesce(n.used, 0) OR k.live IS NOT coalesce(n.live, 0) ORDER BY k.name, k.text
