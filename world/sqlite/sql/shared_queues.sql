-- The limits of queues, and whether runs or steps are under each. Index of the queues' names.
SELECT q.key, x.value ->> 'name', EXISTS (SELECT 1 FROM limits t WHERE t.name = x.value ->> 'name' AND (t.runs OR t.steps))
FROM queues q CROSS JOIN json_each(CASE WHEN json_valid(q.limits) THEN q.limits ELSE '[]' END) x WHERE q.name > '' AND q.limits IS NOT NULL
