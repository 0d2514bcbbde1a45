-- A worker joins.
INSERT INTO workers (id, name, build, classes, steps, lease_ns, joined_us, until_us, remote) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
