-- What processes have counted. By key.
SELECT process, revision, put_at, says FROM metrics WHERE says <> '' ORDER BY process
