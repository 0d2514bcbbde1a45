-- A workflow and version that no run had so far.
INSERT INTO classes (key, workflow, version) VALUES (?1, ?2, ?3)
