-- A worker that is alive writes its row again, which was lost or has another key. By key; index of workers (id).
INSERT OR REPLACE INTO workers (key, id, name, build, classes, steps, lease_ns, joined_us, until_us, remote) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
