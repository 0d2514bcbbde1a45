-- What was absorbed long ago; what another process has locked is left to it. All rows: one a process.
DELETE FROM {schema}.metrics m WHERE m.process = ANY(ARRAY(
  SELECT k.process FROM {schema}.metrics k WHERE k.says = '' AND k.put_at < clock_timestamp() - make_interval(secs => $1) FOR UPDATE SKIP LOCKED))
