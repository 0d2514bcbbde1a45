-- Limits of queues, as they are declared: JSON. Null: none were ever.
ALTER TABLE {schema}.queues ADD COLUMN limits text;

-- A message that was sent to a queue with limits has the places that each receive needs in its row, as a task has them; see 0023, 0026
-- and 0030. It keeps nothing between receives. While it stands in line (parked_at) it is visible to nobody: visible_at is infinity. In lines,
-- and in news, its number is 3 * 2^61 less than its key, and so below that of each task.
ALTER TABLE {schema}.messages ADD COLUMN places text[], ADD COLUMN has smallint, ADD COLUMN parked_at timestamptz, ADD COLUMN rates smallint;

CREATE OR REPLACE VIEW {schema}.limit_needs AS
SELECT run, owner, running, priority, places, keeps, has, parked_at FROM {schema}.queue WHERE places IS NOT NULL
UNION ALL
SELECT key - 4611686018427387904, worker, false, priority, places, 0::smallint, has, parked_at FROM {schema}.tasks WHERE places IS NOT NULL
UNION ALL
SELECT key - 6917529027641081856, NULL::bigint, false, CASE WHEN grp IS NULL THEN priority ELSE 1::smallint END, places, 0::smallint, has, parked_at FROM {schema}.messages WHERE places IS NOT NULL;
CREATE OR REPLACE FUNCTION {schema}.limit_need(number bigint) RETURNS SETOF {schema}.limit_needs LANGUAGE sql STABLE AS $need$
SELECT q.run, q.owner, q.running, q.priority, q.places, q.keeps, q.has, q.parked_at FROM {schema}.queue q WHERE q.run = number AND q.places IS NOT NULL
UNION ALL
SELECT number, t.worker + 0, false, t.priority, t.places, 0::smallint, t.has, t.parked_at FROM {schema}.tasks t
WHERE t.key = CASE WHEN number < 0 THEN number + 4611686018427387904 END AND t.places IS NOT NULL
UNION ALL
SELECT number, NULL::bigint, false, CASE WHEN m.grp IS NULL THEN m.priority ELSE 1::smallint END, m.places, 0::smallint, m.has, m.parked_at FROM {schema}.messages m
WHERE m.key = CASE WHEN number < -4611686018427387904 THEN number + 6917529027641081856 END AND m.places IS NOT NULL
$need$;

