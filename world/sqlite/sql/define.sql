-- What a version of a workflow says, where that differs. By key.
INSERT INTO definitions (workflow, version, says, schemas) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (workflow, version) DO UPDATE SET says = excluded.says, schemas = excluded.schemas WHERE says <> excluded.says
