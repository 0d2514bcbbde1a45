-- What is wrong with a key of a limit is said in the words of package world.

-- The places that each receive of a message needs, in their order, where its queue has these limits; null: none. keys: those that its sender says, by the names of
-- limits; that of '' is for each that is neither there nor in the payload. Else that is refused, as package world refuses it.
CREATE OR REPLACE FUNCTION {schema}.message_places(limits text, body bytea, keys text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $places$
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
  wrong   text;
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
    wrong := NULL;
    IF k IS NULL AND l.path <> '' THEN
      BEGIN
        v := payload;
        FOREACH word IN ARRAY string_to_array(l.path, '.') LOOP
          v := CASE WHEN json_typeof(v) = 'object' THEN v -> word END;
        END LOOP;
        k := CASE WHEN json_typeof(v) IN ('string', 'number', 'boolean') THEN v #>> '{}' END;
      EXCEPTION WHEN OTHERS THEN -- half a character
        k := NULL;
      END;
      IF payload IS NULL THEN
        wrong := 'the payload is encrypted, or not JSON: send it by a program that has the queue''s definition';
      ELSIF k IS NULL THEN
        wrong := 'the payload has no string, number or boolean at ' || l.path;
      END IF;
    ELSIF k IS NULL AND l.computed THEN
      wrong := 'code computes it: send the message by a program that has the queue''s definition, or define the limit with limit.Path';
    ELSIF k IS NULL THEN
      k := '';
    END IF;
    IF wrong IS NULL AND octet_length(k) > 256 THEN
      wrong := 'it has ' || octet_length(k) || ' bytes: the most is 256: use something shorter, such as an ID or a hash';
    ELSIF wrong IS NULL AND NOT {schema}.printable(k) THEN
      wrong := 'it has a character that is not printable: use letters, digits, signs and spaces';
    END IF;
    IF wrong IS NOT NULL THEN
      k := given ->> '';
      IF k IS NULL THEN RAISE EXCEPTION 'limit %: key: %', l.name, wrong USING ERRCODE = '22023'; END IF;
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
