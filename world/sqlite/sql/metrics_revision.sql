-- What a process has given last, and whether it stands: it was not absorbed. By key.
SELECT revision, says <> '' FROM metrics WHERE process = ?1
