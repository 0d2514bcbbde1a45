-- Runs by their attributes, in the order of lists. A row for each that a run has, so a run without any has none. The value is found by a short key,
-- see world.AttributeKey. Bytes are compared, so that no locale of the operating system has a say.
CREATE TABLE {schema}.attributes (
  name       text COLLATE "C" NOT NULL,
  value      text COLLATE "C" NOT NULL,
  created_at timestamptz      NOT NULL, -- of the run
  run        bigint           NOT NULL,
  PRIMARY KEY (name, value, created_at, run)
);

-- What runs have already is put in here: the key of a value, for this alone.
CREATE FUNCTION {schema}.attribute_key(v json) RETURNS text LANGUAGE plpgsql AS $key$
DECLARE
  t        text := btrim(v::text, E' \t\r\n');
  mantissa text;
  fraction text;
  digits   text;
  short    text;
  exponent numeric;
BEGIN
  CASE json_typeof(v)
  WHEN 'object' THEN RETURN 'o';
  WHEN 'array' THEN RETURN 'a';
  WHEN 'null' THEN RETURN 'z';
  WHEN 'boolean' THEN RETURN left(t, 1);
  WHEN 'string' THEN
    t := v #>> '{}';
    IF position(chr(65533) IN t) > 0 THEN RETURN 's'; END IF;
    RETURN 's' || CASE WHEN length(t) <= 128 THEN t ELSE left(t, 64) || right(t, 64) || length(t) END;
  ELSE
    IF length(t) > 64 THEN RETURN 'n' || left(t, 64); END IF;
    mantissa := ltrim(split_part(lower(t), 'e', 1), '-');
    fraction := split_part(mantissa, '.', 2);
    digits := ltrim(split_part(mantissa, '.', 1) || fraction, '0');
    short := rtrim(digits, '0');
    exponent := coalesce(nullif(split_part(lower(t), 'e', 2), '')::numeric, 0) + length(digits) - length(short) - length(fraction);
    IF short = '' OR abs(exponent) > 999999 THEN RETURN 'n'; END IF;
    RETURN 'n' || CASE WHEN left(t, 1) = '-' THEN '-' ELSE '' END || short || 'e' || exponent;
  END CASE;
END $key$;

-- A text that JSON may have and PostgreSQL may not, as U+0000, is no other than U+FFFD in a key.
DO $fill$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT key, created_at, attributes FROM {schema}.runs WHERE attributes IS NOT NULL LOOP
    BEGIN
      INSERT INTO {schema}.attributes (name, value, created_at, run)
        SELECT a.key, {schema}.attribute_key(a.value), r.created_at, r.key FROM json_each(r.attributes::json) a;
    EXCEPTION WHEN untranslatable_character OR invalid_text_representation THEN
      INSERT INTO {schema}.attributes (name, value, created_at, run)
        SELECT a.key, {schema}.attribute_key(a.value), r.created_at, r.key
        FROM json_each(regexp_replace(r.attributes, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g')::json) a;
    END;
  END LOOP;
END $fill$;

DROP FUNCTION {schema}.attribute_key(json);
