-- What a version of a workflow says, and who says it, where that differs. By key.
INSERT INTO definitions (workflow, version, says, schemas, worker) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (workflow, version) DO UPDATE SET says = excluded.says, schemas = excluded.schemas, worker = excluded.worker
WHERE says <> excluded.says OR excluded.worker NOT IN ('', worker)
