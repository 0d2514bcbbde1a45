-- Whether a worker lives behind a server.
SELECT remote FROM workers WHERE id = ?1
