-- Keys have more in line than was looked at.
INSERT INTO {schema}.limit_news (key, kind) SELECT k.key, 1 FROM unnest($1::text[]) k(key)
