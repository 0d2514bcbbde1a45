-- What others have counted that a process has added to its own, in order, so that two who do it do not wait for each other. Index metrics_pkey.
UPDATE {schema}.metrics m SET says = '', put_at = clock_timestamp() WHERE m.process = ANY(ARRAY(
  SELECT k.process FROM {schema}.metrics k JOIN unnest($1::text[], $2::bigint[]) AS a (process, revision) ON a.process = k.process AND a.revision = k.revision
  WHERE k.says <> '' ORDER BY k.process FOR UPDATE OF k))
