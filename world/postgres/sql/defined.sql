-- What starters have to know: what versions of workflows say, who says it and whether that worker is gone; what live workers have (version 0); what operators set (version -1). Indexes definitions_pkey, workers_id_key, queue_owner, tasks_held.
SELECT d.workflow, d.version, d.says, d.worker, d.worker <> '' AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.id = d.worker AND {alive})
FROM {schema}.definitions d WHERE d.workflow = ANY($1::text[])
UNION ALL SELECT '', 0, w.classes, '', false FROM (SELECT DISTINCT w.classes FROM {schema}.workers w WHERE {alive}) w
UNION ALL SELECT s.name, -1, s.value::text, '', false FROM {schema}.settings s
