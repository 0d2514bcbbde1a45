-- Which messages lie in queues whose names do not begin as they are said to. Primary keys of both tables.
SELECT a.i FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY a(key, queues, i)
JOIN {schema}.messages m ON m.key = a.key JOIN {schema}.queues q ON q.key = m.queue WHERE NOT starts_with(q.name, a.queues)
