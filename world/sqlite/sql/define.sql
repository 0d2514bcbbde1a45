-- What a version of a workflow says, where that differs. By key.
INSERT INTO definitions (workflow, version, says) VALUES (?1, ?2, ?3) ON CONFLICT (workflow, version) DO UPDATE SET says = excluded.says WHERE says <> excluded.says
