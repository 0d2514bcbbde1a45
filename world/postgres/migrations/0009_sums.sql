-- Checksums, see Sum of package world. Null: a release before wrote the row. Those of the inbox are text, see mail.go.
ALTER TABLE {schema}.log    ADD COLUMN sum integer;
ALTER TABLE {schema}.inbox  ADD COLUMN sum text;
ALTER TABLE {schema}.tasks  ADD COLUMN sum integer; -- of what never changes
ALTER TABLE {schema}.chunks ADD COLUMN sum integer;
ALTER TABLE {schema}.runs   ADD COLUMN sum     integer; -- of what never changes
ALTER TABLE {schema}.runs   ADD COLUMN end_sum integer; -- of what its end wrote

-- JSON that may be damaged: null where it is.
CREATE FUNCTION {schema}.readable(t text) RETURNS json LANGUAGE plpgsql IMMUTABLE STRICT AS $readable$
BEGIN
  RETURN t::json;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $readable$;
