-- What versions of workflows say, and who says it, where that differs. Index definitions_pkey.
INSERT INTO {schema}.definitions (workflow, version, says, schemas, worker)
SELECT n.workflow, n.version, n.says, n.schemas, n.worker
FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::text[]) AS n (workflow, version, says, schemas, worker)
  LEFT JOIN {schema}.definitions d ON d.workflow = n.workflow AND d.version = n.version
WHERE d.says IS DISTINCT FROM n.says OR n.worker NOT IN ('', d.worker) ORDER BY 1, 2
ON CONFLICT (workflow, version) DO UPDATE SET says = excluded.says, schemas = excluded.schemas, worker = excluded.worker
