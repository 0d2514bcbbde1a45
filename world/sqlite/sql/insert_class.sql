-- A workflow and version that no run had so far.
INSERT INTO classes (workflow, version) VALUES (?1, ?2)
