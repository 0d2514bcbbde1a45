-- What processes have counted. Index metrics_pkey.
SELECT m.process, m.revision, extract(epoch FROM clock_timestamp() - m.put_at)::double precision, m.says FROM {schema}.metrics m WHERE m.says <> '' ORDER BY m.process
