-- Workflows that are held: none of their runs begins. state 0: not all of the runs that have not begun are set aside yet;
-- 1: all are; 2: it is released, and some are set aside still. changed_at: when somebody last went on with it.
CREATE TABLE {schema}.holds (
  workflow   text        PRIMARY KEY,
  held_by    text        NOT NULL,
  note       text        NOT NULL,
  since      timestamptz NOT NULL,
  state      smallint    NOT NULL,
  changed_at timestamptz NOT NULL
);

-- Runs that are to begin by a time, and else are ended: within ttl, in ns. A row that is of a run which has begun, or is over, goes when its time comes.
CREATE TABLE {schema}.lapses (
  due_at timestamptz NOT NULL,
  run    bigint      NOT NULL,
  ttl    bigint      NOT NULL,
  PRIMARY KEY (due_at, run)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Who starts runs in SQL keeps to that too.
DO $starts$
DECLARE
  ttl  text := $n$coalesce((said ->> 'startTTL')::bigint, 0)$n$;
  head text := $n$    || coalesce(',"nb":'$n$;
  tail text := $n$  INSERT INTO {schema}.attributes (name$n$;
  was text := (SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.pronamespace = $n${schema}$n$::regnamespace AND p.proname = 'start');
  now_is text := replace(was, 'SELECT key_is, class_is, false',
    $n$SELECT key_is, CASE WHEN EXISTS (SELECT FROM {schema}.holds h WHERE h.workflow = flow AND h.state < 2) THEN -class_is ELSE class_is END, false$n$);
BEGIN
  IF was = now_is THEN
    RAISE EXCEPTION 'the function start is not that of this schema';
  END IF;
  IF position(head IN now_is) = 0 OR position(tail IN now_is) = 0 THEN
    RAISE EXCEPTION 'the function start is not that of this schema';
  END IF;
  now_is := replace(now_is, head, format($n$    || CASE WHEN %1$s <= 0 THEN '' WHEN %1$s %% 1000000000 = 0 THEN ',"a":' || %1$s / 1000000000 ELSE ',"an":' || %1$s END
%2$s$n$, ttl, head));
  now_is := replace(now_is, tail, format($n$  IF %1$s > 0 THEN
    INSERT INTO {schema}.lapses (due_at, run, ttl) VALUES (coalesce(since, now_is) + %1$s / 1000 * interval '1 microsecond', key_is, %1$s);
    PERFORM {schema}.tell('d', '');
  END IF;
%2$s$n$, ttl, tail));
  EXECUTE now_is;
END $starts$;
