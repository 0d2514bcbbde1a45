-- The run that was given the input of the start with an idempotency key, for who is about to begin a run with it. Who
-- merges with that key holds its lock alone until the end of a transaction; a function that is volatile sees what was
-- committed while it waited.
CREATE FUNCTION {schema}.merged(flow text, once text) RETURNS text LANGUAGE plpgsql VOLATILE AS $merged$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext($n${schema}/merged$n$), hashtext(flow || '/' || once));
  RETURN (SELECT r.id FROM {schema}.delivered d JOIN {schema}.runs r ON r.key = d.run WHERE d.workflow = flow AND d.idem = once AND d.idem IS NOT NULL);
END $merged$;

-- A start in SQL with the key of one that was merged is that one.
DO $start$
DECLARE
  place text := $n$    INSERT INTO {schema}.runs (key, id, workflow,$n$;
  made  text := pg_get_functiondef((SELECT p.oid FROM pg_proc p WHERE p.pronamespace = $n${schema}$n$::regnamespace AND p.proname = 'start'));
BEGIN
  IF position(place IN made) = 0 THEN RAISE EXCEPTION 'the function start is not as it was made: make it again, by the file 0020_functions.sql'; END IF;
  EXECUTE replace(made, place, $new$    holder := CASE WHEN once IS NOT NULL THEN {schema}.merged(flow, once) END;
    IF holder IS NOT NULL THEN RETURN holder; END IF;
$new$ || place);
END $start$;