-- The places that each receive of a message needs, in their order, where its queue has these limits; null: none. keys: those that its sender says, by the names of
-- limits; that of '' is for each that is neither there nor in the payload. Else that is refused, as package world refuses it.
CREATE FUNCTION {schema}.message_places(limits text, body bytea, keys text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $places$
DECLARE
  said    json := {schema}.readable(message_places.limits);
  given   json := {schema}.readable(message_places.keys);
  bare    text;
  was     text;
  payload json;
  v       json;
  k       text;
  l       record;
  word    text;
  keyed   text[] := '{}';
  wide    text[] := '{}';
  rates   text[] := '{}';
  broad   text[] := '{}';
BEGIN
  IF json_typeof(said) IS DISTINCT FROM 'array' OR json_array_length(said) = 0 THEN RETURN NULL; END IF;
  BEGIN
    bare := convert_from(body, 'UTF8');
    WHILE position('\u0000' IN bare) > 0 LOOP -- no text of PostgreSQL holds it: another that is no key is in its place
      was := bare;
      bare := regexp_replace(was, '(^|[^\\])((?:\\\\)*)\\u0000', '\1\2\\u0001', 'g');
      EXIT WHEN bare = was;
    END LOOP;
    payload := bare::json;
  EXCEPTION WHEN OTHERS THEN -- it is encrypted
    payload := NULL;
  END;
  FOR l IN SELECT x.v ->> 'name' AS name, coalesce(x.v ->> 'path', '') AS path, coalesce((x.v ->> 'computed')::boolean, false) AS computed, coalesce((x.v ->> 'per')::bigint, 0) > 0 AS rate
    FROM json_array_elements(said) x(v) ORDER BY x.v ->> 'name' COLLATE "C"
  LOOP
    k := given ->> l.name;
    IF k IS NULL AND l.path = '' AND NOT l.computed THEN
      k := '';
    ELSIF k IS NULL AND l.path <> '' THEN
      BEGIN
        v := payload;
        FOREACH word IN ARRAY string_to_array(l.path, '.') LOOP
          v := CASE WHEN json_typeof(v) = 'object' THEN v -> word END;
        END LOOP;
        k := CASE WHEN json_typeof(v) IN ('string', 'number', 'boolean') THEN v #>> '{}' END;
      EXCEPTION WHEN OTHERS THEN -- half a character
        k := NULL;
      END;
    END IF;
    IF k IS NULL OR octet_length(k) > 256 OR NOT {schema}.printable(k) THEN
      k := given ->> '';
      IF k IS NULL THEN
        RAISE EXCEPTION 'limit %: key: %', l.name, CASE WHEN l.computed THEN 'code computes it: send the message by a program that has the queue''s definition, or define the limit with limit.Path'
          ELSE 'the payload has no text, number or truth at ' || l.path || ' that is a key: want 256 printable bytes at most; and it is not to be encrypted, where a program sends it that has not the queue''s definition' END USING ERRCODE = '22023';
      END IF;
    END IF;
    CASE
      WHEN l.rate AND k = '' THEN broad := broad || (l.name || '/');
      WHEN l.rate THEN rates := rates || (l.name || '/' || k);
      WHEN k = '' THEN wide := wide || (l.name || '/');
      ELSE keyed := keyed || (l.name || '/' || k);
    END CASE;
  END LOOP;
  RETURN keyed || wide || rates || broad;
END $places$;

-- One that is sent, and due, stands in line, and is news of it; one of a group when it is the first.
CREATE FUNCTION {schema}.message_comes() RETURNS trigger LANGUAGE plpgsql AS $comes$
BEGIN
  NEW.has := 0;
  NEW.rates := (SELECT nullif(count(*), 0) FROM unnest(NEW.places) p(key) JOIN {schema}.limits l ON l.name = split_part(p.key, '/', 1) WHERE l.per_ns IS NOT NULL);
  IF NEW.grp IS NULL AND NEW.visible_at <= clock_timestamp() THEN
    NEW.parked_at := NEW.sent_at;
    NEW.visible_at := 'infinity';
    INSERT INTO {schema}.limit_news (key, kind, urgency, place, run) VALUES (NEW.places[1], 2, 3 - NEW.priority, NEW.parked_at, NEW.key - 6917529027641081856);
  END IF;
  RETURN NEW;
END $comes$;
CREATE TRIGGER message_comes BEFORE INSERT ON {schema}.messages FOR EACH ROW WHEN (NEW.places IS NOT NULL AND NEW.has IS NULL) EXECUTE FUNCTION {schema}.message_comes();

-- What becomes of its places is decided here, as with tasks: programs that know nothing of limits of queues keep to them, too. Who would
-- receive one that lacks a place gets nothing: it stands in line from then on. Who receives one has paid its rates. The end of a receive gives back
-- what it has; where its visibility ends it keeps it. Who ends its wait for its group changes nothing while it stands in line.
CREATE FUNCTION {schema}.message_changes() RETURNS trigger LANGUAGE plpgsql AS $changes$
DECLARE
  needs integer := cardinality(OLD.places);
  place timestamptz;
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO {schema}.limit_news (key, kind) SELECT OLD.places[i], 0 FROM generate_series(1, OLD.has) i WHERE OLD.places[i] IS NOT NULL;
    RETURN NULL;
  END IF;
  IF NEW.held AND NEW.receives > OLD.receives THEN
    IF OLD.has < needs THEN
      IF OLD.parked_at IS NULL AND OLD.places[OLD.has + 1] IS NOT NULL THEN
        place := CASE WHEN OLD.has = 0 THEN OLD.sent_at ELSE clock_timestamp() END;
        UPDATE {schema}.messages SET parked_at = place, visible_at = 'infinity' WHERE key = OLD.key;
        INSERT INTO {schema}.limit_news (key, kind, urgency, place, run)
        VALUES (OLD.places[OLD.has + 1], 2, CASE WHEN OLD.grp IS NULL THEN 3 - OLD.priority ELSE 2 END, place, OLD.key - 6917529027641081856);
      END IF;
      RETURN NULL;
    END IF;
    IF OLD.rates > 0 THEN
      INSERT INTO {schema}.limit_news (key, kind) SELECT OLD.places[i], 0 FROM generate_series(needs - OLD.rates + 1, needs) i WHERE OLD.places[i] IS NOT NULL;
      NEW.has := greatest(needs - OLD.rates, 0);
    END IF;
  ELSIF OLD.held AND NOT NEW.held OR NEW.dead AND NOT OLD.dead THEN
    INSERT INTO {schema}.limit_news (key, kind) SELECT OLD.places[i], 0 FROM generate_series(1, OLD.has) i WHERE OLD.places[i] IS NOT NULL;
    NEW.has := 0;
    NEW.parked_at := NULL;
  ELSIF OLD.parked_at = NEW.parked_at AND NEW.visible_at < 'infinity' THEN
    IF OLD.held THEN -- its receive goes on, though its visibility had ended
      NEW.parked_at := NULL;
    ELSE
      NEW.visible_at := OLD.visible_at;
    END IF;
  END IF;
  RETURN NEW;
END $changes$;
CREATE TRIGGER message_changes BEFORE UPDATE ON {schema}.messages FOR EACH ROW WHEN (OLD.places IS NOT NULL) EXECUTE FUNCTION {schema}.message_changes();
CREATE TRIGGER message_ends AFTER DELETE ON {schema}.messages FOR EACH ROW WHEN (OLD.places IS NOT NULL) EXECUTE FUNCTION {schema}.message_changes();

-- What SQL sends needs places as well.
DO $send$
DECLARE
  columns text := 'visible_at, head, body, sum)';
  ends    text := E'))\n  RETURNING m.key, m.sent_at';
  made    text := pg_get_functiondef((SELECT p.oid FROM pg_proc p WHERE p.pronamespace = $n${schema}$n$::regnamespace AND p.proname = 'send'));
BEGIN
  IF position(columns IN made) = 0 OR position(ends IN made) = 0 THEN RAISE EXCEPTION 'the function send is not as it was made: make it again, by the file 0020_functions.sql'; END IF;
  EXECUTE replace(replace(made, columns, 'visible_at, head, body, sum, places)'), ends,
    $new$), (SELECT {schema}.message_places(q.limits, bytes, NULL) FROM {schema}.queues q WHERE q.key = of_queue AND q.limits IS NOT NULL))
  RETURNING m.key, m.sent_at$new$);
END $send$;

REVOKE ALL ON FUNCTION {schema}.message_places(text, bytea, text), {schema}.message_comes(), {schema}.message_changes() FROM PUBLIC;
