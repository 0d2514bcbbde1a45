-- Values that no run holds any more. Index apart_value, primary key of apart_pieces.
DELETE FROM {schema}.apart_pieces p WHERE p.value = ANY ($1::text[]) AND NOT EXISTS (SELECT 1 FROM {schema}.apart a WHERE a.value = p.value)
