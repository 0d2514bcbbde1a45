-- Subscriptions or the cut have changed.
UPDATE {schema}.spreading SET revision = $1, cut = $2
