-- What starters have to know: what versions of workflows say, what live workers have (version 0), and what operators set (version -1). Indexes definitions_pkey, queue_owner, tasks_held.
SELECT d.workflow, d.version, d.says FROM {schema}.definitions d WHERE d.workflow = ANY($1::text[])
UNION ALL SELECT '', 0, w.classes FROM (SELECT DISTINCT w.classes FROM {schema}.workers w WHERE {alive}) w
UNION ALL SELECT s.name, -1, s.value::text FROM {schema}.settings s
